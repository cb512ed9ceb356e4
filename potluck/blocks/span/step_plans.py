"""Plans of steps: which new tokens of which sequences one step computes, and which pages hold them.

A plan is plain numbers, so it can be sent to other processes. `RaggedRunner` runs it.

On a device with Triton, a step's numbers lie in one piece of memory (`StepMemory`), which one copy moves to the
device. Those whose count follows from the number of rows and tokens come first; the page tables, which grow with the
rows, come last. So the same memory can be rewritten for a later step of the same shape, as a CUDA graph requires, and
only the used part is copied. Memory for single tokens also takes rows of several tokens: to the kernels, each of them
is a row of its own with the same page table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from potluck.blocks.cache.kv_memory import KvMemory, KvSequence
from potluck.blocks.cache.pages import PAGE_TOKENS, Run
from potluck.protocol.blocks import Span

DECODE_TILE_TOKENS = 1
PREFILL_TILE_TOKENS = 16
_ALIGN = 2  # numbers of 8 bytes: Triton compiles a kernel again for a pointer that is not a multiple of 16 bytes


@dataclass(frozen=True, slots=True)
class StepRow:
    """`tokens` new tokens of a sequence, through the blocks of the sequence. Room for them must be reserved."""

    sequence: KvSequence
    tokens: int
    adapter: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A row in plain numbers.

    Attributes:
        position: of its first new token.
        tables: index of a group -> (index in the sequence of the first page listed, runs of pages to the last new
            token). Earlier pages are not visible to any of the new tokens.
        is_filler: it pads a bucket. Its token is written to page 0 of its tables and attends to nothing.
    """

    span: Span
    position: int
    tokens: int
    tables: Mapping[int, tuple[int, tuple[Run, ...]]]
    adapter: str | None = None
    is_filler: bool = False


@dataclass(frozen=True, slots=True)
class GraphStep:
    """The CUDA graph of a small step: the tokens that it is padded to, and whether it is recorded first."""

    bucket: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class StepPlan:
    """The plan of one step. The tokens of all rows are packed in this order.

    Attributes:
        graph: None runs the step without a graph. One process decides for all ranks of a span: they exchange data
            within a step, so they must all record, replay or do neither.
    """

    rows: tuple[PlannedRow, ...]
    graph: GraphStep | None = None

    @property
    def num_tokens(self) -> int:
        return sum(row.tokens for row in self.rows)

    def is_alike(self, span: Span) -> bool:
        """Return whether every row goes through the whole span, without an adapter."""
        return all(row.span == span and row.adapter is None for row in self.rows)

    def parts(self) -> list[tuple[Span, list[int]]]:
        """Return consecutive ranges of blocks, each with the rows that pass through it."""
        span = self.rows[0].span
        if all(row.span == span for row in self.rows):  # nearly always the case
            return [(span, list(range(len(self.rows))))]
        borders = sorted({border for row in self.rows for border in (row.span.start, row.span.end)})
        parts = [Span(start, end) for start, end in pairwise(borders)]
        found = [(part, [i for i, row in enumerate(self.rows) if row.span.covers(part)]) for part in parts]
        return [(part, rows) for part, rows in found if rows]


def plan_step(memory: KvMemory, rows: Sequence[StepRow]) -> StepPlan:
    """Return the plan of a step; nothing changes. After the step, `memory.advance` each sequence.

    Rows with the same adapter should be neighbours.
    """
    return StepPlan(tuple(_planned(memory, row) for row in rows))


def _planned(memory: KvMemory, row: StepRow) -> PlannedRow:
    position = row.sequence.length
    tables = {}
    for group, table in row.sequence.tables.items():
        assert table.end * PAGE_TOKENS >= position + row.tokens, "room for the step was not reserved"
        first = memory.groups[group].first_visible(position) // PAGE_TOKENS
        tables[group] = (first, table.runs_from(first))
    return PlannedRow(row.sequence.span, position, row.tokens, tables, row.adapter)


@dataclass(frozen=True, slots=True)
class PagedRows:
    """The rows of a step: their tokens, and where their keys and values are. All int64, on the device.

    Shapes:
        rows [num_rows, 4]: first token in the step, tokens in the step, length after the step (0: attends to nothing),
            and the index in `tables` of the row's page 0, even if that page is no longer listed.
        tiles [num_tiles, 2]: row, and the first of its tokens in the tile.
        tables [pages of all rows]: page numbers in the arena.
    """

    rows: Tensor
    tiles: Tensor
    tables: Tensor
    tile_tokens: int
    window: int | None


@dataclass(frozen=True, slots=True)
class StepTensors:
    """The tensors that the layers of a step read besides the hidden state; `slots` and `paged` by group.

    Shapes: positions [1, tokens]; slots [tokens], where keys and values of the new tokens are written.
    """

    positions: Tensor
    slots: dict[int, Tensor]
    paged: dict[int, PagedRows]


