"""Records the inputs of one server of a session, so that another server can get the same.

A history stands at a boundary between blocks. Its dependents follow it: cursors, which say what a server has of it, the
histories of later boundaries, and what audits keep of the outputs. A session changes its first history alone, which
passes each rollback and reorder on.

Appending is only a list append, because it happens for each token and server. A history stores beam reorders and
applies them when it is read. It knows nothing of servers.
"""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from potluck.protocol.messages import Awaited

_CHUNKS_TO_MERGE = 256  # chunks are merged, so that a long generation does not hold one small tensor for each token


class Dependent(Protocol):
    """Follows the changes of a history."""

    def truncate(self, position: int) -> None:
        """Forget the tokens from `position` on."""

    def reorder(self, order: Tensor) -> None:
        """Continue row `order[i]` as row i."""


@dataclass(slots=True)
class Piece:
    """The tokens [start, end) on their way to a server and back.

    Attributes:
        hidden: [batch, end - start, hidden_size]; None while they are only known to the server before.
        awaited: names the push of the server before that brings them; None: the client sends them.
        kept: the end of those tokens that have not changed since.
        answer_tokens: how many outputs the server should answer; None: all.
        is_sent_here: the client sent them although the server before was to push them.
    """

    start: int
    end: int
    hidden: Tensor | None
    awaited: Awaited | None
    sent_s: float
    answer_tokens: int | None
    kept: int
    is_sent_here: bool = False


@dataclass(slots=True, weakref_slot=True, eq=False)
class Cursor:
    """Counts what one server has of a history.

    Attributes:
        position: tokens that the server has answered and that have not changed since.
        flying: the pieces after these, oldest first.
        order: [batch] int64, a reorder of rows that the server has yet to apply.
    """

    position: int = 0
    flying: deque[Piece] = field(default_factory=deque)
    order: Tensor | None = None

    @property
    def sent(self) -> int:
        """Return how many tokens the server has or will have."""
        return self.flying[-1].kept if self.flying else self.position

    def reset(self) -> None:
        """Note that the server has lost everything."""
        self.position, self.order = 0, None
        self.flying.clear()

    def truncate(self, position: int) -> None:
        self.position = min(self.position, position)
        for piece in self.flying:
            piece.kept = min(piece.kept, position)
        if not self.sent:
            self.order = None

    def reorder(self, order: Tensor) -> None:
        if self.sent:
            self.order = order if self.order is None else self.order.index_select(0, order)


@dataclass(frozen=True, slots=True)
class _Chunk:
    hidden: Tensor  # [batch, tokens, hidden_size]
    order_count: int  # reorders that happened before it was added


class History:
    """The inputs of one span for all rows of a session, in order."""

    def __init__(self, prompts: Tensor | None = None, before: History | None = None) -> None:
        """Begin empty, and follow the changes of the history `before` if there is one.

        Args:
            prompts: deep prompts [blocks, batch or 1, prompt_tokens, hidden_size], sent with the first tokens; there
                may be some for blocks behind the span.
        """
        self._chunks: list[_Chunk] = []
        self._orders: list[Tensor] = []  # [batch] int64 each: row i continues the former row order[i]
        self._merged = 0  # leading chunks that were merged already
        self.prompts = prompts  # rows in their present order, cut to the present length
        self._dependents: weakref.WeakSet[Dependent] = weakref.WeakSet()
        self.length = 0  # tokens
        self.batch = 0  # rows; 0 before the first tokens
        if before is not None:
            before.attach(self)

    def attach(self, dependent: Dependent) -> None:
        """Let `dependent` follow the changes of this history as long as it is referenced elsewhere."""
        self._dependents.add(dependent)

    @property
    def width(self) -> int:
        """Return the hidden size, after the first tokens."""
        return self._chunks[-1].hidden.shape[2]

    @property
    def dtype(self) -> torch.dtype:
        return self._chunks[-1].hidden.dtype

    @property
    def prompt_tokens(self) -> int:
        return 0 if self.prompts is None else self.prompts.shape[2]

    def append(self, hidden: Tensor) -> None:
        """Add [batch, tokens, hidden_size], in the present order of rows."""
        if hidden.shape[1]:
            self.batch = hidden.shape[0]
            self._chunks.append(_Chunk(hidden, len(self._orders)))
            self.length += hidden.shape[1]
        if len(self._chunks) - self._merged >= _CHUNKS_TO_MERGE:
            self._chunks[self._merged :] = [_Chunk(self._joined(self._chunks[self._merged :]), len(self._orders))]
            self._merged += 1

    def restart(self, prompts: Tensor | None) -> None:
        """Forget everything and begin with these prompts."""
        self.truncate(0)
        self._orders.clear()
        self.prompts = prompts

    def truncate(self, length: int) -> None:
        """Forget everything after the first `length` tokens."""
        for dependent in self._dependents:
            dependent.truncate(length)  # always: an announcement may be ahead of this history
        excess = self.length - length
        if excess <= 0:
            return
        while excess > 0:
            last = self._chunks[-1]
            tokens = last.hidden.shape[1]
            if tokens <= excess:
                self._chunks.pop()
            else:
                self._chunks[-1] = _Chunk(last.hidden[:, : tokens - excess], last.order_count)
            excess -= tokens
        self._merged = min(self._merged, len(self._chunks))
        self.length = length
        if self.prompts is not None and length < self.prompt_tokens:
            self.prompts = self.prompts[:, :, :length] if length else None

    def reorder(self, order: Tensor) -> None:
        """Continue row `order[i]` as row i."""
        for dependent in self._dependents:
            dependent.reorder(order)
        self._orders.append(order)
        self.batch = order.shape[0]
        if self.prompts is not None and self.prompts.shape[1] > 1:
            self.prompts = self.prompts.index_select(1, order)

    def between(self, start: int, end: int) -> Tensor:
        """Return the tokens [start, end) with rows in their present order, [batch, end - start, hidden_size]."""
        newest = self._chunks[-1] if self._chunks else None  # the only chunk that a decode step wants
        is_in_order = newest is not None and newest.order_count == len(self._orders)
        if newest is not None and is_in_order and end == self.length == start + newest.hidden.shape[1]:
            return newest.hidden
        wanted: list[_Chunk] = []
        position = self.length
        for chunk in reversed(self._chunks):
            if position <= start:
                break
            position -= chunk.hidden.shape[1]
            if position < end:
                wanted.append(chunk)
        if not wanted:
            raise ValueError(f"nothing after token {start} of {self.length}")
        wanted.reverse()
        joined = self._joined(wanted)
        first, last = start - position, end - position
        return joined if (first, last) == (0, joined.shape[1]) else joined[:, first:last]

    def _joined(self, chunks: list[_Chunk]) -> Tensor:
        """Join chunks, each in the present order of rows."""
        if len(chunks) == 1 and chunks[0].order_count == len(self._orders):
            return chunks[0].hidden
        rows: Tensor | None = None  # None: as they are
        applied = len(self._orders)
        parts: list[Tensor] = []
        for chunk in reversed(chunks):
            while applied > chunk.order_count:
                applied -= 1
                order = self._orders[applied]
                rows = order if rows is None else order.index_select(0, rows)
            parts.append(chunk.hidden if rows is None else chunk.hidden.index_select(0, rows))
        parts.reverse()
        return torch.cat(parts, dim=1)
