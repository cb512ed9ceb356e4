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

from potluck.blocks.cache.arenas import Held
from potluck.blocks.cache.kv_memory import KvMemory
from potluck.blocks.formats.layers import Kernel, QuantizedLinear
from potluck.blocks.span.step_plans import PagedRows, PlannedRow, StepMemory, StepTensors, num_pages_of
from potluck.protocol.blocks import Span


@dataclass(frozen=True, slots=True)
class PagedView:
    """What a layer's attention receives in place of keys and values.

    Shapes: held [kv_heads, capacity, dim] of the layer; slots [tokens], where the new tokens' keys and values belong.
    """

    held: Held
    slots: Tensor
    paged: PagedRows

    def attend(self, query: Tensor, scale: float, soft_cap: float | None = None, sinks: Tensor | None = None) -> Tensor:
        """Return attention [1, tokens, heads, value_dim] for query [1, heads, tokens, key_dim]."""
        from potluck.blocks.kernels.paged_attention import paged_attention  # triton may be missing

        packed = query[0].transpose(0, 1)
        return paged_attention(packed, self.held, self.paged, scale=scale, soft_cap=soft_cap, sinks=sinks)[None]


class PagedCache:
    """Replaces a transformers cache while the layers run, as `RaggedCache` does."""

    def __init__(self, memory: KvMemory, tensors: StepTensors) -> None:
        self._memory = memory
        self._tensors = tensors

    def view(self, layer_idx: int) -> PagedView:
        """Return what a layer attends to, before anything of the new tokens is there."""
        group, place = self._memory.homes[layer_idx]
        held = tuple(tensor[place] for tensor in self._memory.arena_of(group).tensors)
        return PagedView(held, self._tensors.slots[group], self._tensors.paged[group])

    def update(self, key: Tensor, value: Tensor, layer_idx: int, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Store new keys and values. Shapes: key [1, kv_heads, tokens, key_dim], value [.., value_dim]."""
        from potluck.blocks.kernels.block_operations import rotate_and_keep  # triton may be missing

        view = self.view(layer_idx)
        keys, values = (part[0].transpose(0, 1) for part in (key, value))
        rotate_and_keep(keys[:, :0], keys, values, view.held, view.slots)
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


def multiply_quantised(layers: nn.ModuleList, kernel: Kernel | None) -> None:
    """Multiply by the layers' quantised matrices with this kernel, or None: without one."""
    for module in layers.modules():
        if isinstance(module, QuantizedLinear):
            module.kernel = kernel
