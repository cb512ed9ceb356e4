"""Cuts a step into pieces, and follows the pieces of one server while it computes.

Pieces are whole pages, which servers can keep. A session's first pages have fingerprints, by which the client finds
servers that have computed the same beginning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

import torch
from torch import Tensor

from potluck.blocks.cache.pages import PAGE_TOKENS
from potluck.client.session.history import Cursor, History, Piece

_PIECES: Final = 16
"""Of a long step. Over three servers, a perfect pipeline of 16 pieces takes 1.13 times as long as one of endless
pieces; each piece costs a server one reading of its weights."""

_LEAST_TOKENS: Final = 128
"""Of a piece, all rows together. For fewer, a server reads weights about as long as it computes with them."""

LEAST_LONG: Final = 3 * PAGE_TOKENS // 2  # tokens of each row; a step of no more is never cut

IN_FLIGHT: Final = 8
"""Pieces at a server that are not answered; more would only fill the buffers of the way there."""

ANNOUNCED: Final = 3
"""Of these, announced ones: a server reads four steps ahead, and must get to what the client brings."""

_FINGERPRINT_VALUES = 8  # read from each token's hidden states; they tell tokens apart, and fast for long prompts
_MAX_FINGERPRINTS = 64
_FINGERPRINT_BYTES = 16


def piece_tokens(tokens: int, rows: int) -> int:
    """Return into how many tokens of each row a step of `tokens` should be cut: whole pages, which servers can keep."""
    wanted = max(tokens / _PIECES, _LEAST_TOKENS / rows)
    return max(round(wanted / PAGE_TOKENS), 1) * PAGE_TOKENS


def is_long(tokens: int, rows: int) -> bool:
    """Tell whether a step is worth cutting."""
    return 2 * tokens > 3 * piece_tokens(tokens, rows)


def page_fingerprints(hidden: Tensor) -> tuple[bytes, ...]:
    """Return a chain of fingerprints over the full pages of all rows. Equal ones mean equal tokens most probably.

    Shapes: hidden [rows, tokens, hidden_size], the first of a session.
    """
    few = hidden[:, :, :_FINGERPRINT_VALUES]
    chain: list[bytes] = []
    key = b""
    for start in range(0, min(few.shape[1] - PAGE_TOKENS + 1, _MAX_FINGERPRINTS * PAGE_TOKENS), PAGE_TOKENS):
        page = few[:, start : start + PAGE_TOKENS]
        data = page.contiguous().view(torch.uint8).numpy().data
        key = blake2b(data, key=key, digest_size=_FINGERPRINT_BYTES).digest()
        chain.append(key)
    return tuple(chain)


class Cut(NamedTuple):
    """The end of a piece that all servers get alike, and the number under which they push it; None: they don't."""

    end: int
    number: int | None


class Answered(NamedTuple):
    """A server's answer to a piece.

    Attributes:
        position: of the first token of `hidden`.
        hidden: the outputs that still count and are wanted, [rows, tokens, hidden_size].
        whole: the outputs of the whole piece.
        was_pushed: they are on their way to the next server.
    """

    piece: Piece
    position: int
    hidden: Tensor
    whole: Tensor
    was_pushed: bool
    compute_s: float


OnAnswer = Callable[[Answered], None]


@dataclass(slots=True, eq=False)
class Course:
    """The part of one server in a step, or in the windows of a flight.

    Attributes:
        history: the server's inputs.
        rows: of the session.
        start: position of the first token whose output the session lacks.
        end: where the step ends; the end of the latest window.
        tokens: of a piece, for each row.
        on_answer: gets the outputs; None: they are added to `outputs`.
        in_flight: how many pieces may be at the server.
        grows: the history does not reach `end` yet, but more of it comes.
        is_open: more windows may come.
        leader: what the server before has, if it pushes the pieces that have numbers.
        pushes: this server pushes on what it computes of those pieces.
        cuts: pieces that all servers get alike, by their positions.
        pushed: positions of pieces that the server before has pushed.
        outputs: without `on_answer`, the outputs so far.
    """

    history: History
    rows: int
    start: int
    end: int
    tokens: int
    on_answer: OnAnswer | None = None
    in_flight: int = 1
    grows: bool = False
    is_open: bool = False
    leader: Cursor | None = None
    pushes: bool = False
    cuts: dict[int, Cut] = field(default_factory=dict)
    pushed: set[int] = field(default_factory=set)
    outputs: list[Tensor] = field(default_factory=list)
    _woken: asyncio.Event | None = None

    def add_inputs(self, answered: Answered) -> None:
        """Append what the server before answered to this one's inputs."""
        if answered.was_pushed:
            self.pushed.add(answered.piece.start)
        self.history.append(answered.hidden)
        self.wake()

    def stop(self) -> None:
        """Note that no more inputs will come."""
        self.grows = False
        self.wake()

    def go_back(self, position: int) -> None:
        """Follow a rollback of the history."""
        self.start, self.end = min(self.start, position), min(self.end, position)
        self.pushed = {at for at in self.pushed if at < position}

    @property
    def is_cut_short(self) -> bool:
        """Tell whether the step can't reach its end any more."""
        return not self.grows and self.history.length < self.end

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until `holds` returns true; it is called again after each `wake`."""
        while not holds():
            await self.wait()

    async def wait(self) -> None:
        """Wait for the next `wake`."""
        self._woken = self._woken or asyncio.Event()
        self._woken.clear()
        await self._woken.wait()

    def wake(self) -> None:
        """Let the tasks of this course look again at what they wait for."""
        if self._woken is not None:
            self._woken.set()
