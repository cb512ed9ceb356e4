"""Every family: three spans and the ends against the whole model, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_models import FAMILIES, NUM_BLOCKS, whole_model
from torch import Tensor, nn
from transformers import DynamicCache

from potluck.blocks import BlockSpan, KvCache, load_span
from potluck.checkpoint import load_ends, open_checkpoint
from potluck.checkpoint.families import NEEDS_POSITIONS, cache_name, decoder_of
from potluck.protocol.blocks import Span

SPANS = (Span(0, 2), Span(2, 5), Span(5, 6))
PIECES = [(0, 9), (9, 14)] + [(14 + step, 15 + step) for step in range(6)]


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


class LengthOnlyCache(DynamicCache):
    """Stands for the client's cache: knows how many tokens the spans have seen, holds nothing."""

    length = 0

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.length

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.length + query_length, 0

    def get_query_offset(self, layer_idx: int = 0) -> int:
        return self.length


class LocalBlocks(nn.Module):
    """All spans in this process, one cache each for each of the client's caches."""

    def __init__(self, spans: list[BlockSpan]) -> None:
        super().__init__()
        self.spans = spans
        self.caches: dict[int, list[KvCache]] = {}

    def forward(self, hidden_states: Tensor, past_key_values: LengthOnlyCache | None = None) -> Tensor:
        caches: list[KvCache | None] = [None] * len(self.spans)
        if past_key_values is not None:
            caches = list(self.caches.setdefault(id(past_key_values), [span.new_cache() for span in self.spans]))
            past_key_values.length += hidden_states.shape[1]
        for span, cache in zip(self.spans, caches, strict=True):
            hidden_states = span.forward(hidden_states, cache)
        return hidden_states


def frozen(folder: Path) -> Any:
    """Load the whole model; without gradients for its weights, because torch multiplies those of Mamba otherwise."""
    return whole_model(folder).requires_grad_(False)


def load_all(folder: Path) -> list[BlockSpan]:
    checkpoint = open_checkpoint(str(folder))
    return [load_span(checkpoint, span) for span in SPANS]


@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_three_spans_equal_the_whole_model_in_prefill_pieces_and_decode(
    family: str, family_folder: Callable[[str], Path]
) -> None:
    folder = family_folder(family)
    model, spans = frozen(folder), load_all(folder)
    recorder = Recorder(model)
    cached: dict[str, Any] = {}
    caches = [span.new_cache() for span in spans]
    ids = torch.randint(3, 128, (2, 20), generator=torch.Generator().manual_seed(1))
    for start, end in PIECES:
        if family in NEEDS_POSITIONS:
            cached["position_ids"] = torch.arange(start, end)[None]
        name = cache_name(model.base_model)
        cached[name] = model(ids[:, start:end], use_cache=True, **cached)[name]
        hidden = recorder.input
        for blocks, cache in zip(spans, caches, strict=True):
            assert hidden is not None
            hidden = blocks.forward(hidden, cache)
            assert torch.equal(hidden, recorder.outputs[blocks.span.end - 1]), f"tokens {start}:{end}, {blocks.span}"
    assert [cache.length for cache in caches] == [20, 20, 20]


@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_cache_output_equals_and_gradients_agree(family: str, family_folder: Callable[[str], Path]) -> None:
    folder = family_folder(family)
    model, spans = frozen(folder), load_all(folder)
    checkpoint = open_checkpoint(str(folder))
    whole = load_span(checkpoint, Span(0, NUM_BLOCKS))
    recorder = Recorder(model)
    ids = torch.randint(3, 128, (2, 14), generator=torch.Generator().manual_seed(2))
    model(ids, use_cache=False)
    assert recorder.input is not None
    inputs = [recorder.input.clone().requires_grad_() for _ in range(2)]
    hidden = inputs[0]
    for blocks in spans:
        hidden = blocks.forward(hidden)
    assert torch.equal(hidden, recorder.outputs[NUM_BLOCKS - 1])
    hidden.pow(2).sum().backward()
    whole.forward(inputs[1]).pow(2).sum().backward()
    assert inputs[0].grad is not None
    assert inputs[1].grad is not None
    assert inputs[0].grad.abs().max() > 0
    torch.testing.assert_close(inputs[0].grad, inputs[1].grad, rtol=1e-4, atol=1e-5)
    assert all(parameter.grad is None for blocks in spans for parameter in blocks.decoder.parameters())


@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_ends_around_spans_generate_the_whole_models_tokens(family: str, family_folder: Callable[[str], Path]) -> None:
    folder = family_folder(family)
    model = frozen(folder)
    ends = load_ends(open_checkpoint(str(folder)), LocalBlocks(load_all(folder)))
    ids = torch.randint(3, 128, (2, 7), generator=torch.Generator().manual_seed(3))
    assert torch.equal(model(ids, use_cache=False).logits, ends(ids, use_cache=False).logits)
    wanted = model.generate(ids, max_new_tokens=12, do_sample=False)
    cache = LengthOnlyCache(config=ends.config)
    named = {cache_name(decoder_of(ends, NUM_BLOCKS)[0]): cache}
    assert torch.equal(ends.generate(ids, max_new_tokens=12, do_sample=False, **named), wanted)
    assert cache.length == wanted.shape[1] - 1


def test_a_tied_head_shares_the_embedding(family_folder: Callable[[str], Path]) -> None:
    ends = load_ends(open_checkpoint(str(family_folder("llama_tied"))), nn.Identity())
    assert ends.get_output_embeddings().weight is ends.get_input_embeddings().weight
    assert sum(1 for _ in ends.parameters()) == 2  # embedding and final norm: nothing of the blocks


def test_ends_keep_the_checkpoints_generation_config(tmp_path: Path, family_folder: Callable[[str], Path]) -> None:
    import shutil

    folder = shutil.copytree(family_folder("llama"), tmp_path / "llama")
    (folder / "generation_config.json").write_text('{"do_sample": true, "temperature": 0.25}')
    assert load_ends(open_checkpoint(str(folder)), nn.Identity()).generation_config.temperature == 0.25
