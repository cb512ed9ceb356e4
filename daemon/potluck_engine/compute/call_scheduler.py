"""Chooses the stateless call that runs its next piece. Pure: no lock, no clock, no torch; the call thread acts on it.

A call is a generator: each `next()` is one bounded piece of compute. Forward goes before backward, and clients (peers)
take turns by their shares. A call ends before the next of its kind begins, so at most two hold intermediate results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.compute.turns import Shares, Turns, equal_shares


class Priority(IntEnum):
    """Kinds of calls; the smaller value goes first."""

    FORWARD = 0
    BACKWARD = 1


Pieces = Callable[[], Generator[None, None, Any]]
"""Makes the generator; called on the call thread. Its return value is the call's result."""


@dataclass(slots=True, eq=False)
class Call:
    """Work for the call thread; `tokens` counts every row."""

    priority: Priority
    client: PersonId
    pieces: Pieces
    tokens: int
    submitted_at: float  # monotonic seconds
    compute_s: float = 0.0
    is_cancelled: bool = False
    running: Generator[None, None, Any] | None = field(default=None, repr=False)


class CallScheduler:
    """A bounded queue of calls for each priority."""

    def __init__(self, *, max_queued_jobs: int, max_queued_tokens: int, shares: Shares = equal_shares) -> None:
        self._max_calls = max_queued_jobs
        self._max_tokens = max_queued_tokens
        self._lines: tuple[dict[PersonId, deque[Call]], ...] = tuple({} for _ in Priority)
        self._begun: list[Call | None] = [None for _ in Priority]  # the call of each kind that has more pieces
        self._turns = Turns(shares)
        self._tokens = [0 for _ in Priority]

    @property
    def queued_tokens(self) -> int:
        return sum(self._tokens)

    def admit(self, call: Call, *, retry_after_s: float) -> None:
        """Queue a new call; an empty queue takes any call, and one that others filled the first call of a client.

        Raises:
            RemoteError: BUSY, with `retry_after_s`.
        """
        line, tokens = self._lines[call.priority], self._tokens[call.priority]
        waiting = sum(map(len, line.values())) + (self._begun[call.priority] is not None)
        room = 1 if call.client in line else 2  # so that nobody fills the queue for others
        if waiting and (waiting >= room * self._max_calls or tokens + call.tokens > room * self._max_tokens):
            name = call.priority.name.lower()
            raise RemoteError(Code.BUSY, f"{waiting} {name} requests are waiting", retry_after_s=retry_after_s)
        line.setdefault(call.client, deque()).append(call)
        self._tokens[call.priority] += call.tokens

    def take(self) -> Call | None:
        """Take the call whose next piece should run now out of the queue."""
        for priority, line in zip(Priority, self._lines, strict=True):
            call, self._begun[priority] = self._begun[priority], None
            if call is None and line:
                client = self._turns.first({client: calls[0].tokens for client, calls in line.items()})
                call = line[client].popleft()
                if not line[client]:
                    del line[client]
            if call is not None:
                self._tokens[priority] -= call.tokens
                return call
        return None

    def put_back(self, call: Call) -> None:
        """Put a call that has more pieces back, as the next of its kind."""
        self._begun[call.priority] = call
        self._tokens[call.priority] += call.tokens

    def discard(self, call: Call) -> None:
        """Drop a call if it waits here."""
        if self._begun[call.priority] is call:
            self._begun[call.priority] = None
            self._tokens[call.priority] -= call.tokens
            return
        calls = self._lines[call.priority].get(call.client)
        if calls is None or call not in calls:
            return
        calls.remove(call)
        self._tokens[call.priority] -= call.tokens
        if not calls:
            del self._lines[call.priority][call.client]
