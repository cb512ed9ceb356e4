"""The packages that several tests install, each built once a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import installing


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that they lie in."""
    return tmp_path_factory.mktemp("packages")


@pytest.fixture(scope="session")
def headless(packages: Path) -> Path:
    return installing.build("potluck-headless", packages)


@pytest.fixture(scope="session")
def newer_headless(packages: Path) -> Path:
    return installing.build("potluck-headless", packages, version=installing.NEWER)


@pytest.fixture(scope="session")
def desktop(packages: Path) -> Path:
    return installing.build("potluck", packages)


@pytest.fixture(scope="session")
def run_file(packages: Path) -> Path:
    return installing.build("run", packages)
