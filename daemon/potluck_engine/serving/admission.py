"""Decides which calls and sessions an engine admits, and which session makes room for another.

Every call is checked before anything is computed: its blocks, weights and adapter, and how much memory its person's
other requests hold. While `leaving` is set, nothing new is admitted. Blocks that are served but not `kept` are about to
go: they take no new calls, and sessions that use them learn that this server leaves.

The table of sessions does no I/O and knows no torch. The content of a session belongs to `session_stream`, and its KV
memory to the step loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from potluck.membership.budgets import Budgets
from potluck.protocol.adapters import find_adapter
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller
from potluck.protocol.records import span_digest
from potluck.protocol.swarm import Swarm
from potluck_engine.memory.session_memory import SessionMemory

T = TypeVar("T")

SMALL_BYTES = 65_536
"""The size up to which a step is not counted, because the number of streams bounds such steps."""

LARGE_BYTES = 256 * 1024
"""The size above which a message is decoded in a thread; below, it takes half a millisecond of the event loop."""

QUIET_S = 30.0  # the time without a step after which a person's only session may have to make room
_MAX_ENDING = 32  # sessions that finish a step before they make room
_RETURN_S = 5.0  # tells a client that lost its place when to come back, if it doesn't continue elsewhere
_PAUSE_S = 0.05


async def in_thread_if_large(num_bytes: int, work: Callable[[], T]) -> T:
    """Return what `work` returns, run in a thread if it goes through many bytes."""
    return await asyncio.to_thread(work) if num_bytes > LARGE_BYTES else work()


class StreamBudget:
    """Counts the bytes that a stream's handler holds for its caller's person: input in work, and unsent answers."""

    def __init__(self, budgets: Budgets, caller: PeerId) -> None:
        self._budgets = budgets
        self._lease = budgets.holder(caller, asyncio.get_running_loop().time())
        self._num_bytes = 0

    async def reserve(self, input_bytes: int, *, timeout_s: float) -> int:
        """Wait until there is room for an input and an answer as large. Return the number of bytes to `release`.

        Raises RemoteError BUSY if there is no room in time.
        """
        num_bytes = 2 * input_bytes if input_bytes > SMALL_BYTES else 0
        try:
            async with asyncio.timeout(timeout_s):
                while not self._budgets.work_on(self._lease, num_bytes):  # noqa: ASYNC110 (budgets have no event for it)
                    await asyncio.sleep(_PAUSE_S)
        except TimeoutError:
            raise RemoteError(Code.BUSY, "your other requests hold too much here", retry_after_s=1.0) from None
        self._num_bytes += num_bytes
        return num_bytes

    def release(self, num_bytes: int) -> None:
        self._num_bytes -= num_bytes
        self._budgets.work_on(self._lease, -num_bytes)

    def close(self) -> None:
        self.release(self._num_bytes)


class Admission:
    """The checks of one engine, which depend on what it serves and to whom."""

    def __init__(
        self,
        swarm: Swarm,
        span: Span,
        block_digests: Sequence[str],
        adapters: Sequence[str] = (),
        budgets: Budgets | None = None,
    ) -> None:
        self.budgets = budgets or Budgets()
        self._swarm = swarm
        self._adapters = tuple(adapters)
        self.leaving = False
        self.serve(span, block_digests)

    def serve(self, span: Span, block_digests: Sequence[str]) -> None:
        """Admit calls to these blocks, and no others, from now on."""
        self.span = self.kept = span
        self._digests = tuple(block_digests)

    def is_leaving(self, span: Span) -> bool:
        """Return whether a session over these blocks should look for another server."""
        return self.leaving or not self.kept.covers(span)

    def check(self, prefix: str, span: Span, caller: Caller) -> str | None:
        """Return the id of the adapter that the caller names; None if it names none.

        Raises:
            RemoteError: DRAINING; NOT_SERVED, also for other weights or an adapter that is not here.
        """
        self.check_open()
        self.check_served(prefix, span)
        if caller.revision_digest is not None and caller.revision_digest != self.digest_of(span):
            raise RemoteError(Code.NOT_SERVED, f"blocks {span} have other weights here")
        if caller.adapter is None:
            return None
        if caller.private is not None:
            raise RemoteError(Code.BAD_REQUEST, "a call goes through a served adapter or a private one, not both")
        adapter = find_adapter(self._adapters, caller.adapter)
        if adapter is None:
            raise RemoteError(Code.NOT_SERVED, "this server does not have that adapter")
        return adapter

    def check_open(self) -> None:
        """Raise RemoteError DRAINING if this server is leaving."""
        if self.leaving:
            raise self.refusal()

    def refusal(self) -> RemoteError:
        """Return the error that answers every call while this server is leaving."""
        return RemoteError(Code.DRAINING, "this server is leaving")

    def person_of(self, peer: PeerId) -> PersonId:
        """Return the person who runs a peer. Raises RemoteError NOT_A_MEMBER."""
        person = self.budgets.person_of(peer)
        if person is None:
            raise RemoteError(Code.NOT_A_MEMBER, "this peer belongs to no member")
        return person

    def check_served(self, prefix: str, span: Span) -> None:
        """Raise RemoteError NOT_SERVED unless these blocks of this model are served and kept."""
        if prefix != self._swarm.prefix or not self.kept.covers(span):
            raise RemoteError(Code.NOT_SERVED, f"blocks {span} are not served here, blocks {self.kept} are")

    def digest_of(self, span: Span) -> str:
        """Return the digest of the weights of some served blocks."""
        return span_digest(self._digests[span.within(self.span)])


class OpenSession(Protocol):
    """A session as the table knows it."""

    memory: SessionMemory

    @property
    def quiet_since(self) -> float:
        """Return the monotonic time of the last step; infinity while one runs."""

    def end(self, error: RemoteError) -> None:
        """Send the client this error after the running step, or after some seconds."""


def session_to_end(sessions: Iterable[OpenSession], newcomer: PersonId, now: float) -> OpenSession | None:
    """Return the session that makes room for one of `newcomer`; None if no session has to.

    Spare sessions go first. Otherwise, a person who has at least two more sessions than the newcomer loses the one that
    has been quiet for longest. A person who has just one more loses it only if it was quiet for `QUIET_S`; without this
    rule, two people would take each other's place for ever.
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
    """The open sessions and the number of running calls. For the asyncio thread only."""

    def __init__(self, *, max_sessions: int) -> None:
        self._max = max_sessions
        self._sessions: set[OpenSession] = set()
        self._ending: set[OpenSession] = set()  # the sessions among these that have to make room
        self._calls: Counter[Span] = Counter()
        self._removed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def is_empty(self) -> bool:
        """Return whether no session is open and no call runs."""
        return not self._sessions and not self._calls

    def add(self, session: OpenSession, now: float) -> None:
        """Add a session. If there are too many, end one of another person, or raise RemoteError BUSY if none can go."""
        if len(self._sessions) - len(self._ending) >= self._max:
            others = self._sessions - self._ending
            other = None if session.memory.is_spare else session_to_end(others, session.memory.person, now)
            if other is None or len(self._ending) >= _MAX_ENDING:
                raise RemoteError(Code.BUSY, f"{self._max} sessions are open", retry_after_s=1.0)
            self._ending.add(other)
            other.end(RemoteError(Code.BUSY, "others need this session's place", retry_after_s=_RETURN_S))
        self._sessions.add(session)

    def remove(self, session: OpenSession) -> None:
        self._sessions.discard(session)
        self._ending.discard(session)
        self._removed.set()

    async def end_all(self, error: RemoteError, *, timeout_s: float | None = None, kept: Span | None = None) -> bool:
        """End all sessions but those over `kept` after their running step. Return whether all ended in time."""
        for session in self._outside(kept):
            session.end(error)
        return await self._wait_while(lambda: self._outside(kept), timeout_s)

    async def wait_gone(self, *, timeout_s: float, kept: Span | None = None) -> bool:
        """Wait for sessions outside `kept`, and for calls if blocks are kept. Return whether all ended in time."""
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
        """Return whether calls use blocks that go; False if all blocks go, because calls then end with their thread."""
        return kept is not None and any(not kept.covers(span) for span in self._calls)

    def _outside(self, kept: Span | None) -> list[OpenSession]:
        return [session for session in self._sessions if kept is None or not kept.covers(session.memory.span)]
