"""Serves sessions: each has one stream and one task that reads it.

    opening:  silence ends the session without a word, a forbidden or malformed first message with an error frame
    ready:    steps are computed one after the other; one that cannot be computed ends the session with an error frame
              a step whose hidden states another server pushes waits for them, or for the client's own copy
              a step that a later message retracted before it began is answered in its turn, and not computed
    closing:  without a word on a message without tensors, the end of the input, or silence; with an error frame because
              of the session's age, because others need its place, or because the engine is leaving

The session's task waits for the end and then frees everything, whatever still runs or waits. The network cancels it
when the client is gone. The step loop's callback writes answers and begins the next step, so that a step wakes no task
but the one that reads it. A few large answers may still be on their way out while the next step runs.
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
from potluck_engine.compute.step_loop import RETRACTED
from potluck_engine.memory.session_memory import SessionMemory, SessionStep
from potluck_engine.serving import admission
from potluck_engine.serving.admission import LARGE_BYTES, StreamBudget, in_thread_if_large
from potluck_engine.serving.pushing import TAKES_AHEAD, Pushes, SendQueue, SessionPushes, has_room
from potluck_engine.serving.receipts import NO_TAB
from potluck_engine.serving.service import Service

log = logging.getLogger(__name__)

_MAX_WAITING = 4  # large steps that have not begun; nothing more is read until there is room
_MAX_ANSWERS = 4  # large answers that have not left; the next step waits until the client reads them
_LAST_STEP_S = 5.0  # lets a session that has to end finish its running step and send its answers
_CLOSING = StepRequest(hidden=None)
"""The closing message; the end of the client's side means the same."""


async def serve_session(state: Service, pushes: Pushes, stream: Stream, peer: PeerId, coding: SessionCoding) -> None:
    """Serve a session until it ends. Raises RemoteError, which the host sends as an error frame."""
    try:
        async with asyncio.timeout(state.limits.request_timeout_s):
            body = await stream.receive(silence_s=state.limits.opening_timeout_s)
    except TimeoutError:
        return
    if body is None:
        return
    with ExitStack() as held:
        budget = StreamBudget(state.admission.budgets, peer)
        held.callback(budget.close)
        first = await _read_large_step(state, coding, budget, body, is_first=True)
        del body
        opening = first.request.opening
        if opening is None or first.hidden is None:
            raise RemoteError(Code.BAD_REQUEST, "the first message must open a session")
        memory = _memory_of(state, opening, first.request, peer, held)
        if memory.adapter is not None:  # loaded now, so that its errors don't reach other sessions' steps
            await asyncio.to_thread(state.blocks.whole.adapters.load, memory.adapter)
            if state.is_over:  # the device was given back meanwhile
                await asyncio.to_thread(state.blocks.whole.adapters.unload)
            state.admission.check_open()
        session = ServedSession(state, stream, memory, opening, coding, budget, pushes, deque([first]))
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
    """Return the memory of a new session, whose private adapter `held` keeps. Raises RemoteError if it may not open."""
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
class _QueuedStep:
    """A step that came and is not answered yet. Its bytes count in the stream's budget until the answer has left."""

    request: StepRequest
    hidden: Tensor | None  # None while they are awaited, and in a closing message
    num_bytes: int = 0
    was_pushed: bool = False  # whether the hidden states came from another server
    is_dropped: bool = False  # whether a later message retracted it

    @property
    def is_awaiting(self) -> bool:
        return self.request.awaited is not None and self.hidden is None

    @property
    def tokens(self) -> int:
        """The tokens of each row that the step has, or will have."""
        if self.hidden is not None:
            return self.hidden.shape[1]
        return 0 if self.request.awaited is None else self.request.awaited.tokens


