"""Keeps the table of open sessions, and decides which one makes room for another. No I/O, no torch.

What a session holds belongs to `inference.py`, but for its KV memory, which belongs to the step loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.memory.session_memory import SessionMemory

QUIET_S = 30.0  # after which a session may have to make room even if its person has no other
_MAX_ENDING = 32  # sessions that finish a step before they make room
_AWAY_S = 5.0  # for the client that lost its place: it continues elsewhere, or comes back and replays


class OpenSession(Protocol):
    """What the table knows of a session that is being served."""

    memory: SessionMemory

    @property
    def quiet_since(self) -> float:
        """Monotonic seconds; a later time than any other's while a step runs."""

    def end(self, error: RemoteError) -> None:
        """Tell the client, after the step that runs, or after some seconds."""


def session_to_end(sessions: Iterable[OpenSession], newcomer: PersonId, now: float) -> OpenSession | None:
    """Return the session that makes room for one of `newcomer`; None if it has to wait.

    Spare sessions go first. A person who has at least two more than the newcomer loses the one that was quiet for
    longest. One who has just one more loses it only if it was quiet for `QUIET_S`, or two persons would take each
    other's place for ever.
    """
    spare = [session for session in sessions if session.memory.is_spare]
    if spare:
        return min(spare, key=lambda session: session.quiet_since)
    held = Counter(session.memory.person for session in sessions)
    own, most = held[newcomer], max(held.values(), default=0)
    candidates = [
        session
        for session in sessions
        if (held[session.memory.person] == most if most > own + 1 else held[session.memory.person] > own)
        if most > own + 1 or now - session.quiet_since >= QUIET_S
    ]
    return min(candidates, key=lambda session: session.quiet_since, default=None)


class SessionTable:
    """The open sessions; used from the asyncio thread only."""

    def __init__(self, *, max_sessions: int) -> None:
        self._max = max_sessions
        self._sessions: set[OpenSession] = set()
        self._ending: set[OpenSession] = set()  # of them: told to make room
        self._calls: Counter[Span] = Counter()
        self._removed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def is_empty(self) -> bool:
        """Return whether there is neither a session nor a call."""
        return not self._sessions and not self._calls

    def add(self, session: OpenSession, now: float) -> None:
        """Add a session; when there are too many, end another person's. Raises RemoteError BUSY if none can go."""
        if len(self._sessions) - len(self._ending) >= self._max:
            others = self._sessions - self._ending
            other = None if session.memory.is_spare else session_to_end(others, session.memory.person, now)
            if other is None or len(self._ending) >= _MAX_ENDING:
                raise RemoteError(Code.BUSY, f"{self._max} sessions are open", retry_after_s=1.0)
            self._ending.add(other)
            other.end(RemoteError(Code.BUSY, "others need this session's place", retry_after_s=_AWAY_S))
        self._sessions.add(session)

    def remove(self, session: OpenSession) -> None:
        self._sessions.discard(session)
        self._ending.discard(session)
        self._removed.set()

    async def end_all(self, error: RemoteError, *, timeout_s: float | None = None, kept: Span | None = None) -> bool:
        """Tell every session, but those over `kept`, after its running step; whether all were gone within the time."""
        for session in self._outside(kept):
            session.end(error)
        return await self._wait_while(lambda: self._outside(kept), timeout_s)

    async def wait_gone(self, *, timeout_s: float, kept: Span | None = None) -> bool:
        """Return whether all sessions outside `kept` ended in time, and, if something is kept, all calls outside it."""
        return await self._wait_while(lambda: self._outside(kept) or self._has_calls_outside(kept), timeout_s)

    @contextmanager
    def calling(self, span: Span) -> Iterator[None]:
        """Count a stateless call over these blocks while the body runs."""
        self._calls[span] += 1
        try:
            yield
        finally:
            self._calls[span] -= 1
            if not self._calls[span]:
                del self._calls[span]
            self._removed.set()

    async def _wait_while(self, condition: Callable[[], object], timeout_s: float | None) -> bool:
        try:
            async with asyncio.timeout(timeout_s):
                while condition():
                    self._removed.clear()
                    await self._removed.wait()
        except TimeoutError:
            return False
        return True

    def _has_calls_outside(self, kept: Span | None) -> bool:
        """Calls end with their thread if nothing is kept."""
        return kept is not None and any(not kept.covers(span) for span in self._calls)

    def _outside(self, kept: Span | None) -> list[OpenSession]:
        return [session for session in self._sessions if kept is None or not kept.covers(session.memory.span)]
