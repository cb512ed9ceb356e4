"""Sessions: one stream, one session, one task that reads.

    opening:  silence ends it without a word; a first message that is not allowed or malformed with an error frame
    ready:    steps one after the other; a step that cannot be done ends the session with an error frame
              one whose hidden states another server pushes waits for them, or for the client's own copy
              one that a later message took back before it began is answered in its turn, and not computed
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
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from potluck.errors import PotluckError
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import SessionOpening, StepReply, StepRequest, Timing
from potluck.tasks import cancel_and_wait, start_task
from potluck.wire.packing import can_pack, pack
from potluck.wire.sessions import SessionCoding, digest_of
from potluck_engine.compute.step_loop import TAKEN_BACK
from potluck_engine.memory.session_memory import SessionMemory, SessionStep
from potluck_engine.serving import admission
from potluck_engine.serving.admission import LARGE_BYTES, StreamBudget, in_thread_if_large
from potluck_engine.serving.pushing import TAKES_AHEAD, Pushes, SendQueue, SessionPushes, has_room
from potluck_engine.serving.receipts import NO_TAB
from potluck_engine.serving.service import Service

log = logging.getLogger(__name__)

_MAX_WAITING = 4  # large steps not begun; a client that pipelines more waits
_MAX_ANSWERS = 4  # large ones that have not left; the next step waits for a client that does not read them
_LAST_STEP_S = 5.0  # for the running step and the answers on their way of a session that was told to end
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
        room = StreamBudget(state.admission.budgets, peer)
        held.callback(room.close)
        first = await _read_large_step(state, coding, room, body, is_first=True)
        del body
        opening = first.request.opening
        if opening is None or first.hidden is None:
            raise RemoteError(Code.BAD_REQUEST, "the first message must open a session")
        memory = _memory_of(state, opening, first.request, peer, held)
        if memory.adapter is not None:  # now: what is wrong with it is no other session's trouble
            await asyncio.to_thread(state.blocks.whole.adapters.load, memory.adapter)
            if state.is_over:  # the device may have been given back meanwhile
                await asyncio.to_thread(state.blocks.whole.adapters.unload)
            state.admission.check_open()
        session = ServedSession(state, stream, memory, opening, coding, room, pushes, deque([first]))
        del first
        state.sessions.add(session, time.monotonic())
        held.callback(session.close)
        held.callback(state.sessions.remove, session)
        is_news = state.admission.budgets.may_log(peer, asyncio.get_running_loop().time())
        level = logging.INFO if is_news else logging.DEBUG
        log.log(level, "a session over layers %s, %d rows", memory.span.layers, memory.rows)
        try:
            await session.run()
        finally:
            log.log(level, "a session over layers %s ended after %d tokens", memory.span.layers, session.position)


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
        is_alone=opening.exact or not state.blocks.whole.is_ragged or private is not None,
        adapter=adapter,
        private=private,
        sharing=opening.sharing,
    )


@dataclass(slots=True, eq=False)
class _Asked:
    """A step that came, whose bytes have their place in the room until its answer has left."""

    request: StepRequest
    hidden: Tensor | None  # None while they are awaited, and in a closing message
    num_bytes: int = 0
    was_pushed: bool = False  # the hidden states came from another server
    is_dropped: bool = False  # a later message took it back

    @property
    def is_awaiting(self) -> bool:
        return self.request.awaited is not None and self.hidden is None

    @property
    def tokens(self) -> int:
        """Tokens of each row that the step has, or will have."""
        if self.hidden is not None:
            return self.hidden.shape[1]
        return 0 if self.request.awaited is None else self.request.awaited.tokens


@dataclass(eq=False)
class ServedSession:
    """One client's session through one span, and its steps; `waiting` are those that have not begun."""

    state: Service
    stream: Stream
    memory: SessionMemory
    opening: SessionOpening
    coding: SessionCoding
    room: StreamBudget
    pushes: Pushes
    waiting: deque[_Asked]
    position: int = 0

    def __post_init__(self) -> None:
        self._alloc_timeout_s = min(self.opening.alloc_timeout_s, self.state.limits.alloc_timeout_s)
        self._packs = self.opening.packs and not self.opening.exact and can_pack(self.state.blocks.hidden_size)
        self._compute = self.state.compute
        self._pushes = SessionPushes(self.pushes, self._advance)
        self._outbox = SendQueue(self.stream, self._finish)
        self._running: tuple[_Asked, SessionStep] | None = None
        self._packing: asyncio.Task[None] | None = None  # a large output, whose step counts as running
        self._may_send = asyncio.Event()  # the client may send more
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
        """Tell the client, after the step that runs and its answer, or after `_LAST_STEP_S`."""
        self._end_after_step = error
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(_LAST_STEP_S, self._finish, error)
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
        self._compute.close(self.memory, self._running[1] if self._running else None)
        self.waiting.clear()
        self._running = None

    async def _read(self) -> None:
        """Read messages, up to and including the closing one. Raises RemoteError."""
        is_open = True
        while is_open:
            body = await self.stream.receive()
            self._heard_at = time.monotonic()
            if body is None:
                asked = _Asked(_CLOSING, None)
            elif len(body) > admission.SMALL_BYTES:
                asked = await _read_large_step(self.state, self.coding, self.room, body, is_first=False)
            else:
                request = self.coding.decode_step(body, limits=self.state.wire_limits, first=False)
                asked = _Asked(request, request.hidden)
            del body
            request = asked.request
            if asked.hidden is not None and request.awaited is not None:
                self._replace_push(asked)
                continue
            is_step = asked.hidden is not None or request.awaited is not None
            is_open = is_step or request.start_from_position is not None
            if request.start_from_position is not None:
                self._take_back(request.start_from_position)
            if not is_open:  # what others have not pushed yet is not worth waiting for
                self.waiting = deque(each for each in self.waiting if not each.is_awaiting)
            elif not is_step:
                self._take_receipt(request)
                continue
            while is_step and not has_room((each.num_bytes for each in self.waiting), _MAX_WAITING):
                self._may_send.clear()
                await self._may_send.wait()
            self.waiting.append(asked)
            self._advance()

    def _take_back(self, position: int) -> None:
        """Drop the steps from `position` on that have not begun, but none before rows were put into another order."""
        begin, dropped = self.position, list[_Asked]()
        running = () if self._running is None else (self._running[0],)
        for asked in (*running, *self.waiting):
            if asked.is_dropped:
                continue
            if asked.request.hypo_ids is not None:
                dropped.clear()
            if asked.request.start_from_position is not None:
                begin = asked.request.start_from_position
            if begin >= position and asked.request.hypo_ids is None:
                dropped.append(asked)
            begin += asked.tokens
        for asked in dropped:
            asked.is_dropped = True
        if self._running is not None and self._running[0] in dropped:
            self._compute.take_back(self._running[1])
        self._advance()

    def _replace_push(self, brought: _Asked) -> None:
        """Put the client's own copy in the place of the push that a waiting step awaits, if it still does."""
        for asked in self.waiting:
            if asked.is_awaiting and asked.request.awaited == brought.request.awaited:
                asked.hidden, asked.num_bytes = brought.hidden, asked.num_bytes + brought.num_bytes
                self._advance()
                return
        self.room.free(brought.num_bytes)

    def _advance(self) -> None:
        """Begin the next step if none runs and the answers before it are on their way."""
        unsent = self._outbox.waiting
        while self._running is None and self._outbox.has_room(_MAX_ANSWERS) and not self._over.done():
            if self._end_after_step is not None:
                if not unsent:
                    self._finish(self._end_after_step)
                return
            if not self.waiting:
                return
            asked = self.waiting[0]
            awaited = asked.request.awaited
            if asked.hidden is None and not asked.is_dropped:
                if awaited is None:  # the closing message
                    if not unsent:
                        self._finish()
                    return
                pushed = self._pushes.take(awaited)
                if pushed is None:
                    return
                asked.hidden, asked.was_pushed = pushed.hidden, True
            self.waiting.popleft()
            self._may_send.set()
            if awaited is not None:
                self._pushes.give_up(awaited.number)
            try:
                if asked.is_dropped:
                    self._heed(asked.request)
                    self._drop(asked)
                else:
                    assert asked.hidden is not None
                    self._begin(asked, asked.hidden)
            except RemoteError as error:
                self._finish(error)

    def _heed(self, request: StepRequest) -> None:
        """Take what a step says beside its hidden states, for it and later ones. Raises RemoteError."""
        self._take_receipt(request)
        if request.push_to is not None or request.pushed_by is not None:
            self._pushes.follow(request)

    def _take_receipt(self, request: StepRequest) -> None:
        if request.receipt is not None:
            self.state.tabs.take(self._tab, request.receipt)

    def _drop(self, asked: _Asked) -> None:
        """Answer a step that was taken back."""
        nothing = torch.empty((self.memory.rows, 0, self.state.blocks.hidden_size))
        timing = self._timing(asked.request)
        self._send(asked, StepReply(nothing, timing, self._can_push, is_dropped=True, takes_ahead=TAKES_AHEAD))

    def _begin(self, asked: _Asked, hidden: Tensor) -> None:
        """Submit a step. Raises RemoteError."""
        request, memory = asked.request, self.memory
        start = _checked_start(request, hidden, memory, self.position, self.opening.max_length)
        self._heed(request)
        now = time.monotonic()
        memory.is_spare = request.is_spare  # its place is taken from the first step that is none
        step = SessionStep(
            session=memory,
            client=memory.person,
            rows=memory.rows,
            tokens=hidden.shape[1],
            submitted_at=now,
            deadline=now + self.state.limits.request_timeout_s + self._alloc_timeout_s,
            is_alone=memory.is_alone,
            memory=memory,
            alloc_deadline=now + self._alloc_timeout_s,
            start=start,
            hidden=hidden,
            prompts=request.prompts,
            order=request.hypo_ids,
            on_done=self._answered,
        )
        self._compute.submit(step)
        self._running = asked, step

    def _answered(self, step: SessionStep, error: PotluckError | None) -> None:
        """Answer a finished step; called in the loop."""
        if error is TAKEN_BACK and self._running is not None:
            asked, self._running = self._running[0], None
            self.position = min(self.position, step.start)
            self._drop(asked)
            self._advance()
        elif error is not None:
            self._finish(error if isinstance(error, RemoteError) else RemoteError(Code.INTERNAL, error.message))
        elif self._running is None:
            return  # the session was closed meanwhile
        else:
            output = step.outputs[0] if len(step.outputs) == 1 else step.result()
            if not self._packs:
                self._answer(self._running[0], step, output, None)
            elif output.nbytes > LARGE_BYTES:
                self._packing = start_task(self._answer_packed(self._running[0], step, output))
            else:
                self._answer(self._running[0], step, *pack(output))

    async def _answer_packed(self, asked: _Asked, step: SessionStep, output: Tensor) -> None:
        try:
            self._answer(asked, step, *await asyncio.to_thread(pack, output))
        except Exception:
            log.exception("an answer cannot be packed")
            self._finish(RemoteError(Code.INTERNAL, "the answer cannot be packed"))

    def _answer(self, asked: _Asked, step: SessionStep, output: Tensor, packed: Tensor | None) -> None:
        """Push the output on, for which the next server waits, and answer. Both have the dtype of the input.

        The next server computes with what the client would send.
        """
        request, pusher, was_pushed = asked.request, self._pushes.pusher, False
        if request.push_number is not None and pusher is not None:
            was_pushed = pusher.push(request.push_number, output.to(step.hidden.dtype), packed)
        self._running = None
        state, now = self.state, time.monotonic()
        self.position = step.start + step.tokens
        if step.chosen or state.choices.kept:
            state.choices.note(self.memory.client, self.opening.session_id, step)
        self._heard_at = now
        queue_ms = max(now - step.submitted_at - step.compute_s, 0.0) * 1e3
        if step.tokens == 1:
            state.meter.steps.append((now, (now - step.submitted_at) * 1e3, queue_ms))
        self._tab.forward_tokens += step.rows * step.tokens
        if request.answer_tokens is not None:
            wanted = slice(max(output.shape[1] - request.answer_tokens, 0), None)
            output, packed = output[:, wanted], None if packed is None else packed[:, wanted]
        reply = StepReply(
            output,
            self._timing(request, queue_ms, step.compute_s * 1e3),
            self._can_push,
            was_pushed,
            input_digest=digest_of(asked.hidden) if asked.was_pushed and asked.hidden is not None else None,
            packed=() if packed is None else (packed,),
            takes_ahead=TAKES_AHEAD,
        )
        self._send(asked, reply)
        self._advance()

    @property
    def _can_push(self) -> bool:
        return self._pushes.pusher is not None and self._pushes.pusher.stream is not None

    def _timing(self, request: StepRequest, queue_ms: float = 0.0, compute_ms: float = 0.0) -> Timing:
        here = self.state.admission
        return Timing(
            queue_ms=queue_ms,
            compute_ms=compute_ms,
            cache_tokens_left=self._compute.free_tokens,
            is_leaving=here.leaving or (here.kept is not here.span and here.is_leaving(self.memory.span)),
            tab=(self._tab.name or None) if request.opening is not None else None,
        )

    def _send(self, asked: _Asked, reply: StepReply) -> None:
        """Send an answer after those before it; its step leaves the room with it."""
        pieces = self.coding.encode_step_reply(reply)
        try:
            if self._outbox.waiting or not self.stream.send_now(*pieces):
                self._outbox.add(pieces, partial(self._left, asked))
            elif asked.num_bytes:
                self.room.free(asked.num_bytes)
        except RemoteError:
            self._finish()

    def _left(self, asked: _Asked) -> None:
        """Note that an answer that had to wait has left."""
        self.room.free(asked.num_bytes)
        self._advance()

    def _watch(self) -> None:
        """End the session when it is too old or silent; whatever was heard meanwhile puts the latter off."""
        limits, now = self.state.limits, time.monotonic()
        if self._running is not None or self._outbox.waiting:
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


