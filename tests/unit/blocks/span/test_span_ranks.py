"""A span over two ranks: the same numbers as in one process, from half of the bytes."""

from typing import Any

import pytest
from helpers.rank_pair import outcome, run_pair
from helpers.spans import FolderOf, span_of
from transformers import LlamaConfig, LlamaForCausalLM

from potluck.protocol.blocks import Span

TOGETHER = (
    "llama",
    "qwen3_moe",  # packed experts
    "phi3",  # queries, keys and values packed in one, gate and up projections too
    "olmo2",  # norms over all heads
    "gpt_oss",  # a plan of our own, whole experts, biases, sinks
    "deepseek_v3",  # compressed keys and values
    "qwen3_next",  # linear attention
)
WITHOUT_PLAN = "bloom"
UNEVEN = "three_heads"
CHANGED = "changed between ranks"
SPAN = "2:5"


@pytest.fixture(scope="module")
def pair(family_folder: FolderOf, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    families = (*TOGETHER, WITHOUT_PLAN, UNEVEN, CHANGED)
    folders = [family_folder(family) for family in families[:-2]]
    folders += [tmp_path_factory.mktemp("three_heads"), tmp_path_factory.mktemp("changed")]
    config = LlamaConfig(hidden_size=48, intermediate_size=64, num_attention_heads=3, num_hidden_layers=6, vocab_size=8)
    LlamaForCausalLM(config).save_pretrained(folders[-2])
    config.num_attention_heads = config.num_key_value_heads = 4
    for rank in range(2):
        LlamaForCausalLM(config).save_pretrained(folders[-1] / f"rank{rank}")  # other random numbers
    return dict(zip(families, run_pair(folders, SPAN, tmp_path_factory.mktemp("ranks")), strict=True))


@pytest.mark.parametrize("family", TOGETHER)
def test_two_ranks_compute_what_one_process_does(
    family: str, pair: dict[str, dict[str, Any]], family_folder: FolderOf
) -> None:
    """Also where each of them streams its own parts."""
    alone = outcome(span_of(family_folder(family), Span.parse(SPAN)))
    together = pair[family]
    for tensors in filter(None, (together["tensors"], together.get("streamed"))):
        for what, expected in alone["tensors"].items():
            assert (tensors[what] - expected).norm() / expected.norm() < 1e-5, what
    assert ("streamed" in together) == (family == TOGETHER[0])
    assert together["digests"] == alone["digests"]
    assert together["bytes"] < 0.65 * alone["bytes"]  # compression and norms are on every rank


def test_what_ranks_cannot_share_is_refused_by_name_with_a_way_out(pair: dict[str, dict[str, Any]]) -> None:
    assert "bloom" in pair[WITHOUT_PLAN]["refused"]
    assert "one device" in pair[WITHOUT_PLAN]["hint"]
    assert "3 key-value heads" in pair[UNEVEN]["refused"]
    assert "divides" in pair[UNEVEN]["hint"]


def test_ranks_that_read_other_weights_are_refused(pair: dict[str, dict[str, Any]]) -> None:
    assert "changed while they were read" in pair[CHANGED]["refused"]
