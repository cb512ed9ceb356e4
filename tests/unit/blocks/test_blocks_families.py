"""Families whose layers differ: three spans against the whole model, bit for bit, and the ends around them."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.spans import FolderOf, span_of
from helpers.tiny_models import NUM_BLOCKS, whole_model
from torch import Tensor, nn

from potluck.blocks import BlockSpan, load_span
from potluck.checkpoint import load_ends, open_checkpoint
from potluck.checkpoint.families import NEEDS_POSITIONS, cache_name, decoder_of
from potluck.protocol.blocks import Span

SPANS = (Span(0, 2), Span(2, 5), Span(5, 6))
PIECES = [(0, 9), (9, 14)] + [(14 + step, 15 + step) for step in range(6)]
FAMILIES = (
    *("llama", "mistral_sliding", "gemma3", "gpt_oss", "deepseek_v3", "llama_longrope", "llama_dynamic", "llama4"),
    *("bloom", "falcon_alibi", "gptj", "ctrl", "qwen3_next", "mamba", "bamba", "minimax"),
)
"""One for each way in which layers, positions and caches differ; `benchmarks.families` judges all that there are."""


class Recorder:
    """What goes into the first layer of a whole model and comes out of each layer."""

    def __init__(self, model: nn.Module) -> None:
        inner, name = decoder_of(model, NUM_BLOCKS)
        self.input: Tensor | None = None
        self.outputs: dict[int, Tensor] = {}
        layers: Any = getattr(inner, name)
        layers[0].register_forward_pre_hook(self._before, with_kwargs=True)
        for index, layer in enumerate(layers):
            layer.register_forward_hook(self._after(index))

    def _before(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.input = (args[0] if args else kwargs["hidden_states"]).detach().clone()

    def _after(self, index: int) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            self.outputs[index] = (output[0] if isinstance(output, tuple) else output).detach().clone()

        return hook


@cache
@torch.inference_mode(mode=False)
def loaded(folder: Path) -> tuple[Any, Recorder, list[BlockSpan]]:
    """The whole model, what it computes, and its spans.

    Its weights have no gradients, because torch multiplies those of Mamba otherwise.
    """
    model: Any = whole_model(folder).requires_grad_(False)
    checkpoint = open_checkpoint(str(folder))
    return model, Recorder(model), [load_span(checkpoint, span) for span in SPANS]


@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_three_spans_equal_the_whole_model_in_prefill_pieces_and_decode(family: str, family_folder: FolderOf) -> None:
    model, recorder, spans = loaded(family_folder(family))
    cached: dict[str, Any] = {}
    caches = [span.new_cache() for span in spans]
    ids = torch.randint(3, 128, (2, 20), generator=torch.Generator().manual_seed(1))
    for start, end in PIECES:
        if family in NEEDS_POSITIONS:
            cached["position_ids"] = torch.arange(start, end)[None]
        name = cache_name(model.base_model)
        cached[name] = model(ids[:, start:end], use_cache=True, **cached)[name]
        hidden = recorder.input
        for blocks, kept in zip(spans, caches, strict=True):
            assert hidden is not None
            hidden = blocks.forward(hidden, kept)
            assert torch.equal(hidden, recorder.outputs[blocks.span.end - 1]), f"tokens {start}:{end}, {blocks.span}"
    assert [kept.length for kept in caches] == [20, 20, 20]


@pytest.mark.parametrize(
    "family", ["llama", "gpt_oss", "deepseek_v3", "bloom", "gptj", "qwen3_next", "mamba", "minimax"]
)
def test_without_a_cache_output_equals_and_gradients_agree(family: str, family_folder: FolderOf) -> None:
    folder = family_folder(family)
    model, recorder, spans = loaded(folder)
    whole = span_of(folder, Span(0, NUM_BLOCKS))
    ids = torch.randint(3, 128, (2, 14), generator=torch.Generator().manual_seed(2))
    model(ids, use_cache=False)
    assert recorder.input is not None
    inputs = [recorder.input.clone().requires_grad_() for _ in range(2)]
    hidden = inputs[0]
    for blocks in spans:
        hidden = blocks.forward(hidden)
    assert torch.equal(hidden, recorder.outputs[NUM_BLOCKS - 1])
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
