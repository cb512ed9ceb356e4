"""Which stateless call runs its next piece. Pure: no lock, no clock, no torch; the call thread acts on what it says.

A call is a generator: each `next()` is one bounded piece of compute. Forward goes before backward; clients (peers) take
turns, and one call of a kind ends before the next begins, so that at most two hold intermediate results.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError


class Priority(IntEnum):
    FORWARD = 0
    BACKWARD = 1


Pieces = Callable[[], Generator[None, None, Any]]
"""Makes the generator; called on the call thread. Its return value is the call's result."""


@dataclass(slots=True, eq=False)
class Call:
    """Work for the call thread; `tokens` counts every row."""

    priority: Priority
    client: PeerId
    pieces: Pieces
    tokens: int
    submitted_at: float  # monotonic seconds
    compute_s: float = 0.0
    is_cancelled: bool = False
    running: Generator[None, None, Any] | None = field(default=None, repr=False)


class CallScheduler:
    """A bounded queue for each priority."""

    def __init__(self, *, max_queued_jobs: int, max_queued_tokens: int) -> None:
        self._max_calls = max_queued_jobs
        self._max_tokens = max_queued_tokens
        self._lines: tuple[OrderedDict[PeerId, deque[Call]], ...] = tuple(OrderedDict() for _ in Priority)
        self._tokens = [0 for _ in Priority]

    @property
    def queued_tokens(self) -> int:
        return sum(self._tokens)

    def admit(self, call: Call, *, retry_after_s: float) -> None:
        """Queue a new call; it is always taken while its queue is empty.

        Raises:
            RemoteError: BUSY, with `retry_after_s`.
        """
        line, tokens = self._lines[call.priority], self._tokens[call.priority]
        waiting = sum(map(len, line.values()))
        if waiting and (waiting >= self._max_calls or tokens + call.tokens > self._max_tokens):
            name = call.priority.name.lower()
            raise RemoteError(Code.BUSY, f"{waiting} {name} requests are waiting", retry_after_s=retry_after_s)
        line.setdefault(call.client, deque()).append(call)
        self._tokens[call.priority] += call.tokens

    def take(self) -> Call | None:
        """The call whose next piece should run now; it leaves the queue, and its client goes to the end of the line."""
        for line in self._lines:
            for client, calls in line.items():
                call = calls.popleft()
                self._tokens[call.priority] -= call.tokens
                if calls:
                    line.move_to_end(client)
                else:
                    del line[client]
                return call
        return None

    def put_back(self, call: Call) -> None:
        """Return a call that has more pieces: it is the next of its kind."""
        line = self._lines[call.priority]
        line.setdefault(call.client, deque()).appendleft(call)
        line.move_to_end(call.client, last=False)
        self._tokens[call.priority] += call.tokens

    def discard(self, call: Call) -> None:
        """Forget a call if it waits here."""
        calls = self._lines[call.priority].get(call.client)
        if calls is None or call not in calls:
            return
        calls.remove(call)
        self._tokens[call.priority] -= call.tokens
        if not calls:
            del self._lines[call.priority][call.client]
