"""How a device with Triton runs packed rows: page tables on the device, one attention kernel, CUDA graphs for decode.

It is the alternative to `ragged` and `attention` on plain torch, which run where triton is missing or computes other
numbers (`trial` compares both with the family's own). See docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from potluck.blocks.formats import QuantizedLinear
from potluck.blocks.kv import KvMemory
from potluck.blocks.plans import PlannedRow
from potluck.blocks.slots import encoded
from potluck.blocks.step_tensors import PagedRows, StepMemory, StepTensors, num_pages_of
from potluck.protocol.blocks import Span


@dataclass(frozen=True, slots=True)
class PagedView:
    """What a layer's attention receives in place of keys and values.

    Shapes: keys [kv_heads, capacity, key_dim] and values [.., value_dim] of the layer, or slots of them in int8,
    including the new tokens.
    """

    keys: Tensor
    values: Tensor
    value_dim: int
    paged: PagedRows

    def attend(self, query: Tensor, scale: float, soft_cap: float | None = None, sinks: Tensor | None = None) -> Tensor:
        """Return attention [1, tokens, heads, value_dim] for query [1, heads, tokens, key_dim]."""
        from potluck.blocks.paged_attention import paged_attention  # triton may be missing

        packed = query[0].transpose(0, 1)
        arenas = (self.keys, self.values)
        output = paged_attention(
            packed, *arenas, self.paged, value_dim=self.value_dim, scale=scale, soft_cap=soft_cap, sinks=sinks
        )
        return output[None]


class PagedCache:
    """Replaces a transformers cache while the layers run, as `RaggedCache` does."""

    def __init__(self, memory: KvMemory, tensors: StepTensors) -> None:
        self._memory = memory
        self._tensors = tensors

    def update(self, key: Tensor, value: Tensor, layer_idx: int, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Store new keys and values. Shapes: key [1, kv_heads, tokens, key_dim], value [.., value_dim]."""
        group, place = self._memory.homes[layer_idx]
        arena = self._memory.arena_of(group)
        keys, values = arena.keys[place], arena.values[place]
        slots = self._tensors.slots[group]
        kept = (encoded(key), encoded(value)) if self._memory.layout.is_int8 else (key, value)
        for held, new in zip((keys, values), kept, strict=True):
            held.index_copy_(1, slots, new[0])
        view = PagedView(keys, values, arena.shape.value_dim, self._tensors.paged[group])
        return view, view


def step_tensors(memory: KvMemory, rows: Sequence[PlannedRow], blocks: Span, device: torch.device) -> StepTensors:
    """Return what a step of these rows through `blocks` reads, on the device."""
    base = memory.layout.span.start
    groups = sorted({memory.homes[block - base][0] for block in blocks})
    numbers = StepMemory(
        [row.tokens for row in rows],
        {group: memory.groups[group].window for group in groups},
        num_pages=num_pages_of(rows),
        device=device,
    )
    numbers.write(rows)
    return numbers.tensors


def multiply_quantised(layers: nn.ModuleList) -> None:
    """Multiply few tokens by the layers' quantised matrices as they are held."""
    from potluck.blocks.grouped import dense_product

    for module in layers.modules():
        if isinstance(module, QuantizedLinear):
            module.kernel = dense_product


def restore_quantised(layers: nn.ModuleList) -> None:
    """Undo `multiply_quantised`."""
    for module in layers.modules():
        if isinstance(module, QuantizedLinear):
            module.kernel = None
