"""Sessions: one stream, one session, one task that reads.

    opening:  silence ends it without a word; a first message that is not allowed or malformed with an error frame
    ready:    steps one after the other; a step that cannot be done ends the session with an error frame
              one whose hidden states another server pushes waits for them, or for the client's own copy
    closing:  no tensors, end of input, silence (silently); age, others' need of its place, engine leaving (error frame)

The session's task waits for the end, and frees everything then, whatever still runs or waits. The network cancels it
when the client is gone. Answers are written by the step loop's call back, which also begins the next step, so a step
wakes no task but the one that reads it. A few large answers may still be on their way out while the next step runs.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from potluck.errors import PotluckError
from potluck.foreign import SessionCoding
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import SessionOpening, StepReply, StepRequest, Timing
from potluck.tasks import cancel_and_wait, start_task
from potluck.wire.packing import can_pack, pack
from potluck.wire.pushes import digest_of
from potluck_engine.admission import Room
from potluck_engine.in_thread import in_thread_if_large, is_large
from potluck_engine.memory.session_memory import SessionMemory, SessionStep
from potluck_engine.pushing import Outbox, Pushes, SessionPushes
from potluck_engine.receipts import NO_TAB
from potluck_engine.service import Service
from potluck_engine.sessions import checked_start

log = logging.getLogger(__name__)

_MAX_WAITING = 4  # steps not begun; a client that pipelines more waits
_MAX_ANSWERS = 4  # that have not left; the next step waits for a client that does not read them
_CLOSING = StepRequest(hidden=None)
"""Also what the end of the client's side means."""


async def serve_session(state: Service, pushes: Pushes, stream: Stream, peer: PeerId, coding: SessionCoding) -> None:
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
        first = await _read_step(state, coding, room, body, is_first=True)
        del body
        opening = first.request.opening
        if opening is None or first.request.hidden is None:
            raise RemoteError(Code.BAD_REQUEST, "the first message must open a session")
        memory = _memory_of(state, opening, first.request, peer, held)
        if memory.adapter is not None:  # now: what is wrong with it is no other session's trouble
            await asyncio.to_thread(state.blocks.whole.adapters.load, memory.adapter)
        session = Session(state, stream, memory, opening, coding, room, pushes, deque([first]))
        del first
        state.sessions.add(session, time.monotonic())
        held.callback(session.close)
        held.callback(state.sessions.remove, session)
        is_news = state.admission.budgets.may_log(peer, asyncio.get_running_loop().time())
        level = logging.INFO if is_news else logging.DEBUG
        log.log(level, "a session over blocks %s, %d rows", memory.span, memory.rows)
        try:
            await session.run()
        finally:
            log.log(level, "a session over blocks %s ended after %d tokens", memory.span, session.position)


def _memory_of(
    state: Service, opening: SessionOpening, first: StepRequest, peer: PeerId, held: ExitStack
) -> SessionMemory:
    """Return the memory of a session that may be opened; `held` keeps its private adapter. Raises RemoteError."""
    adapter = state.admission.check(opening.prefix, opening.span, opening.caller)
    person = state.admission.person_of(peer)
    private = held.enter_context(state.private.using(person, opening.caller.private, opening.span))
    assert first.hidden is not None
    return SessionMemory(
        client=peer,
        person=person,
        is_spare=first.is_spare,
        span=opening.span,
        rows=first.hidden.shape[0],
        is_alone=opening.exact or not state.is_ragged or private is not None,
        adapter=adapter,
        private=private,
        sharing=opening.sharing or "",
    )


@dataclass(slots=True, eq=False)
class _Asked:
    """A step that came, whose bytes have their place in the room until its answer has left."""

    request: StepRequest
    num_bytes: int
    was_pushed: bool = False  # its hidden states came from another server

    @property
    def is_awaiting(self) -> bool:
        return self.request.awaited is not None and self.request.hidden is None