class StepMemory:
    """Memory for the numbers of steps of one shape, on the host and on the device.

    Args:
        windows: index of a group -> its window, for the groups of the step's layers.
        num_pages: limit for all page tables together.
    """

    def __init__(
        self,
        tokens_a_row: Sequence[int],
        windows: Mapping[int, int | None],
        *,
        num_pages: int,
        device: torch.device,
    ) -> None:
        self._windows = dict(windows)
        self._num_rows, self._num_tokens = len(tokens_a_row), sum(tokens_a_row)
        self._tile_tokens = DECODE_TILE_TOKENS if max(tokens_a_row) == 1 else PREFILL_TILE_TOKENS
        self._tiles = tiles_of(tokens_a_row, self._tile_tokens)
        self._aligned_tokens = -(-self._num_tokens // _ALIGN) * _ALIGN
        self._fixed = self._aligned_tokens + 2 * len(self._tiles)
        self._fixed += len(windows) * (self._aligned_tokens + 4 * self._num_rows)
        is_cuda = device.type == "cuda"
        self._host = torch.empty(self._fixed + num_pages, dtype=torch.int64, pin_memory=is_cuda)
        self._device = torch.zeros(self._fixed + num_pages, dtype=torch.int64, device=device)
        self._numbers: Any = self._host.numpy()
        self._copied = torch.cuda.Event() if is_cuda else None  # type: ignore[no-untyped-call]
        tiles = np.array(self._tiles).ravel()
        self._numbers[self._aligned_tokens : self._aligned_tokens + len(tiles)] = tiles
        self.tensors = self._view()

    def write(self, rows: Sequence[PlannedRow]) -> None:
        """Write the numbers of rows that have the tokens of `tokens_a_row`, and send them to the device.

        If these are all 1, the rows may have other tokens, of the same sum.
        """
        if self._copied is not None:
            self._copied.synchronize()  # the previous step's copy reads the same memory
        numbers = self._numbers
        positions, at = numbers[: self._num_tokens], self._aligned_tokens
        at += 2 * len(self._tiles)  # tiles never change
        start = 0
        for row in rows:
            positions[start : start + row.tokens] = np.arange(row.position, row.position + row.tokens)
            start += row.tokens
        tables, used = numbers[self._fixed :], 0
        for group in self._windows:
            slots, at = numbers[at : at + self._num_tokens], at + self._aligned_tokens
            heads, at = numbers[at : at + 4 * self._num_rows].reshape(-1, 4), at + 4 * self._num_rows
            start = index = 0
            for row in rows:
                first_page, runs = row.tables[group]
                together = 1 if self._tile_tokens == DECODE_TILE_TOKENS else row.tokens
                for first in range(0, row.tokens, together):
                    length = 0 if row.is_filler else row.position + first + together
                    heads[index] = (start + first, together, length, used - first_page)
                    index += 1
                table, used = tables[used : used + pages_in(runs)], used + pages_in(runs)
                table[:] = [page for start, count in runs for page in range(start, start + count)]
                _write_slots(slots[start : start + row.tokens], table, row.position - first_page * PAGE_TOKENS)
                start += row.tokens
        end = self._fixed + used
        self._device[:end].copy_(self._host[:end], non_blocking=self._copied is not None)
        if self._copied is not None:
            self._copied.record()

    def _view(self) -> StepTensors:
        rest = self._device[: self._fixed]
        positions, rest = rest[: self._num_tokens], rest[self._aligned_tokens :]
        tiles, rest = rest[: 2 * len(self._tiles)].view(-1, 2), rest[2 * len(self._tiles) :]
        slots, paged = {}, {}
        for group, window in self._windows.items():
            slots[group], rest = rest[: self._num_tokens], rest[self._aligned_tokens :]
            rows, rest = rest[: 4 * self._num_rows].view(-1, 4), rest[4 * self._num_rows :]
            paged[group] = PagedRows(rows, tiles, self._device[self._fixed :], self._tile_tokens, window)
        return StepTensors(positions[None], slots, paged)


def tiles_of(tokens_a_row: Sequence[int], tile_tokens: int) -> list[tuple[int, int]]:
    """Return (row, first of its tokens) for each tile."""
    return [(row, first) for row, tokens in enumerate(tokens_a_row) for first in range(0, tokens, tile_tokens)]


def pages_in(runs: Sequence[Run]) -> int:
    return sum(count for _, count in runs)


def num_pages_of(rows: Sequence[PlannedRow]) -> int:
    """Return the number of pages in all page tables of these rows."""
    return sum(pages_in(runs) for row in rows for _, runs in row.tables.values())


def _write_slots(slots: Any, table: Any, skip: int) -> None:
    """Write the slots of the tokens after the first `skip` of the pages in `table`."""
    places = np.arange(skip, skip + len(slots))
    slots[:] = table[places // PAGE_TOKENS] * PAGE_TOKENS + places % PAGE_TOKENS
