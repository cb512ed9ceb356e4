"""Fixtures for tests that load checkpoints of several families; a conftest imports them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.tiny_models import save_random


@pytest.fixture(scope="session")
def family_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A random checkpoint of a family, made once and never changed by a test."""
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = save_random(family, tmp_path_factory.mktemp(family))
        return made[family]

    return folder
