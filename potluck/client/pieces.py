"""The pieces of a long step: how it is cut, and how one server's inputs come while it computes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from torch import Tensor

from potluck.blocks.pages import PAGE_TOKENS
from potluck.client.history import History

_PIECES: Final = 16
"""Of a long step. Over three servers, a perfect pipeline of 16 pieces takes 1.13 times as long as one of endless
pieces; each piece costs a server one reading of its weights."""

_LEAST_TOKENS: Final = 128
"""Of a piece, all rows together. For fewer, a server reads weights about as long as it computes with them."""


def piece_tokens(tokens: int, rows: int) -> int:
    """Return into how many tokens of each row a step of `tokens` should be cut: whole pages, which servers can keep."""
    wanted = max(tokens / _PIECES, _LEAST_TOKENS / rows)
    return max(round(wanted / PAGE_TOKENS), 1) * PAGE_TOKENS


def is_long(tokens: int, rows: int) -> bool:
    """Tell whether a step is worth cutting."""
    return 2 * tokens > 3 * piece_tokens(tokens, rows)


class Inflow:
    """The inputs of one server while they come: its history, and whether it grows any further."""

    def __init__(self, history: History, end: int) -> None:
        self._history = history
        self._pushed: set[int] = set()  # positions of pieces that the server before pushed
        self._is_over = history.length >= end
        self._news = asyncio.Event()

    def add(self, hidden: Tensor, *, was_pushed: bool) -> None:
        """Append a piece."""
        if was_pushed:
            self._pushed.add(self._history.length)
        self._history.append(hidden)
        self._news.set()

    def stop(self) -> None:
        """Say that nothing more will come."""
        self._is_over = True
        self._news.set()

    def was_pushed(self, position: int) -> bool:
        """Tell whether the server has, or will have, the piece that begins there."""
        return position in self._pushed

    async def reaches(self, end: int) -> bool:
        """Wait until the tokens before `end` are here; return False if they will not come."""
        while self._history.length < end and not self._is_over:
            self._news.clear()
            await self._news.wait()
        return self._history.length >= end


@dataclass(frozen=True, slots=True)
class Course:
    """How one server takes part in a flow.

    Attributes:
        start: position of the first token whose output is wanted.
        end: where the step ends.
        rows: of the session.
        piece_tokens: of a piece, for each row.
        numbers: of pushes, by the position of a piece; empty if nothing is pushed.
        is_pushed: the server before pushes the pieces that have numbers.
        pushes: this server pushes on what it computes of those pieces.
    """

    start: int
    end: int
    rows: int
    piece_tokens: int
    numbers: Mapping[int, int] = field(default_factory=dict)
    is_pushed: bool = False
    pushes: bool = False
