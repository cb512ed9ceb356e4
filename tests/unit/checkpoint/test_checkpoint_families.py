"""What is known of families from their configuration alone."""

from __future__ import annotations

import pytest
from helpers.tiny_models import FAMILIES

from potluck.checkpoint.families import depends_on_length, has_experts


def test_positions_of_some_families_depend_on_the_length() -> None:
    families = ("llama_longrope", "llama_dynamic", "llama", "gemma3", "bloom", "gpt2", "gpt_oss", "qwen3_next")
    assert [family for family in families if depends_on_length(FAMILIES[family]())] == [*families[:2]]


@pytest.mark.parametrize(
    ("family", "expected"),
    [("llama", False), ("gemma3_text", False), ("mixtral", True), ("qwen3_moe", True), ("gpt_oss", True)],
)
def test_experts_are_known_whatever_a_family_calls_their_number(family: str, expected: bool) -> None:
    from transformers import AutoConfig

    assert has_experts(AutoConfig.for_model(family)) is expected
