"""Sessions: one stream, one session, one task.

    opening:  silence ends it without a word; a first message that is not allowed or malformed with an error frame
    ready:    steps one after the other; a step that cannot be done ends the session with an error frame
              one whose hidden states another server pushes waits for them, or for the client's own copy
    closing:  no tensors, end of input, silence (silently); age, others' need of its place, engine leaving (error frame)

The task only reads. Answers are written by the compute thread's call back, which also begins the next step, so a step
wakes no task but the one that reads it, and a client that leaves is noticed while its step waits or runs. A few large
answers may still be on their way out while the next step runs.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from contextlib import ExitStack
from dataclasses import replace

from torch import Tensor

from potluck.errors import PotluckError
from potluck.foreign import SessionCoding
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepReply, StepRequest, Timing
from potluck.wire.packing import can_pack, pack
from potluck_engine.admission import Room
from potluck_engine.in_thread import in_thread_if_large, is_large
from potluck_engine.memory.session_memory import SessionMemory, SessionStep
from potluck_engine.pushing import Pushes, SessionPushes
from potluck_engine.receipts import NO_TAB
from potluck_engine.sessions import MAX_WAITING, ServedSession, StepRange
from potluck_engine.span_state import SpanState

log = logging.getLogger(__name__)

_MAX_ANSWERS = 4  # that have not left; the next step waits for a client that does not read them
_CLOSING = StepRequest(hidden=None)
"""Also what the end of the client's side means."""


async def serve_session(state: SpanState, pushes: Pushes, stream: Stream, peer: PeerId, coding: SessionCoding) -> None:
    """Serve one session to its end. Raises RemoteError, which the host sends as an error frame."""
    try:
        async with asyncio.timeout(state.limits.request_timeout_s):
            body = await stream.receive(silence_s=state.limits.opening_timeout_s)
    except TimeoutError:
        return
    if body is None:
        return
    with ExitStack() as held:
        room = Room(state.admission.budgets, peer)
        held.callback(room.close)
        num_bytes = await room.take(len(body), timeout_s=state.limits.request_timeout_s)
        request = await _decode(state, coding, body, first=True)
        del body
        session = _open(state, request, peer, held)
        await _serve(state, pushes, stream, session, coding, request, room, num_bytes)


async def _serve(
    state: SpanState,
    pushes: Pushes,
    stream: Stream,
    session: ServedSession,
    coding: SessionCoding,
    request: StepRequest,
    room: Room,
    num_bytes: int,
) -> None:
    """Serve the session that `request` opens, whose bytes have their place in `room`."""
    if session.memory.adapter is not None:  # now: what is wrong with it is no other session's trouble
        await asyncio.to_thread(state.blocks.whole.adapters.load, session.memory.adapter)
    served = SessionStream(state, pushes, stream, session, coding, room)
    state.sessions.add(served, time.monotonic())
    memory = session.memory
    level = (
        logging.INFO
        if state.admission.budgets.may_log(session.memory.client, asyncio.get_running_loop().time())
        else logging.DEBUG
    )
    log.log(level, "a session over blocks %s, %d rows", memory.span, memory.rows)
    try:
        await served.run(request, num_bytes)
    finally:
        state.sessions.remove(served)
        served.close()
        log.log(level, "a session over blocks %s ended after %d tokens", memory.span, session.position)


def _open(state: SpanState, request: StepRequest, peer: PeerId, held: ExitStack) -> ServedSession:
    opening = request.opening
    if opening is None or request.hidden is None:
        raise RemoteError(Code.BAD_REQUEST, "the first message must open a session")
    adapter = state.admission.check(opening.prefix, opening.span, opening.caller)
    packs = opening.packs and not opening.exact and can_pack(request.hidden.shape[-1])
    opening = replace(opening, caller=replace(opening.caller, adapter=adapter), packs=packs)
    if opening.resume:
        session = state.parking.take(peer, opening, request.hidden.shape[0])
        if session is None:
            raise RemoteError(Code.ROLLBACK, "nothing is kept of this session")
        return session
    person = state.admission.person_of(peer)
    private = held.enter_context(state.private.using(person, opening.caller.private, opening.span))
    memory = SessionMemory(
        client=peer,
        person=person,
        span=opening.span,
        rows=request.hidden.shape[0],
        is_alone=opening.exact or not state.is_ragged or private is not None,
        adapter=adapter,
        private=private,
        sharing=opening.sharing or "",
    )
    alloc_timeout_s = min(opening.alloc_timeout_s, state.limits.alloc_timeout_s)
    session = ServedSession(opening.session_id, opening.max_length, alloc_timeout_s, memory)
    session.memory.holder.is_spare = request.is_spare
    session.packs = opening.packs
    return session


class _Over(Exception):  # noqa: N818 (not an error)
    """The session is over, without a word."""


