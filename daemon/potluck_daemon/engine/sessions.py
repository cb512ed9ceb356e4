"""Inference sessions: what each remembers, what a step may do, and which have to end.

A session lives as long as its stream (see `inference.py`). `plan_step` and `reason_to_end` are pure; the table is used
from the asyncio thread only. The state machine is that of the protocol reference, section 8.6:

    opening -> allocating -> ready -> closing
    opening:    first message within step_timeout_s, else closed silently; refused: error frame
    allocating: cache for the first tokens, waiting alloc_timeout_s at most, else error frame
    ready:      steps from the stream first, pushed ones second; a step that cannot be done ends the session
    closing:    no tensors, end of input, silence (closed silently), age (error frame), engine leaving (error frame)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor

from potluck.checkpoint import BlockSpan, KvCache
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest
from potluck_daemon.engine.blocks import inference_pieces
from potluck_daemon.engine.cache import Lease
from potluck_daemon.engine.config import Limits

_REMEMBERED_STEPS = 1024  # step ids; a pushed and a direct copy of one step arrive within a few steps of each other
_MAX_WAITING = 4  # unread steps a session; a client that pipelines more waits, a server that pushes more is not heard


class Inbox:
    """Steps that a session has not done yet: its own stream's first, pushed ones second."""

    def __init__(self) -> None:
        self._own: deque[StepRequest] = deque()
        self._pushed: deque[StepRequest] = deque()
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    async def put(self, request: StepRequest) -> None:
        """Add a step of the session's own stream, waiting while too many wait."""
        await self._room.wait()
        self._own.append(request)
        if len(self._own) >= _MAX_WAITING:
            self._room.clear()
        self._changed.set()

    def push(self, request: StepRequest) -> None:
        """Add a step that another server sent; dropped if too many wait: the client sends its own copy as well."""
        if len(self._pushed) < _MAX_WAITING:
            self._pushed.append(request)
            self._changed.set()

    async def get(self) -> StepRequest:
        while not self._own and not self._pushed:
            self._changed.clear()
            await self._changed.wait()
        if self._own:
            self._room.set()
            return self._own.popleft()
        return self._pushed.popleft()


class StepPlan(NamedTuple):
    """A step that is allowed: tokens [start, end) of the session."""

    start: int
    end: int


@dataclass(slots=True, eq=False)
class Session:
    """One client's KV cache through one span."""

    peer: PeerId
    session_id: str | None
    blocks: BlockSpan
    batch: int
    max_length: int
    alloc_timeout_s: float
    lease: Lease
    opened_at: float  # monotonic seconds, as the next
    active_at: float
    cache: KvCache
    position: int = 0
    inbox: Inbox = field(default_factory=Inbox)
    done_steps: dict[str, None] = field(default_factory=dict)  # in the order they were done

    def is_duplicate(self, request: StepRequest) -> bool:
        return request.step_id is not None and request.step_id in self.done_steps

    def token_blocks(self, tokens: int) -> int:
        """What `tokens` of every row cost of the cache."""
        return tokens * self.batch * len(self.blocks.span)

    def pieces(self, request: StepRequest, plan: StepPlan, piece_tokens: int) -> Generator[None, None, Tensor]:
        """The compute of a planned step; runs on the compute thread."""
        assert request.hidden is not None
        if plan.start < self.cache.length:
            self.cache.crop(plan.start)
        if request.hypo_ids is not None:
            self.cache.reorder(request.hypo_ids)
        return inference_pieces(self.blocks, self.cache, request.hidden, request.prompts, piece_tokens=piece_tokens)

    def finish(self, request: StepRequest, plan: StepPlan) -> None:
        """Remember that a step was done."""
        self.position = plan.end
        if request.step_id is not None:
            self.done_steps[request.step_id] = None
            if len(self.done_steps) > _REMEMBERED_STEPS:
                del self.done_steps[next(iter(self.done_steps))]


def plan_step(session: Session, request: StepRequest) -> StepPlan:
    """Where the step begins and ends.

    Raises:
        RemoteError: BAD_REQUEST for another batch size or a position beyond the session's, TOO_LONG.
    """
    assert request.hidden is not None
    batch, tokens = request.hidden.shape[:2]
    if batch != session.batch:
        raise RemoteError(Code.BAD_REQUEST, f"the session was opened with {session.batch} rows, not {batch}")
    start = session.position if request.start_from_position is None else request.start_from_position
    if not 0 <= start <= session.position:
        raise RemoteError(Code.BAD_REQUEST, f"cannot start from token {start}: the session has {session.position}")
    if start + tokens > session.max_length:
        raise RemoteError(Code.TOO_LONG, f"{start} + {tokens} tokens exceed the session's {session.max_length}")
    return StepPlan(start, start + tokens)


def reason_to_end(session: Session, limits: Limits, now: float) -> RemoteError | TimeoutError | None:
    """None: it may live on. TimeoutError: close it silently. RemoteError: tell the client."""
    if now - session.active_at > limits.step_timeout_s:
        return TimeoutError("silent")
    if now - session.opened_at > limits.session_timeout_s:
        return RemoteError(Code.ROLLBACK, f"a session may last {limits.session_timeout_s:g} s")
    return None


class SessionTable:
    """The open sessions."""

    def __init__(self, *, max_sessions: int) -> None:
        self._max = max_sessions
        self._sessions: set[Session] = set()
        self._by_id: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Generator[Session, None, None]:
        yield from tuple(self._sessions)

    def refuse_if_full(self) -> None:
        """Raises RemoteError BUSY."""
        if len(self._sessions) >= self._max:
            raise RemoteError(Code.BUSY, f"{self._max} sessions are open", retry_after_s=1.0)

    def add(self, session: Session) -> None:
        """Raises RemoteError BAD_REQUEST if the id is taken."""
        if session.session_id is not None:
            if session.session_id in self._by_id:
                raise RemoteError(Code.BAD_REQUEST, "this session id is in use")
            self._by_id[session.session_id] = session
        self._sessions.add(session)

    def remove(self, session: Session) -> None:
        self._sessions.discard(session)
        if session.session_id is not None and self._by_id.get(session.session_id) is session:
            del self._by_id[session.session_id]

    def find(self, session_id: str) -> Session | None:
        return self._by_id.get(session_id)
