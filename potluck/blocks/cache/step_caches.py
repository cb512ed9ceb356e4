"""Stands in for a transformers cache while the layers of a step run: it stores new keys and values in the pages.

`RaggedCache` is for plain torch. `PagedCache` is for a device with Triton, which has page tables and one attention
kernel; the trial compares both with the family's own code. See docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from potluck.blocks.cache.arenas import Held
from potluck.blocks.cache.attention import LayerView, RowView, window_mask
from potluck.blocks.cache.kv_memory import KvMemory, LayerGroup
from potluck.blocks.cache.pages import PAGE_TOKENS, Run, slots_in
from potluck.blocks.span.step_plans import PagedRows, PlannedRow, StepMemory, StepTensors, num_pages_of
from potluck.protocol.blocks import Span


class RaggedCache:
    """Replaces a transformers cache while the layers run: it stores keys and values and returns views of the arenas.

    It has no other methods on purpose: a layer that reads a length or a state can't run packed rows.
    """

    def __init__(self, memory: KvMemory, rows: Sequence[PlannedRow], blocks: Span) -> None:
        self._memory = memory
        base = memory.layout.span.start
        groups = {memory.homes[block - base][0] for block in blocks}
        self._groups = {group: _GroupStep(memory, group, rows) for group in groups}

    def update(self, key: Tensor, value: Tensor, layer_idx: int, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Store new keys and values. Shapes: key [1, kv_heads, tokens, key_dim], value [1, kv_heads, tokens,
        value_dim].
        """
        group, place = self._memory.homes[layer_idx]
        view = self._groups[group].store(place, key, value)
        return view, view


class _GroupStep:
    """The places of a step's tokens in the arena, for the layers of one group."""

    def __init__(self, memory: KvMemory, group: int, rows: Sequence[PlannedRow]) -> None:
        self._arena = memory.arena_of(group)
        self._dtype = memory.layout.dtype
        self._device = self._arena.tensors[0].device
        self._places = [tensor.unsqueeze(1) for tensor in self._arena.tensors]  # [places, 1, heads, slots, dim]
        self._rows = [self._view(memory.groups[group], row, *row.tables[group]) for row in rows]
        slots: list[int] = []
        for row in rows:
            first_page, runs = row.tables[group]
            for slot, count in slots_in(runs, row.position - first_page * PAGE_TOKENS, row.tokens):
                slots.extend(range(slot, slot + count))
        self._slots = torch.tensor(slots, device=self._device)

    def _view(self, group: LayerGroup, row: PlannedRow, first_page: int, pages: tuple[Run, ...]) -> RowView:
        oldest = group.first_visible(row.position)
        seen = row.position + row.tokens - oldest
        mask = None
        if group.window is not None and row.tokens > 1 and seen > group.window:
            mask = window_mask(row.tokens, seen, group.window, self._dtype, self._device)
        wanted = seen if row.tokens == 1 or mask is not None else seen - row.tokens
        runs = [
            [tensor.narrow(3, slot, count).unbind(0) for tensor in self._places]
            for slot, count in slots_in(pages, oldest - first_page * PAGE_TOKENS, wanted)
        ]
        return RowView(row.tokens, runs, mask)

    def store(self, place: int, key: Tensor, value: Tensor) -> LayerView:
        """Write new keys and values, [1, kv_heads, tokens, dim]."""
        for tensor, new in zip(self._arena.tensors, self._arena.held(key, value), strict=True):
            tensor[place].index_copy_(1, self._slots, new[0])
        return LayerView(key, value, self._rows, place)


@dataclass(frozen=True, slots=True)
class PagedView:
    """A layer's attention receives this in place of keys and values.

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
        """Return the view of a layer before its new tokens are stored."""
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
    """Return the tensors on the device that a step of these rows through `blocks` reads."""
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