class SessionStream:
    """A session and its stream."""

    def __init__(
        self,
        state: SpanState,
        pushes: Pushes,
        stream: Stream,
        session: ServedSession,
        coding: SessionCoding,
        room: Room,
    ) -> None:
        self.session = session
        self._pushes = SessionPushes(pushes, self._advance)
        self._coding = coding
        self._state = state
        self._stream = stream
        self._running: tuple[SessionStep, StepRequest, StepRange] | None = None
        self._answers: deque[tuple[Buffer, ...]] = deque()  # that have not left
        self._room = room
        self._held: deque[int] = deque()  # bytes in the room of each step that came, until its answer has left
        self._sending: asyncio.Task[None] | None = None  # sends them
        self._packing: asyncio.Task[None] | None = None  # a large output, whose step counts as running
        self._may_send = asyncio.Event()  # the client may send more
        self._may_send.set()
        self._task: asyncio.Task[object] | None = None
        self._why: RemoteError | _Over | None = None  # it ends
        self._end_after_step: RemoteError | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._heard_at = time.monotonic()
        self._tab = NO_TAB

    @property
    def person(self) -> PersonId:
        return self.session.memory.person

    @property
    def span(self) -> Span:
        return self.session.memory.span

    @property
    def is_spare(self) -> bool:
        return self.session.memory.holder.is_spare

    @property
    def quiet_since(self) -> float:
        return math.inf if self._running is not None else self._heard_at

    async def run(self, request: StepRequest, num_bytes: int) -> None:
        """Serve until the end. Raises RemoteError, which the client is to be told."""
        limits, loop = self._state.limits, asyncio.get_running_loop()
        self._task = asyncio.current_task()
        too_old = RemoteError(Code.ROLLBACK, f"a session lasts {limits.session_timeout_s:g} s at most")
        self._timers = [
            loop.call_later(limits.session_timeout_s, self.end, too_old),
            loop.call_later(limits.step_timeout_s, self._listen_for_silence),
        ]
        if request.opening is not None:
            self._tab = self._state.tabs.open(self.session.memory.client, request.opening.span)
        try:
            self._held.append(num_bytes)
            self._begin(request)
            await self._read()
            await asyncio.get_running_loop().create_future()  # the closing message waits for steps before it
        except asyncio.CancelledError:
            if self._why is None or (self._task is not None and self._task.uncancel()):
                self.session.memory.is_abandoned = True
                raise
            if isinstance(why := self._why, RemoteError):
                raise RemoteError(why.code, why.message, retry_after_s=why.retry_after_s) from None

    def end(self, error: RemoteError) -> None:
        if self._running is None and self._sending is None:
            self._finish(error)
        else:
            self._end_after_step = error

    def close(self) -> None:
        """Free everything, whatever still runs; unless the engine steps aside and the client may come back."""
        for timer in self._timers:
            timer.cancel()
        self._held.clear()
        self._room.close()
        self._state.tabs.close_tab(self._tab)
        self._state.choices.end(self.session.memory.client, self.session.session_id)
        self._pushes.close()
        for task in (self._packing, self._sending):
            if task is not None:
                task.cancel()
        is_told = isinstance(self._why, RemoteError) and self._why.code is Code.DRAINING
        is_kept = is_told and self._running is None and self.session.memory.private is None and not self.is_spare
        is_kept = is_kept and self._state.parking.keep(self.session, time.monotonic())
        if not is_kept:
            self._state.compute.close(self.session.memory, self._running[0] if self._running else None)
            self.session.waiting.clear()
        self._answers.clear()  # what is part of cycles is collected late
        self._running = self._task = None
        self._why = self._why or _Over()

    async def _read(self) -> None:
        """Messages, up to and including the closing one."""
        while True:
            try:
                body = await self._stream.receive()
            except RemoteError:
                log.debug("the client of a session over blocks %s left", self.session.memory.span)
                self.session.memory.is_abandoned = True
                self._finish(_Over())
                return
            self._heard_at = time.monotonic()
            num_bytes, request = 0, _CLOSING
            if body is not None:
                num_bytes = await self._room.take(len(body), timeout_s=self._state.limits.request_timeout_s)
                request = await _decode(self._state, self._coding, body, first=False)
                del body
            if request.is_closing:
                self.session.drop_awaited()
            elif request.awaited is not None and request.hidden is not None:
                if self.session.bring(request):
                    self._pushes.give_up(request.awaited.number)
                    self._advance()
                self._room.free(num_bytes)
                continue
            await self._may_send.wait()
            if not request.is_closing:
                self._held.append(num_bytes)
            self.session.waiting.append(request)
            if len(self.session.waiting) >= MAX_WAITING:
                self._may_send.clear()
            self._advance()
            if request.is_closing:
                return

    def _let_go(self) -> None:
        """Note that the answer to the oldest step has left."""
        if self._held:
            self._room.free(self._held.popleft())

    def _advance(self) -> None:
        """Begin the next step if none runs and the answers before it are on their way."""
        while self._running is None and len(self._answers) < _MAX_ANSWERS and self._why is None:
            if self._end_after_step is not None:
                if self._sending is None:
                    self._finish(self._end_after_step)
                return
            if not self.session.waiting or (self.session.waiting[0].is_closing and self._sending is not None):
                return
            request = self._pushes.fill(self.session.waiting[0])
            if request is None:
                return
            self.session.waiting.popleft()
            self._may_send.set()
            if request.is_closing:
                self._finish(_Over())
            else:
                self._try_to_begin(request)

    def _try_to_begin(self, request: StepRequest) -> None:
        try:
            self._begin(request)
        except RemoteError as error:
            self._finish(error)

    def _begin(self, request: StepRequest) -> None:
        """Submit a step. Raises RemoteError."""
        session = self.session
        plan = session.plan(request)
        assert request.hidden is not None
        if request.receipt is not None:
            self._state.tabs.take(self._tab, request.receipt)
        self._pushes.follow(request)
        now, memory = time.monotonic(), session.memory
        memory.holder.is_spare = request.is_spare  # its place is taken from the first step that is none
        step = SessionStep(
            session=memory,
            client=memory.person,
            rows=memory.rows,
            tokens=plan.end - plan.start,
            submitted_at=now,
            deadline=now + self._state.limits.request_timeout_s + session.alloc_timeout_s,
            is_alone=memory.is_alone,
            memory=memory,
            alloc_deadline=now + session.alloc_timeout_s,
            start=plan.start,
            hidden=request.hidden,
            prompts=request.prompts,
            order=request.hypo_ids,
            on_done=self._answered,
        )
        self._state.compute.submit(step)
        self._running = (step, request, plan)

    def _answered(self, step: SessionStep, error: PotluckError | None) -> None:
        """Answer a finished step; called in the loop."""
        if self._running is None:
            return  # the session was closed meanwhile
        if error is not None:
            self._running = None
            self._finish(error if isinstance(error, RemoteError) else RemoteError(Code.INTERNAL, error.message))
        elif not self.session.packs:
            self._answer(step, step.result(), None)
        elif is_large(step.result().nbytes):
            self._packing = asyncio.create_task(self._answer_packed(step))
        else:
            self._answer(step, *pack(step.result()))

    async def _answer_packed(self, step: SessionStep) -> None:
        self._answer(step, *await asyncio.to_thread(pack, step.result()))

    def _answer(self, step: SessionStep, output: Tensor, packed: Tensor | None) -> None:
        assert self._running is not None
        _, request, plan = self._running
        self._running = None
        state, now = self._state, time.monotonic()
        self.session.position = plan.end
        if step.chosen or state.choices.kept:
            state.choices.note(self.session.memory.client, self.session.session_id, step)
        self._heard_at = now
        queue_ms = max(now - step.submitted_at - step.compute_s, 0.0) * 1e3
        if step.tokens == 1:
            state.meter.steps.append((now, (now - step.submitted_at) * 1e3, queue_ms))
        timing = Timing(
            queue_ms=queue_ms,
            compute_ms=step.compute_s * 1e3,
            cache_tokens_left=state.free_tokens,
            is_leaving=state.admission.is_leaving(step.memory.span),
            tab=(self._tab.name or None) if request.opening is not None else None,
        )
        self._tab.forward_tokens += step.rows * step.tokens
        was_pushed = self._pushes.push(request, output, packed)  # first: the next server waits for it
        if request.answer_tokens is not None:
            wanted = slice(max(output.shape[1] - request.answer_tokens, 0), None)
            output, packed = output[:, wanted], None if packed is None else packed[:, wanted]
        digest = self._pushes.digest_for(request)
        reply = StepReply(
            output,
            timing,
            self._pushes.can_push,
            was_pushed,
            yields=request.is_spare,
            input_digest=digest,
            packed=packed,
        )
        self._send(self._coding.encode_step_reply(reply))
        self._advance()

    def _send(self, pieces: tuple[Buffer, ...]) -> None:
        try:
            if self._sending is not None:
                self._answers.append(pieces)
            elif self._stream.send_now(*pieces):
                self._let_go()
            else:
                self._answers.append(pieces)
                self._sending = asyncio.create_task(self._send_slowly())
        except RemoteError:
            self._finish(_Over())

    async def _send_slowly(self) -> None:
        try:
            while self._answers:
                await self._stream.send(*self._answers[0])
                self._answers.popleft()
                self._let_go()
                if self._answers:
                    self._advance()
        except RemoteError:  # the client is gone, or does not read
            self._finish(_Over())
        finally:
            self._sending = None
        self._advance()

    def _listen_for_silence(self) -> None:
        """Silence ends a session; whatever was heard meanwhile puts that off."""
        limit_s, now = self._state.limits.step_timeout_s, time.monotonic()
        if self._running is not None or self._sending is not None:
            self._heard_at = now
        silent_s = now - self._heard_at
        if silent_s >= limit_s:
            self._finish(_Over())
        else:
            self._timers[1] = asyncio.get_running_loop().call_later(limit_s - silent_s, self._listen_for_silence)

    def _finish(self, why: RemoteError | _Over) -> None:
        """End the session: the task that reads is what holds it open."""
        if self._why is None:
            self._why = why
            if self._task is not None:
                self._task.cancel()


async def _decode(state: SpanState, coding: SessionCoding, body: bytes, *, first: bool) -> StepRequest:
    limits = state.wire_limits
    return await in_thread_if_large(len(body), lambda: coding.decode_step(body, limits=limits, first=first))
