"""Checks every compute call before anything is computed: blocks, weights and adapter.

While `leaving` is set, nothing new is admitted. Blocks that are served but not `kept` are about to go: no new call is
admitted to them, and sessions that use them learn that this server leaves.

Keeps the table of open sessions, and decides which one makes room for another. No I/O, no torch.

What a session holds belongs to `inference.py`, but for its KV memory, which belongs to the step loop.

Runs blocking work of an engine in threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar

from potluck.membership.budgets import Budgets
from potluck.protocol.adapters import find_adapter
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller
from potluck.protocol.records import span_digest
from potluck.protocol.swarm import Swarm
from potluck_engine.memory.session_memory import SessionMemory

SMALL_BYTES = 65_536
"""Of a step that nobody counts, because the number of streams bounds such steps."""

_PAUSE_S = 0.05


class StreamBudget:
    """Counts for a caller's person what the handler of a stream holds: input that is worked on, unsent answers."""

    def __init__(self, budgets: Budgets, caller: PeerId) -> None:
        self._budgets = budgets
        self._lease = budgets.holder(caller, asyncio.get_running_loop().time())
        self._num_bytes = 0

    async def take(self, input_bytes: int, *, timeout_s: float) -> int:
        """Wait until there is room for an input and an answer as large; return what to `free`. Raises RemoteError."""
        num_bytes = 2 * input_bytes if input_bytes > SMALL_BYTES else 0
        try:
            async with asyncio.timeout(timeout_s):
                while not self._budgets.work_on(self._lease, num_bytes):  # noqa: ASYNC110 (the budgets tell nobody)
                    await asyncio.sleep(_PAUSE_S)
        except TimeoutError:
            raise RemoteError(Code.BUSY, "your other requests hold too much here", retry_after_s=1.0) from None
        self._num_bytes += num_bytes
        return num_bytes

    def free(self, num_bytes: int) -> None:
        self._num_bytes -= num_bytes
        self._budgets.work_on(self._lease, -num_bytes)

    def close(self) -> None:
        self.free(self._num_bytes)


class Admission:
    """The checks of one engine, by what it serves and to whom."""

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
        """Admit calls to these blocks from now on."""
        self.span = self.kept = span
        self._digests = tuple(block_digests)

    def is_leaving(self, span: Span) -> bool:
        """Return whether a session over these blocks should look for another server."""
        return self.leaving or not self.kept.covers(span)

    def check(self, prefix: str, span: Span, caller: Caller) -> str | None:
        """Return the id of the adapter that the caller asks for, if any.

        Raises:
            RemoteError: DRAINING, NOT_SERVED (also for other weights, or an adapter that is not here).
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
        """Raise RemoteError DRAINING while `leaving`."""
        if self.leaving:
            raise self.refusal()

    def refusal(self) -> RemoteError:
        """Return the error for every call while `leaving`."""
        return RemoteError(Code.DRAINING, "this server is leaving")

    def person_of(self, peer: PeerId) -> PersonId:
        """Return who runs a peer that was admitted. Raises RemoteError NOT_A_MEMBER."""
        person = self.budgets.person_of(peer)
        if person is None:
            raise RemoteError(Code.NOT_A_MEMBER, "this peer belongs to no member")
        return person

    def check_served(self, prefix: str, span: Span) -> None:
        """Raises RemoteError NOT_SERVED."""
        if prefix != self._swarm.prefix or not self.kept.covers(span):
            raise RemoteError(Code.NOT_SERVED, f"blocks {span} are not served here, blocks {self.kept} are")

    def digest_of(self, span: Span) -> str:
        """Return the digest of the weights of blocks that are served."""
        return span_digest(self._digests[span.within(self.span)])


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


T = TypeVar("T")

LARGE_BYTES = 256 * 1024
"""Half a millisecond of the event loop, which other sessions may lose to one message."""


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread that cannot keep the process alive: a download may take hours, leaving may not."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(outcome: Callable[[], None]) -> None:
        if not future.done():
            outcome()

    def run() -> None:
        try:
            outcome = partial(future.set_result, work())
        except BaseException as error:  # the caller gets every error
            outcome = partial(future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the engine left meanwhile
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name="load", daemon=True).start()
    return await future


async def in_thread_if_large(num_bytes: int, work: Callable[[], T]) -> T:
    """Run `work`, in a helper thread if it has many bytes to go through."""
    return await asyncio.to_thread(work) if num_bytes > LARGE_BYTES else work()
