"""A span over two ranks: the same numbers as in one process, from half of the bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.rank_pair import outcome, run_pair
from transformers import LlamaConfig, LlamaForCausalLM

from potluck.blocks import load_span
from potluck.checkpoint import open_checkpoint
from potluck.protocol.blocks import Span

TOGETHER = (
    "llama",
    "mistral_sliding",
    "qwen3",
    "qwen3_moe",  # packed experts
    "mixtral",
    "gemma3",
    "glm4",  # gate and up projections packed in one
    "phi3",  # queries, keys and values too
    "olmo2",  # norms over all heads
    "gpt_oss",  # a plan of our own, whole experts, biases, sinks
    "deepseek_v3",  # compressed keys and values
    "qwen3_next",  # linear attention
)
WITHOUT_PLAN = ("bloom", "falcon_rope", "gpt2")
UNEVEN = "three_heads"
SPAN = "2:5"


@pytest.fixture(scope="module")
def pair(family_folder: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    families = (*TOGETHER, *WITHOUT_PLAN, UNEVEN)
    folders = [family_folder(family) for family in families[:-1]]
    folders.append(tmp_path_factory.mktemp(UNEVEN))
    config = LlamaConfig(hidden_size=48, intermediate_size=64, num_attention_heads=3, num_hidden_layers=6, vocab_size=8)
    LlamaForCausalLM(config).save_pretrained(folders[-1])
    return dict(zip(families, run_pair(folders, SPAN, tmp_path_factory.mktemp("ranks")), strict=True))


@pytest.mark.parametrize("family", TOGETHER)
def test_two_ranks_compute_what_one_process_does(
    family: str, pair: dict[str, dict[str, Any]], family_folder: Callable[[str], Path]
) -> None:
    alone = outcome(load_span(open_checkpoint(str(family_folder(family))), Span.parse(SPAN)))
    together = pair[family]
    for what, expected in alone["tensors"].items():
        difference = (together["tensors"][what] - expected).norm() / expected.norm()
        assert difference < 1e-5, what
    assert together["digests"] == alone["digests"]
    assert together["bytes"] < 0.65 * alone["bytes"]  # compression and norms are on every rank


def test_each_rank_streams_its_own_parts(pair: dict[str, dict[str, Any]], family_folder: Callable[[str], Path]) -> None:
    family = TOGETHER[0]
    alone = outcome(load_span(open_checkpoint(str(family_folder(family))), Span.parse(SPAN)))
    for what, expected in alone["tensors"].items():
        assert (pair[family]["streamed"][what] - expected).norm() / expected.norm() < 1e-5, what


@pytest.mark.parametrize("family", WITHOUT_PLAN)
def test_families_without_a_plan_are_refused_by_name(family: str, pair: dict[str, dict[str, Any]]) -> None:
    refused = pair[family]
    assert family.split("_")[0] in refused["refused"]
    assert "one device" in refused["hint"]


def test_heads_that_ranks_cannot_share_evenly_are_refused_with_a_way_out(pair: dict[str, dict[str, Any]]) -> None:
    assert "3 key-value heads" in pair[UNEVEN]["refused"]
    assert "divides" in pair[UNEVEN]["hint"]
