"""Plans of steps: which new tokens of which sequences one step computes, and which pages hold them.

A plan is plain numbers, so it can be sent to other processes. `ragged` runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from potluck.blocks.kv import KvMemory, KvSequence
from potluck.blocks.pages import PAGE_TOKENS, Run
from potluck.protocol.blocks import Span


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
        is_filler: it fills up a bucket. Its token is written to page 0 of its tables and attends to nothing.
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
    """What one step does. The tokens of all rows are packed in this order.

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