async def _read_large_step(
    state: Service, coding: SessionCoding, room: StreamBudget, body: bytes, *, is_first: bool
) -> _Asked:
    """Decode a message once there is room for it. Raises RemoteError."""
    num_bytes = await room.take(len(body), timeout_s=state.limits.request_timeout_s)
    decode = partial(coding.decode_step, body, limits=state.wire_limits, first=is_first)
    request = await in_thread_if_large(len(body), decode)
    return _Asked(request, request.hidden, num_bytes)


def _checked_start(request: StepRequest, hidden: Tensor, memory: SessionMemory, position: int, max_length: int) -> int:
    """Return the position at which a step begins in a session that has `position` tokens.

    Raises:
        RemoteError: BAD_REQUEST for another batch size, prompts for other blocks, a position beyond the session's;
            TOO_LONG.
    """
    batch, tokens = hidden.shape[:2]
    if batch != memory.rows:
        raise RemoteError(Code.BAD_REQUEST, f"the session was opened with {memory.rows} rows, not {batch}")
    if request.prompts is not None and request.prompts.shape[0] != len(memory.span):
        raise RemoteError(Code.BAD_REQUEST, f"prompts for {request.prompts.shape[0]} blocks, not {len(memory.span)}")
    start = position if request.start_from_position is None else request.start_from_position
    if not 0 <= start <= position:
        raise RemoteError(Code.BAD_REQUEST, f"cannot start from token {start}: the session has {position}")
    if start + tokens > max_length:
        raise RemoteError(Code.TOO_LONG, f"{start} + {tokens} tokens exceed the session's {max_length}")
    return start
