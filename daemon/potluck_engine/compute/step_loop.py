"""Runs the steps of sessions, turn by turn; `threads.py` calls the turns in a thread, tests call them as they like.

The asyncio side submits steps. A turn asks `Paging` for their memory and `StepScheduler` what to run, runs it, and
delivers all finished steps together. A batch that fails is tried again in halves, so that only steps that cannot be
computed alone are refused.

Forward and backward have a thread of their own, see `call_thread.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from potluck_control.engine_metrics import PageCounts, StepCounts
from potluck_control.launch_spec import ServingLimits

from potluck.errors import PotluckError
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.compute.duty_cycle import DutyCycle
from potluck_engine.compute.executor import SpanExecutor
from potluck_engine.compute.failures import LOST, IsLost, is_out_of_memory, never_lost, refusal_of
from potluck_engine.compute.step_scheduler import StepScheduler
from potluck_engine.compute.steps import Alone, Batch, CostMeter, Hold, StepCost
from potluck_engine.compute.turns import Shares, equal_shares
from potluck_engine.memory.paging import Admitted, Paging
from potluck_engine.memory.session_memory import SessionMemory, SessionStep

log = logging.getLogger(__name__)

T = TypeVar("T")
Outcome = tuple[SessionStep, PotluckError | None]
_Part = tuple[SessionStep, int]

_EXPIRY_S = 0.5  # interval of looking for expired steps
_LEAVING = RemoteError(Code.DRAINING, "this engine is leaving")


@dataclass(frozen=True, slots=True)
class Stage:
    """What the step loop works with while a span is served."""

    executor: SpanExecutor
    paging: Paging
    gate: AbstractContextManager[object]  # held while computing, so that calls don't compute at that time


def tell(outcomes: list[Outcome]) -> None:
    """Tell sessions how their steps ended."""
    for step, error in outcomes:
        if not step.is_cancelled:
            step.on_done(step, error)


class StepLoop:
    """The queue of steps and what is done with it. Steps wait until `perform()` gives it a span.

    Any thread may submit, close and command; one thread calls `turn`.

    Attributes:
        deliver: called in a turn with what ended in it, and by `refuse`.
        wake: called when a turn has something new to do.
    """

    def __init__(
        self,
        limits: ServingLimits,
        *,
        clock: Callable[[], float] = time.monotonic,
        shares: Shares = equal_shares,
        is_lost: IsLost = never_lost,
    ) -> None:
        self.counts = StepCounts()
        self.page_counts = PageCounts()
        self.throttle = DutyCycle()
        self.deliver: Callable[[list[Outcome]], None] = tell
        self.wake: Callable[[], None] = _nothing
        self.num_waiting_for_pages = 0
        self._scheduler = StepScheduler(
            max_queued_jobs=limits.max_queued_jobs,
            max_queued_tokens=limits.max_queued_tokens,
            max_step_tokens=limits.piece_tokens,
            shares=shares,
        )
        self._is_lost = is_lost
        self._clock = clock
        self._lock = threading.Lock()  # for the scheduler
        self._commands: deque[Callable[[], None]] = deque()
        self._stage: Stage | None = None
        self._meter = CostMeter()
        self._cost = StepCost()
        self._expired_at = 0.0
        self._stopping = False

    @property
    def queued_steps(self) -> int:
        return len(self._scheduler)

    @property
    def queued_tokens(self) -> int:
        return self._scheduler.queued_tokens

    @property
    def has_sessions(self) -> bool:
        """True if any session has a step or memory here."""
        return bool(self._stage is not None and self._stage.paging.admission.holders)

    @property
    def is_over(self) -> bool:
        """True if nothing is left to do after `refuse`."""
        return self._stopping and not self._commands

    async def run(self, work: Callable[[], T]) -> T:
        """Call `work` in the next turn. Raises its errors, and DRAINING after `refuse`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def call() -> None:
            try:
                outcome = functools.partial(_set_result, future, work())
            except BaseException as error:  # the caller gets every error
                outcome = functools.partial(_set_exception, future, error)
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(outcome)

        if self._stopping:
            raise _LEAVING
        self.command(call)
        return await future

    async def perform(self, stage: Stage | None) -> None:
        """Serve with these blocks and pages from now on; None lets all steps wait."""

        def change() -> None:
            self._stage = stage
            self.page_counts = PageCounts() if stage is None else stage.paging.counts()

        await self.run(change)

    def learn(self, tokens: int, seconds: float) -> None:
        """Take the measured time of a step into account before the first real one."""
        self._meter.add(tokens, seconds)
        self._cost = self._meter.cost()

    @property
    def cost(self) -> StepCost:
        """The cost of steps through the whole span, from recent ones."""
        return self._cost

    def scale_costs(self, factor: float) -> None:
        """Expect steps to take `factor` times as long from now on; for the thread itself."""
        self._meter.scale(factor)
        self._cost = self._meter.cost()

    def submit(self, step: SessionStep) -> None:
        """Queue a step. `step.on_done` is called when it is over, unless it is cancelled before.

        Raises:
            RemoteError: BUSY, or DRAINING after `refuse()`.
        """
        with self._lock:
            if self._stopping:
                raise _LEAVING
            is_news = self._scheduler.add(step, step.submitted_at, self._cost)
        if is_news:
            self.wake()

    def close(self, memory: SessionMemory, step: SessionStep | None) -> None:
        """Free the memory of a session, and drop the step that it waits for."""
        if step is not None:
            with self._lock:
                step.is_cancelled = True
                self._scheduler.discard(step)
        self.command(lambda: self._close(memory))

    def refuse(self) -> None:
        """Refuse what waits and what comes from now on."""
        with self._lock:
            self._stopping = True
            waiting = self._scheduler.expired(float("inf"))
        self._deliver([(step, _LEAVING) for step in waiting if isinstance(step, SessionStep)])
        self.wake()

    def command(self, command: Callable[[], None]) -> None:
        """Call `command` in the next turn."""
        self._commands.append(command)
        self.wake()

    def turn(self, now: float) -> float | None:
        """Do one thing. Return how many seconds nothing more is to be done; None until `wake` is called."""
        while self._commands:
            self._commands.popleft()()
        stage = self._stage
        if stage is None or self._stopping:
            return None
        self._expire(stage, now)
        self._admit(stage, now)
        with self._lock:
            action = self._scheduler.next(now, self._cost)
        if action is None:
            return self._until_something_changes(stage, now)
        if isinstance(action, Hold):
            return action.until - now
        self._act(stage, action)
        return 0.0

    def _expire(self, stage: Stage, now: float) -> None:
        if now - self._expired_at < _EXPIRY_S:
            return
        self._expired_at = now
        with self._lock:
            late = [step for step in self._scheduler.expired(now) if isinstance(step, SessionStep)]
        for step in late:
            stage.paging.withdraw(step.memory)
            stage.paging.finished(step, now, ok=False)
        busy = RemoteError(Code.BUSY, "not done in time", retry_after_s=self._scheduler.retry_after_s(self._cost))
        self._deliver([(step, busy) for step in late])

    def _admit(self, stage: Stage, now: float) -> None:
        """Give memory to the steps that arrived and to those that waited for it."""
        with self._lock:
            arrived = self._scheduler.arrived()
        if not arrived and not stage.paging.admission.num_waiting:
            return
        admitted = Admitted()
        for step in arrived:
            assert isinstance(step, SessionStep)
            stage.paging.ask(step, admitted)
        stage.paging.settle(now, admitted)
        over: list[Outcome] = list(admitted.refused)
        with self._lock:
            for step in admitted.ready:
                if step.left > 0:
                    self._scheduler.make_ready(step)
                else:  # nothing to compute: an empty step, or one that a kept beginning answers completely
                    over.append((step, None))
            for step, _ in over:
                self._scheduler.discard(step)
        self._settle(stage, over, now)

    def _until_something_changes(self, stage: Stage, now: float) -> float | None:
        with self._lock:
            deadline = self._scheduler.earliest_deadline
        times = [at for at in (deadline, stage.paging.wake_at(now)) if at is not None]
        return max(min(times) - now, 0.001) if times else None

    def _act(self, stage: Stage, action: Batch | Alone) -> None:
        parts = action.parts if isinstance(action, Batch) else (action.part,)
        mine = [(part.job, part.count) for part in parts if isinstance(part.job, SessionStep)]
        begin = self._clock()
        with stage.gate:
            failed = self._run(stage, mine) if isinstance(action, Batch) else self._run_alone(stage, *mine[0])
        now = self._clock()
        tokens, seconds = sum(part.total for part in parts), now - begin
        if isinstance(action, Batch) and not failed and not stage.executor.has_set_up:
            self._meter.add(tokens, seconds)
            self._cost = self._meter.cost()
        self._count(mine, seconds)
        over: list[Outcome] = list(failed.items())
        with self._lock:
            for part in parts:
                assert isinstance(part.job, SessionStep)
                if part.job in failed:
                    self._scheduler.discard(part.job)
                elif self._scheduler.advance(part, now):
                    over.append((part.job, None))
        self._settle(stage, over, now)
        self.throttle.rest(seconds)

    def _count(self, parts: Sequence[_Part], seconds: float) -> None:
        self.counts.add_step(sum(step.rows for step, _ in parts), seconds)
        for step, count in parts:
            step.compute_s += seconds
            if step.is_decode:
                self.counts.decode_tokens += step.rows * count
            else:
                self.counts.prefill_tokens += step.rows * count

    def _run(self, stage: Stage, parts: Sequence[_Part]) -> dict[SessionStep, PotluckError]:
        """Run parts together, and again in halves if that fails. Return the steps that fail alone, with the error."""
        if not parts:
            return {}
        try:
            stage.executor.run(parts)
            return {}
        except Exception as error:  # the edge of the computation
            if self._is_lost(error):
                return dict.fromkeys((step for step, _ in parts), LOST)
            halves = _halves(parts, is_out_of_memory(error))
            if not halves:
                return {parts[0][0]: refusal_of(error, f"a step of {_tokens_of(parts)} tokens")}
            if is_out_of_memory(error):
                log.warning("out of memory in a step of %d tokens, which is tried in halves", _tokens_of(parts))
                stage.paging.drop_prefixes()
        failed: dict[SessionStep, PotluckError] = {}
        for half in halves:
            failed |= self._run(stage, [part for part in half if part[0] not in failed])
        return failed

    def _run_alone(self, stage: Stage, step: SessionStep, count: int) -> dict[SessionStep, PotluckError]:
        try:
            stage.executor.run_alone(step, count)
            return {}
        except Exception as error:  # the edge of the computation
            if self._is_lost(error):
                return {step: LOST}
            return {step: refusal_of(error, f"a step of {count * step.rows} tokens, alone")}

    def _settle(self, stage: Stage, outcomes: list[Outcome], now: float) -> None:
        """Mark the sessions of finished steps as idle, and deliver the outcomes."""
        for step, error in outcomes:
            stage.paging.finished(step, now, ok=error is None)
        self.page_counts = stage.paging.counts()
        self.num_waiting_for_pages = stage.paging.admission.num_waiting
        self._deliver(outcomes)

    def _close(self, memory: SessionMemory) -> None:
        with self._lock:
            self._scheduler.forget(memory)
        if self._stage is not None:
            self._stage.paging.close(memory)
            self.page_counts = self._stage.paging.counts()

    def _deliver(self, outcomes: list[Outcome]) -> None:
        for _, error in outcomes:
            if isinstance(error, RemoteError):
                self.counts.refusals[error.code] += 1
        if outcomes:
            self.deliver(outcomes)


def _nothing() -> None:
    pass


def _set_result(future: asyncio.Future[T], value: T) -> None:
    if not future.done():
        future.set_result(value)


def _set_exception(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _halves(parts: Sequence[_Part], is_out_of_memory: bool) -> list[Sequence[_Part]]:
    """Return two halves; a single part is cut between its tokens if memory was short. Empty if it cannot be halved."""
    if len(parts) > 1:
        middle = len(parts) // 2
        return [parts[:middle], parts[middle:]]
    step, count = parts[0]
    if not is_out_of_memory or count < 2:
        return []
    return [[(step, count // 2)], [(step, count - count // 2)]]


def _tokens_of(parts: Sequence[_Part]) -> int:
    return sum(step.rows * count for step, count in parts)
