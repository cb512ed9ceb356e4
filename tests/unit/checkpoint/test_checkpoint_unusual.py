"""Families whose layers differ, or are called in unusual ways: their parts give what the whole model gives."""

from types import SimpleNamespace

import pytest
from helpers.tiny_models import FAMILIES
from transformers import AutoConfig

from benchmarks.equality.families import judge_all
from potluck.checkpoint.families import has_experts, longest_text, refuse_start, refuse_unsplittable, slice_config
from potluck.errors import CheckpointError


@pytest.mark.parametrize(
    "family",
    ["gemma4_text", "glm_moe_dsa", "longcat_flash", "modernbert-decoder", "falcon_h1", "nemotron_h"],
)
def test_an_unusual_family_is_exact_in_three_parts(family: str) -> None:
    assert judge_all([family])[family].startswith("exact")


def test_a_family_whose_layers_do_not_fit_is_refused_by_name() -> None:
    (outcome,) = judge_all(["rwkv"]).values()
    assert outcome == "refused: models of the family rwkv cannot be split: their layers share no usual cache"


def test_a_period_of_layers_goes_on_in_a_part() -> None:
    config = AutoConfig.for_model("jamba", num_hidden_layers=8, attn_layer_period=4, attn_layer_offset=2)
    sliced = slice_config(config, 3, 7)
    assert sliced.layers_block_type == config.layers_block_type[3:7]
    assert sliced.layers_num_experts == config.layers_num_experts[3:7]


def test_what_a_configuration_says_of_single_layers_moves_with_them() -> None:
    overrides = {1: {"head_dim": 32}, 3: {"head_dim": 64}}
    config = AutoConfig.for_model("gemma4_text", num_hidden_layers=4, head_dim=16, per_layer_config=overrides)
    sizes = [layer.head_dim for layer in slice_config(config, 1, 4).per_layer_config]
    assert sizes == [layer.head_dim for layer in config.per_layer_config][1:]


@pytest.mark.parametrize("name", ["num_kv_shared_layers", "hidden_size_per_layer_input"])
def test_layers_that_need_more_than_hidden_states_are_refused(name: str) -> None:
    sizes = {"num_kv_shared_layers": 0, "hidden_size_per_layer_input": 0}
    refuse_unsplittable(AutoConfig.for_model("gemma4_text", **sizes))
    with pytest.raises(CheckpointError, match=name):
        refuse_unsplittable(AutoConfig.for_model("gemma4_text", **(sizes | {name: 8})))


def test_a_span_cannot_start_at_a_block_that_uses_anothers_choice() -> None:
    kinds = ["full", "full", "shared", "shared", "full", "shared"]
    config = AutoConfig.for_model("glm_moe_dsa", num_hidden_layers=6, indexer_types=kinds)
    for start in (0, 1, 4):
        refuse_start(config, start)
    for start, hint in ((2, "start at layer 2 or 5"), (3, "start at layer 2 or 5"), (5, "start at layer 5")):
        with pytest.raises(CheckpointError, match=f"layer {start + 1}") as raised:
            refuse_start(config, start)
        assert raised.value.hint == hint


# -- from the configuration alone --------------------------------------------------------------------------------------


def test_texts_end_where_positions_would_depend_on_their_length() -> None:
    families = ("llama_longrope", "llama_dynamic", "llama", "gemma3", "bloom", "gpt2", "gpt_oss", "qwen3_next")
    assert [longest_text(FAMILIES[family]()) for family in families] == [32, 32, *[None] * 6]
    by_layer = {"full_attention": {"rope_type": "longrope", "original_max_position_embeddings": 7}, "other": {}}
    assert longest_text(SimpleNamespace(rope_parameters=by_layer)) == 7


def test_experts_are_known_whatever_a_family_calls_their_number() -> None:
    families = ("llama", "gemma3_text", "mixtral", "qwen3_moe", "gpt_oss")
    assert [family for family in families if has_experts(AutoConfig.for_model(family))] == [*families[2:]]