@dataclass(eq=False)
class Session:
    """One client's session through one span, and its steps; `waiting` are those that have not begun."""

    state: Service
    stream: Stream
    memory: SessionMemory
    opening: SessionOpening
    coding: SessionCoding
    room: Room
    pushes: Pushes
    waiting: deque[_Asked]
    position: int = 0

    def __post_init__(self) -> None:
        self._alloc_timeout_s = min(self.opening.alloc_timeout_s, self.state.limits.alloc_timeout_s)
        self._packs = self.opening.packs and not self.opening.exact and can_pack(self.state.blocks.hidden_size)
        self._pushes = SessionPushes(self.pushes, self._advance)
        self._outbox = Outbox(self.stream, self._finish)
        self._running: tuple[_Asked, SessionStep] | None = None
        self._packing: asyncio.Task[None] | None = None  # a large output, whose step counts as running
        self._may_send = asyncio.Event()  # the client may send more
        self._may_send.set()
        self._over: asyncio.Future[RemoteError | None] = asyncio.get_running_loop().create_future()
        self._end_after_step: RemoteError | None = None
        self._began_at = self._heard_at = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._tab = NO_TAB

    @property
    def quiet_since(self) -> float:
        return math.inf if self._running is not None else self._heard_at

    async def run(self) -> None:
        """Serve until the end. Raises RemoteError, which the client is to be told."""
        self._tab = self.state.tabs.open(self.memory.client, self.memory.span)
        self._watch()
        self._advance()
        reading = asyncio.create_task(self._read())
        try:
            await asyncio.wait((reading, self._over), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
            error = await self._over  # the closing message waits for the steps before it
        except asyncio.CancelledError:
            self.memory.is_abandoned = True
            raise
        finally:
            await cancel_and_wait(reading)
        if error is not None:
            raise error

    def end(self, error: RemoteError) -> None:
        """Tell the client, after the step that runs."""
        self._end_after_step = error
        self._advance()

    def close(self) -> None:
        """Free everything, whatever still runs or waits."""
        self._finish()
        if self._timer is not None:
            self._timer.cancel()
        if self._packing is not None:
            self._packing.cancel()
        self._outbox.close()
        self._pushes.close()
        self.state.tabs.close_tab(self._tab)
        self.state.choices.end(self.memory.client, self.opening.session_id)
        self.state.compute.close(self.memory, self._running[1] if self._running else None)
        self.waiting.clear()
        self._running = None

    async def _read(self) -> None:
        """Read messages, up to and including the closing one. Raises RemoteError."""
        is_open = True
        while is_open:
            body = await self.stream.receive()
            self._heard_at = time.monotonic()
            asked = _Asked(_CLOSING, 0)
            if body is not None:
                asked = await _read_step(self.state, self.coding, self.room, body, is_first=False)
                del body
            is_open = not asked.request.is_closing
            if not is_open:  # what others have not pushed yet is not worth waiting for
                self.waiting = deque(each for each in self.waiting if not each.is_awaiting)
            elif asked.request.awaited is not None and not asked.is_awaiting:
                self._replace_push(asked)
                continue
            else:
                await self._may_send.wait()
            self.waiting.append(asked)
            if len(self.waiting) >= _MAX_WAITING:
                self._may_send.clear()
            self._advance()

    def _replace_push(self, brought: _Asked) -> None:
        """Put the client's own copy in the place of the push that a waiting step awaits, if it still does."""
        self.room.free(brought.num_bytes)
        for asked in self.waiting:
            if asked.is_awaiting and asked.request.awaited == brought.request.awaited:
                asked.request = replace(asked.request, hidden=brought.request.hidden, awaited=None)
                assert brought.request.awaited is not None
                self._pushes.give_up(brought.request.awaited.number)
                self._advance()
                return

    def _advance(self) -> None:
        """Begin the next step if none runs and the answers before it are on their way."""
        while self._running is None and len(self._outbox) < _MAX_ANSWERS and not self._over.done():
            if self._end_after_step is not None:
                if not self._outbox:
                    self._finish(self._end_after_step)
                return
            if not self.waiting or not self._is_complete(self.waiting[0]):
                return
            asked = self.waiting.popleft()
            self._may_send.set()
            if asked.request.is_closing:
                self._finish()
                return
            try:
                self._begin(asked)
            except RemoteError as error:
                self._finish(error)

    def _is_complete(self, asked: _Asked) -> bool:
        """Return whether a step has its hidden states now, or, if it is the closing message, all answers have left."""
        if asked.request.is_closing:
            return not self._outbox
        if asked.is_awaiting:
            assert asked.request.awaited is not None
            pushed = self._pushes.take(asked.request.awaited)
            if pushed is None:
                return False
            asked.request, asked.was_pushed = replace(asked.request, hidden=pushed.hidden), True
        return True

    def _begin(self, asked: _Asked) -> None:
        """Submit a step. Raises RemoteError."""
        request, memory = asked.request, self.memory
        start = checked_start(request, memory, self.position, self.opening.max_length)
        assert request.hidden is not None
        if request.receipt is not None:
            self.state.tabs.take(self._tab, request.receipt)
        self._pushes.follow(request)
        now = time.monotonic()
        memory.is_spare = request.is_spare  # its place is taken from the first step that is none
        step = SessionStep(
            session=memory,
            client=memory.person,
            rows=memory.rows,
            tokens=request.hidden.shape[1],
            submitted_at=now,
            deadline=now + self.state.limits.request_timeout_s + self._alloc_timeout_s,
            is_alone=memory.is_alone,
            memory=memory,
            alloc_deadline=now + self._alloc_timeout_s,
            start=start,
            hidden=request.hidden,
            prompts=request.prompts,
            order=request.hypo_ids,
            on_done=self._answered,
        )
        self.state.compute.submit(step)
        self._running = asked, step

    def _answered(self, step: SessionStep, error: PotluckError | None) -> None:
        """Answer a finished step; called in the loop."""
        if error is not None:
            self._finish(error if isinstance(error, RemoteError) else RemoteError(Code.INTERNAL, error.message))
        elif self._running is None:
            return  # the session was closed meanwhile
        elif not self._packs:
            self._answer(*self._running, step.result(), None)
        elif is_large(step.result().nbytes):
            self._packing = start_task(self._answer_packed(*self._running))
        else:
            self._answer(*self._running, *pack(step.result()))

    async def _answer_packed(self, asked: _Asked, step: SessionStep) -> None:
        self._answer(asked, step, *await asyncio.to_thread(pack, step.result()))

    def _answer(self, asked: _Asked, step: SessionStep, output: Tensor, packed: Tensor | None) -> None:
        self._running = None
        request, state, now = asked.request, self.state, time.monotonic()
        self.position = step.end
        if step.chosen or state.choices.kept:
            state.choices.note(self.memory.client, self.opening.session_id, step)
        self._heard_at = now
        queue_ms = max(now - step.submitted_at - step.compute_s, 0.0) * 1e3
        if step.tokens == 1:
            state.meter.steps.append((now, (now - step.submitted_at) * 1e3, queue_ms))
        timing = Timing(
            queue_ms=queue_ms,
            compute_ms=step.compute_s * 1e3,
            cache_tokens_left=state.free_tokens,
            is_leaving=state.admission.is_leaving(self.memory.span),
            tab=(self._tab.name or None) if request.opening is not None else None,
        )
        self._tab.forward_tokens += step.rows * step.tokens
        was_pushed = self._pushes.push(request, output, packed)  # first: the next server waits for it
        if request.answer_tokens is not None:
            wanted = slice(max(output.shape[1] - request.answer_tokens, 0), None)
            output, packed = output[:, wanted], None if packed is None else packed[:, wanted]
        reply = StepReply(
            output,
            timing,
            self._pushes.can_push,
            was_pushed,
            yields=request.is_spare,
            input_digest=digest_of(request.hidden) if asked.was_pushed and request.hidden is not None else None,
            packed=packed,
        )
        try:
            self._outbox.send(self.coding.encode_step_reply(reply), partial(self._left, asked))
        except RemoteError:
            self._finish()
        self._advance()

    def _left(self, asked: _Asked) -> None:
        """Note that the answer to a step has left."""
        self.room.free(asked.num_bytes)
        self._advance()

    def _watch(self) -> None:
        """End the session when it is too old or silent; whatever was heard meanwhile puts the latter off."""
        limits, now = self.state.limits, time.monotonic()
        if self._running is not None or self._outbox:
            self._heard_at = now
        old_in_s = limits.session_timeout_s - (now - self._began_at)
        silent_in_s = limits.step_timeout_s - (now - self._heard_at)
        if old_in_s <= 0:
            self.end(RemoteError(Code.ROLLBACK, f"a session lasts {limits.session_timeout_s:g} s at most"))
        elif silent_in_s <= 0:
            self._finish()
        else:
            self._timer = asyncio.get_running_loop().call_later(min(old_in_s, silent_in_s), self._watch)

    def _finish(self, error: RemoteError | None = None) -> None:
        """End the session, without a word if there is no error."""
        if not self._over.done():
            self._over.set_result(error)


async def _read_step(state: Service, coding: SessionCoding, room: Room, body: bytes, *, is_first: bool) -> _Asked:
    """Decode a message once there is room for it. Raises RemoteError."""
    num_bytes = await room.take(len(body), timeout_s=state.limits.request_timeout_s)
    limits = state.wire_limits
    decode = partial(coding.decode_step, body, limits=limits, first=is_first)
    return _Asked(await in_thread_if_large(len(body), decode), num_bytes)
