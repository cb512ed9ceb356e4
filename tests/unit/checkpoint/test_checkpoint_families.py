"""What is known of families from their configuration alone."""

from __future__ import annotations

import pytest
from helpers.tiny_models import FAMILIES

from potluck.checkpoint.families import depends_on_length


@pytest.mark.parametrize("family", ["llama_longrope", "llama_dynamic"])
def test_positions_of_some_families_depend_on_the_length(family: str) -> None:
    assert depends_on_length(FAMILIES[family]())


@pytest.mark.parametrize("family", ["llama", "gemma3", "bloom", "gpt2", "gpt_oss", "qwen3_next"])
def test_positions_of_others_do_not(family: str) -> None:
    assert not depends_on_length(FAMILIES[family]())
