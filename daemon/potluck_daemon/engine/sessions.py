"""Inference sessions: what each remembers, and what a step may do.

A session lives as long as its stream (see `inference.py`). The state machine is that of the protocol reference, 8.6:

    opening:  first message within step_timeout_s, else closed silently; not allowed or malformed: error frame
    ready:    steps from the stream first, pushed ones second; each takes the cache it adds, waiting alloc_timeout_s at
              most; a step that cannot be done ends the session with an error frame
    closing:  no tensors, end of input, silence (silently); age, engine leaving (error frame)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from potluck.checkpoint import BlockSpan, KvCache
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest
from potluck_daemon.engine.blocks import ServedBlocks, inference_pieces
from potluck_daemon.engine.cache import Lease

_REMEMBERED_STEPS = 1024  # step ids; a pushed and a direct copy of one step arrive within a few steps of each other
_MAX_WAITING = 4  # unread steps a session; a client that pipelines more waits, a server that pushes more is not heard


class Inbox:
    """Steps that a session has not done yet: its own stream's first, pushed ones second."""

    def __init__(self) -> None:
        self._own: deque[StepRequest] = deque()
        self._pushed: deque[StepRequest] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._error: RemoteError | None = None

    async def put(self, request: StepRequest) -> None:
        """Add a step of the session's own stream, waiting while too many wait."""
        await self._room.wait()
        self._own.append(request)
        if len(self._own) >= _MAX_WAITING:
            self._room.clear()
        self._wake()

    def push(self, request: StepRequest) -> None:
        """Add a step that another server sent; dropped if too many wait: the client sends its own copy as well."""
        if len(self._pushed) < _MAX_WAITING:
            self._pushed.append(request)
            self._wake()

    def fail(self, error: RemoteError) -> None:
        """Let the next `get` raise, whatever waits."""
        self._error = error
        self._wake()

    async def get(self, *, timeout_s: float) -> StepRequest:
        """Raises TimeoutError, or what `fail` was given."""
        if self._error is None and not self._own and not self._pushed:
            await self._wait(timeout_s)
        if self._error is not None:
            raise self._error
        if self._own:
            self._room.set()
            return self._own.popleft()
        return self._pushed.popleft()

    async def _wait(self, timeout_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._reader = loop.create_future()
        silence = loop.call_later(timeout_s, self._expire, self._reader)
        try:
            await self._reader
        finally:
            silence.cancel()
            self._reader = None

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    @staticmethod
    def _expire(reader: asyncio.Future[None]) -> None:
        if not reader.done():
            reader.set_exception(TimeoutError("nothing came"))


class StepPlan(NamedTuple):
    """A step that is allowed: tokens [start, end) of the session."""

    start: int
    end: int


@dataclass(slots=True, eq=False)
class Session:
    """One client's KV cache through one span."""

    session_id: str | None
    span: Span
    batch: int
    max_length: int
    alloc_timeout_s: float
    lease: Lease
    position: int = 0
    inbox: Inbox = field(default_factory=Inbox)
    _done_steps: dict[str, None] = field(default_factory=dict)  # in the order they were done
    _blocks: BlockSpan | None = None  # this and the next belong to the compute thread
    _cache: KvCache | None = None

    def is_duplicate(self, request: StepRequest) -> bool:
        return request.step_id is not None and request.step_id in self._done_steps

    def plan(self, request: StepRequest) -> StepPlan:
        """Where the step begins and ends.

        Raises:
            RemoteError: BAD_REQUEST for another batch size, prompts for other blocks, a position beyond the session's;
                TOO_LONG.
        """
        assert request.hidden is not None
        batch, tokens = request.hidden.shape[:2]
        if batch != self.batch:
            raise RemoteError(Code.BAD_REQUEST, f"the session was opened with {self.batch} rows, not {batch}")
        if request.prompts is not None and request.prompts.shape[0] != len(self.span):
            raise RemoteError(Code.BAD_REQUEST, f"prompts for {request.prompts.shape[0]} blocks, not {len(self.span)}")
        start = self.position if request.start_from_position is None else request.start_from_position
        if not 0 <= start <= self.position:
            raise RemoteError(Code.BAD_REQUEST, f"cannot start from token {start}: the session has {self.position}")
        if start + tokens > self.max_length:
            raise RemoteError(Code.TOO_LONG, f"{start} + {tokens} tokens exceed the session's {self.max_length}")
        return StepPlan(start, start + tokens)

    def token_blocks(self, tokens: int) -> int:
        """What `tokens` of every row cost of the cache."""
        return tokens * self.batch * len(self.span)

    def pieces(
        self, request: StepRequest, plan: StepPlan, served: ServedBlocks, piece_tokens: int
    ) -> Generator[None, None, Tensor]:
        """The compute of a planned step; runs on the compute thread."""
        assert request.hidden is not None
        if self._blocks is None or self._cache is None:
            self._blocks = served.part(self.span)
            self._cache = self._blocks.new_cache()
        if plan.start < self._cache.length:
            self._cache.crop(plan.start)
        if request.hypo_ids is not None:
            self._cache.reorder(request.hypo_ids)
        return (
            yield from inference_pieces(
                self._blocks, self._cache, request.hidden, request.prompts, piece_tokens=piece_tokens
            )
        )

    def finish(self, request: StepRequest, plan: StepPlan) -> None:
        """Remember that a step was done."""
        self.position = plan.end
        if request.step_id is not None:
            self._done_steps[request.step_id] = None
            if len(self._done_steps) > _REMEMBERED_STEPS:
                del self._done_steps[next(iter(self._done_steps))]


class SessionTable:
    """The open sessions; used from the asyncio thread only."""

    def __init__(self, *, max_sessions: int) -> None:
        self._max = max_sessions
        self._sessions: set[Session] = set()
        self._by_id: dict[str, Session] = {}
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, session: Session) -> None:
        """Raises RemoteError: BUSY if there are too many, BAD_REQUEST if the id is taken."""
        if len(self._sessions) >= self._max:
            raise RemoteError(Code.BUSY, f"{self._max} sessions are open", retry_after_s=1.0)
        if session.session_id is not None:
            if session.session_id in self._by_id:
                raise RemoteError(Code.BAD_REQUEST, "this session id is in use")
            self._by_id[session.session_id] = session
        self._sessions.add(session)
        self._empty.clear()

    def remove(self, session: Session) -> None:
        self._sessions.discard(session)
        if session.session_id is not None and self._by_id.get(session.session_id) is session:
            del self._by_id[session.session_id]
        if not self._sessions:
            self._empty.set()

    def find(self, session_id: str) -> Session | None:
        return self._by_id.get(session_id)

    async def end_all(self, error: RemoteError, *, timeout_s: float) -> bool:
        """Tell every session after its running step; whether all were gone within `timeout_s`."""
        for session in self._sessions:
            session.inbox.fail(error)
        try:
            async with asyncio.timeout(timeout_s):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True
