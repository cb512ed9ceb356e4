"""Families whose layers differ: three spans against the whole model, bit for bit, and the ends around them."""

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.spans import FolderOf, span_of
from helpers.tiny_models import NUM_BLOCKS, whole_model
from torch import Tensor, nn

from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.checkpoint.ends import load_ends
from potluck.checkpoint.families import NEEDS_POSITIONS, cache_name
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span

SPANS = (Span(0, 1), Span(1, 3), Span(3, 5))  # a model shows what comes out of its last block only after the norm
PIECES = [(0, 9), (9, 14)] + [(14 + step, 15 + step) for step in range(6)]
FAMILIES = (
    *("llama", "gemma3", "gpt_oss", "deepseek_v3", "llama_longrope", "llama_dynamic", "llama4"),
    *("bloom", "gptj", "ctrl", "qwen3_next", "mamba", "bamba", "minimax"),
)
"""One for each way in which layers, positions and caches differ; `benchmarks.equality.families` judges all."""


@cache
@torch.inference_mode(mode=False)
def loaded(folder: Path) -> tuple[Any, list[BlockSpan]]:
    """The whole model and its spans.

    Its weights have no gradients, because torch multiplies those of Mamba otherwise.
    """
    checkpoint = open_checkpoint(str(folder))
    return whole_model(folder).requires_grad_(False), [load_span(checkpoint, span) for span in SPANS]


def states_of(model: Any, made: Any, ids: Tensor) -> list[Tensor]:
    """What went into the first layer of a whole model and came out of each; Mamba does not tell the first."""
    first = [model.get_input_embeddings()(ids)] if model.config.model_type == "mamba" else []
    return [*first, *made.hidden_states]


@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_three_spans_equal_the_whole_model_in_prefill_pieces_and_decode(family: str, family_folder: FolderOf) -> None:
    model, spans = loaded(family_folder(family))
    cached: dict[str, Any] = {}
    caches = [span.new_cache() for span in spans]
    ids = torch.randint(3, 128, (2, 20), generator=torch.Generator().manual_seed(1))
    for start, end in PIECES:
        if family in NEEDS_POSITIONS:
            cached["position_ids"] = torch.arange(start, end)[None]
        name = cache_name(model.base_model)
        made = model(ids[:, start:end], use_cache=True, output_hidden_states=True, **cached)
        cached[name] = made[name]
        hidden, *outputs = states_of(model, made, ids[:, start:end])
        for blocks, kept in zip(spans, caches, strict=True):
            hidden = blocks.forward(hidden, kept)
            assert torch.equal(hidden, outputs[blocks.span.end - 1]), f"tokens {start}:{end}, {blocks.span}"
    assert [kept.length for kept in caches] == [20, 20, 20]


@pytest.mark.parametrize("family", ["gpt_oss", "deepseek_v3", "bloom", "qwen3_next", "mamba"])
def test_without_a_cache_output_equals_and_gradients_agree(family: str, family_folder: FolderOf) -> None:
    model, spans = loaded(family_folder(family))
    whole = span_of(family_folder(family), Span(0, NUM_BLOCKS - 1))
    ids = torch.randint(3, 128, (2, 14), generator=torch.Generator().manual_seed(2))
    first, *outputs = states_of(model, model(ids, use_cache=False, output_hidden_states=True), ids)
    inputs = [first.clone().requires_grad_() for _ in range(2)]
    hidden = inputs[0]
    for blocks in spans:
        hidden = blocks.forward(hidden)
    assert torch.equal(hidden, outputs[SPANS[-1].end - 1])
    grads = [
        torch.autograd.grad(output.pow(2).sum(), given)[0]
        for output, given in zip((hidden, whole.forward(inputs[1])), inputs, strict=True)
    ]
    assert grads[0].abs().max() > 0
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-5)
    assert not any(parameter.requires_grad for blocks in spans for parameter in blocks.decoder.parameters())


def test_a_tied_head_shares_the_embedding(family_folder: FolderOf) -> None:
    ends = load_ends(open_checkpoint(str(family_folder("llama_tied"))), nn.Identity())
    assert ends.get_output_embeddings().weight is ends.get_input_embeddings().weight
    assert sum(1 for _ in ends.parameters()) == 2  # embedding and final norm: nothing of the blocks


def test_ends_keep_the_checkpoints_generation_config(tmp_path: Path, family_folder: FolderOf) -> None:
    folder = shutil.copytree(family_folder("llama"), tmp_path / "llama")
    (folder / "generation_config.json").write_text('{"do_sample": true, "temperature": 0.25}')
    assert load_ends(open_checkpoint(str(folder)), nn.Identity()).generation_config.temperature == 0.25