@dataclass(eq=False)
class ServedSession:
    """One client's session through one span. `waiting` holds the steps that have not begun."""

    state: Service
    stream: Stream
    memory: SessionMemory
    opening: SessionOpening
    coding: SessionCoding
    budget: StreamBudget
    pushes: Pushes
    waiting: deque[_QueuedStep]
    position: int = 0

    def __post_init__(self) -> None:
        self._alloc_timeout_s = min(self.opening.alloc_timeout_s, self.state.limits.alloc_timeout_s)
        self._packs = self.opening.packs and not self.opening.exact and can_pack(self.state.blocks.hidden_size)
        self._compute = self.state.compute
        self._pushes = SessionPushes(self.pushes, self._advance)
        self._answers = SendQueue(self.stream, self._finish)
        self._running: tuple[_QueuedStep, SessionStep] | None = None
        self._packing: asyncio.Task[None] | None = None  # packs a large output, whose step counts as running
        self._has_room = asyncio.Event()  # more steps may be read
        self._over: asyncio.Future[RemoteError | None] = asyncio.get_running_loop().create_future()
        self._end_after_step: RemoteError | None = None
        self._began_at = self._heard_at = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._tab = NO_TAB

    @property
    def quiet_since(self) -> float:
        return math.inf if self._running is not None else self._heard_at

    async def run(self) -> None:
        """Serve until the end. Raises RemoteError, which goes to the client."""
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
        """Send the client this error after the running step's answer, or after `_LAST_STEP_S`."""
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
        self._answers.close()
        self._pushes.close()
        self.state.tabs.close_tab(self._tab)
        self.state.choices.mark_ended(self.memory.client, self.opening.session_id)
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
                queued = _QueuedStep(_CLOSING, None)
            elif len(body) > admission.SMALL_BYTES:
                queued = await _read_large_step(self.state, self.coding, self.budget, body, is_first=False)
            else:
                request = self.coding.decode_step(body, limits=self.state.wire_limits, first=False)
                queued = _QueuedStep(request, request.hidden)
            del body
            request = queued.request
            if queued.hidden is not None and request.awaited is not None:
                self._replace_push(queued)
                continue
            is_step = queued.hidden is not None or request.awaited is not None
            is_open = is_step or request.start_from_position is not None
            if request.start_from_position is not None:
                self._retract_from(request.start_from_position)
            if not is_open:  # nobody needs the outputs that others have not pushed yet
                self.waiting = deque(each for each in self.waiting if not each.is_awaiting)
            elif not is_step:
                self._accept_receipt(request)
                continue
            while is_step and not has_room((each.num_bytes for each in self.waiting), _MAX_WAITING):
                self._has_room.clear()
                await self._has_room.wait()
            self.waiting.append(queued)
            self._advance()

    def _retract_from(self, position: int) -> None:
        """Drop the steps from `position` on that have not begun, but none before a step that reorders rows."""
        begin, dropped = self.position, list[_QueuedStep]()
        running = () if self._running is None else (self._running[0],)
        for queued in (*running, *self.waiting):
            if queued.is_dropped:
                continue
            if queued.request.hypo_ids is not None:
                dropped.clear()
            if queued.request.start_from_position is not None:
                begin = queued.request.start_from_position
            if begin >= position and queued.request.hypo_ids is None:
                dropped.append(queued)
            begin += queued.tokens
        for queued in dropped:
            queued.is_dropped = True
        if self._running is not None and self._running[0] in dropped:
            self._compute.retract(self._running[1])
        self._advance()

    def _replace_push(self, copy: _QueuedStep) -> None:
        """Give the client's own copy to the step that awaits this push, if one still does."""
        for queued in self.waiting:
            if queued.is_awaiting and queued.request.awaited == copy.request.awaited:
                queued.hidden, queued.num_bytes = copy.hidden, queued.num_bytes + copy.num_bytes
                self._advance()
                return
        self.budget.release(copy.num_bytes)

    def _advance(self) -> None:
        """Begin the next step if none runs and there is room for its answer."""
        unsent = self._answers.waiting
        while self._running is None and self._answers.has_room(_MAX_ANSWERS) and not self._over.done():
            if self._end_after_step is not None:
                if not unsent:
                    self._finish(self._end_after_step)
                return
            if not self.waiting:
                return
            queued = self.waiting[0]
            awaited = queued.request.awaited
            if queued.hidden is None and not queued.is_dropped:
                if awaited is None:  # the closing message
                    if not unsent:
                        self._finish()
                    return
                pushed = self._pushes.pop(awaited)
                if pushed is None:
                    return
                queued.hidden, queued.was_pushed = pushed.hidden, True
            self.waiting.popleft()
            self._has_room.set()
            if awaited is not None:
                self._pushes.drop_until(awaited.number)
            try:
                if queued.is_dropped:
                    self._apply_extras(queued.request)
                    self._drop(queued)
                else:
                    assert queued.hidden is not None
                    self._begin(queued, queued.hidden)
            except RemoteError as error:
                self._finish(error)

    def _apply_extras(self, request: StepRequest) -> None:
        """Accept the receipt and the links for pushes that a step may carry. Raises RemoteError."""
        self._accept_receipt(request)
        if request.push_to is not None or request.pushed_by is not None:
            self._pushes.follow(request)

    def _accept_receipt(self, request: StepRequest) -> None:
        if request.receipt is not None:
            self.state.tabs.accept(self._tab, request.receipt)

    def _drop(self, queued: _QueuedStep) -> None:
        """Answer a step that was retracted."""
        nothing = torch.empty((self.memory.rows, 0, self.state.blocks.hidden_size))
        timing = self._timing(queued.request)
        self._send(queued, StepReply(nothing, timing, self._can_push, is_dropped=True, takes_ahead=TAKES_AHEAD))

    def _begin(self, queued: _QueuedStep, hidden: Tensor) -> None:
        """Submit a step to the step loop. Raises RemoteError."""
        request, memory = queued.request, self.memory
        start = _checked_start(request, hidden, memory, self.position, self.opening.max_length)
        self._apply_extras(request)
        now = time.monotonic()
        memory.is_spare = request.is_spare  # the first step that the client sends itself makes the session a full one
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
            on_done=self._on_done,
        )
        self._compute.submit(step)
        self._running = queued, step

    def _on_done(self, step: SessionStep, error: PotluckError | None) -> None:
        """Answer a finished step; called in the event loop."""
        if error is RETRACTED and self._running is not None:
            queued, self._running = self._running[0], None
            self.position = min(self.position, step.start)
            self._drop(queued)
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

    async def _answer_packed(self, queued: _QueuedStep, step: SessionStep, output: Tensor) -> None:
        try:
            self._answer(queued, step, *await asyncio.to_thread(pack, output))
        except Exception:
            log.exception("an answer cannot be packed")
            self._finish(RemoteError(Code.INTERNAL, "the answer cannot be packed"))

    def _answer(self, queued: _QueuedStep, step: SessionStep, output: Tensor, packed: Tensor | None) -> None:
        """Push the output to the next server, which may be waiting for it, and answer.

        Both get the dtype of the input, so that the next server computes with the numbers that the client would send.
        """
        request, pusher, was_pushed = queued.request, self._pushes.pusher, False
        if request.push_number is not None and pusher is not None:
            was_pushed = pusher.push(request.push_number, output.to(step.hidden.dtype), packed)
        self._running = None
        state, now = self.state, time.monotonic()
        self.position = step.start + step.tokens
        if step.chosen or state.choices.kept:
            state.choices.record(self.memory.client, self.opening.session_id, step)
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
            input_digest=digest_of(queued.hidden) if queued.was_pushed and queued.hidden is not None else None,
            packed=() if packed is None else (packed,),
            takes_ahead=TAKES_AHEAD,
        )
        self._send(queued, reply)
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

    def _send(self, queued: _QueuedStep, reply: StepReply) -> None:
        """Send an answer after those before it, and release its step's bytes once it has left."""
        pieces = self.coding.encode_step_reply(reply)
        try:
            if self._answers.send(pieces, partial(self._on_left, queued)) and queued.num_bytes:
                self.budget.release(queued.num_bytes)
        except RemoteError:
            self._finish()

    def _on_left(self, queued: _QueuedStep) -> None:
        """Go on after an answer that had to wait has left."""
        self.budget.release(queued.num_bytes)
        self._advance()

    def _watch(self) -> None:
        """End the session if it is too old or has been silent for too long; otherwise check again later."""
        limits, now = self.state.limits, time.monotonic()
        if self._running is not None or self._answers.waiting:
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
        """End the session with an error, or without a word."""
        if not self._over.done():
            self._over.set_result(error)


async def _read_large_step(
    state: Service, coding: SessionCoding, budget: StreamBudget, body: bytes, *, is_first: bool
) -> _QueuedStep:
    """Decode a message once its person's budget has room for it. Raises RemoteError."""
    num_bytes = await budget.reserve(len(body), timeout_s=state.limits.request_timeout_s)
    decode = partial(coding.decode_step, body, limits=state.wire_limits, first=is_first)
    request = await in_thread_if_large(len(body), decode)
    return _QueuedStep(request, request.hidden, num_bytes)


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
