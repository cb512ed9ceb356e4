"""Runs steps of sessions and stateless calls, turn by turn; `threads.py` calls the turns in two threads.

The asyncio side submits jobs. A turn gets memory for steps from `Paging`, gets the next batch from `StepScheduler`,
runs it, and delivers all finished steps together. A batch that fails is tried again in halves, so that only steps that
cannot be computed alone are refused. Calls have turns of their own, because one block's backward over one row of 128
tokens takes as long as ten decode steps and cannot be cut further. Tests call the turns themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from potluck_control.processes.engine_report import STEP_TIME_BOUNDS_S, PageCounts
from potluck_control.processes.launch_spec import ServingLimits

from potluck.blocks.cache.pages import PAGE_TOKENS
from potluck.errors import PotluckError
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.compute.executor import SpanExecutor
from potluck_engine.compute.failures import DeviceWatch, is_out_of_memory, refusal_of
from potluck_engine.compute.speed import RECENT_WEIGHT, StepCounts
from potluck_engine.compute.step_scheduler import StepScheduler
from potluck_engine.compute.steps import Batch, Call, CostMeter, Hold, StepCost, StepJob, longest_piece_s
from potluck_engine.compute.turns import Shares, equal_shares
from potluck_engine.memory.paging import Admitted, Paging
from potluck_engine.memory.session_memory import SessionMemory, SessionStep

log = logging.getLogger(__name__)

T = TypeVar("T")
Outcome = tuple[StepJob, PotluckError | None]
_Part = tuple[SessionStep, int]

_ANSWERS_S = 0.001  # lets the answers of a step leave
RETRACTED = PotluckError("the step was retracted before it began")


@dataclass(frozen=True, slots=True)
class Stage:
    """The executor, the pages and the gate with which the step loop serves a span."""

    executor: SpanExecutor
    paging: Paging
    gate: AbstractContextManager[object]  # held while computing; keeps steps and calls apart where only one may compute


def deliver(outcomes: list[Outcome]) -> None:
    """Call the jobs' callbacks. A callback that raises is called again with an error."""
    for job, error in outcomes:
        if job.is_cancelled:
            continue
        try:
            job.on_done(job, error)
        except Exception:  # the other sessions still get their answers
            log.exception("an answer cannot be given")
            with contextlib.suppress(Exception):
                job.on_done(job, RemoteError(Code.INTERNAL, "the answer cannot be given"))


class StepLoop:
    """The queue of jobs and their computation. Jobs wait until `serve()` sets a stage.

    Any thread may submit, drop, close and command; one thread calls `turn`, and one `turn_of_calls`.

    Attributes:
        device: judges errors that may have lost the device.
        call_soon: runs a function with one argument in the event loop of those who submit jobs.
        wake: called when `turn` has something new to do.
        wake_calls: called when `turn_of_calls` has something new to do.
        commands: functions that the next turn calls first.
        duty: the share of the time in which to compute, because of a person at the computer, heat or a power cap.
        free_tokens: how many more tokens through the whole span there is room for.
    """

    def __init__(
        self,
        limits: ServingLimits,
        *,
        clock: Callable[[], float] = time.monotonic,
        shares: Shares = equal_shares,
        device: DeviceWatch | None = None,
    ) -> None:
        self.device = device or DeviceWatch(torch.device("cpu"))
        self.counts = StepCounts()
        self.page_counts = PageCounts()
        self.duty = 1.0
        self.call_soon: Callable[..., object] = _at_once
        self.wake: Callable[[], None] = _nothing
        self.wake_calls: Callable[[], None] = _nothing
        self.free_tokens = 0
        self.num_waiting_for_pages = 0
        self._scheduler = StepScheduler(
            max_queued_jobs=limits.max_queued_jobs,
            max_queued_tokens=limits.max_queued_tokens,
            max_step_tokens=limits.piece_tokens,
            piece_s=longest_piece_s(self.device.kind),
            shares=shares,
        )
        self._clock = clock
        self._lock = threading.Lock()  # guards the scheduler
        self.commands: deque[Callable[[], None]] = deque()
        self._stage: Stage | None = None
        self._meter = CostMeter()
        self._cost = StepCost()  # the one that the scheduler last used
        self.is_stopping = False

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

    async def run(self, work: Callable[[], T]) -> T:
        """Call `work` in the next turn. Raises its errors, and DRAINING after `refuse`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def call() -> None:
            value, error = None, None
            try:
                value = self.device.run(work)
            except BaseException as raised:  # the caller gets every error
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_resolve, future, value, error)

        if self.is_stopping:
            raise _leaving()
        self.command(call)
        return await future

    async def call(self, call: Call) -> Any:
        """Run a call and return its result; cancelling it drops the pieces that have not begun.

        Raises:
            RemoteError: as `submit`; BUSY after the call's deadline, NO_MEMORY, INTERNAL, or whatever the pieces raise.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        call.on_done = lambda done, error: _resolve(future, done.result, error)
        self.submit(call)
        try:
            return await future
        except asyncio.CancelledError:
            self.drop(call)
            raise

    async def serve(self, stage: Stage) -> None:
        """Serve with these blocks and pages from now on."""

        def change() -> None:
            self._stage = stage
            stage.executor.next_tokens = None  # it may use blocks that have left
            self._count_pages(stage)

        await self.run(change)
        self.wake_calls()

    def learn(self, tokens: int, seconds: float) -> None:
        """Use the measured time of a step before there are real ones."""
        self._meter.add(tokens, seconds)

    @property
    def cost(self) -> StepCost:
        """The cost of steps through the whole span, measured by recent ones."""
        return self._meter.cost()

    def scale_costs(self, factor: float) -> None:
        """Expect steps to take `factor` times as long from now on. For the computing thread only."""
        self._meter.scale(factor)

    def submit(self, job: StepJob) -> None:
        """Queue a job. `job.on_done` is called at its end, unless it is dropped before.

        Raises:
            RemoteError: BUSY, or DRAINING after `refuse()`.
        """
        with self._lock:
            if self.is_stopping:
                raise _leaving()
            is_news = self._scheduler.add(job, job.submitted_at, self._cost)
        if isinstance(job, Call):
            self.wake_calls()
        if is_news:
            self.wake()

    def drop(self, job: StepJob) -> None:
        """Forget a job; its running piece goes on to its end."""
        with self._lock:
            job.is_cancelled = True
            self._scheduler.discard(job)

    def retract(self, step: SessionStep) -> None:
        """End a step with `RETRACTED` in the next turn, unless some of it has been computed.

        The session may have been rolled back to the step's start. The step must not reorder rows.
        """
        self.command(lambda: self._retract(step))

    def close(self, memory: SessionMemory, step: SessionStep | None) -> None:
        """Free the memory of a session, and drop its waiting step."""
        if step is not None:
            self.drop(step)
        self.command(lambda: self._close(memory))

    def refuse(self) -> None:
        """Refuse all jobs that wait, and all that come from now on."""
        with self._lock:
            self.is_stopping = True
            waiting = self._scheduler.expired(float("inf"))
        for job in waiting:
            if isinstance(job, Call):
                job.pieces = None  # the generator refers to weights, which are about to be freed
        self._deliver([(job, _leaving()) for job in waiting])
        self.wake()
        self.wake_calls()

    def command(self, command: Callable[[], None]) -> None:
        """Call `command` in the next turn."""
        self.commands.append(command)
        self.wake()

    def turn(self, now: float) -> float | None:
        """Do one thing. Return for how many seconds there is nothing more to do; None: until `wake` is called."""
        while self.commands:
            self.commands.popleft()()
        if self.is_stopping:
            return None
        stage = self._stage
        if now >= self._scheduler.due_at:
            self._expire(stage, now)
        if stage is None:
            return self._idle_s(None, now)
        self._admit(stage, now)
        with self._lock:
            part = self._scheduler.sole_decode(now)
            if part is None:
                self._cost = self._meter.cost()
            action = self._scheduler.next(now, self._cost) if part is None else Batch((part,))
        if action is None:
            if stage.executor.can_look_ahead:  # there is time until the rows are back
                stage.executor.look_ahead()
            return self._idle_s(stage, now)
        if isinstance(action, Hold):
            return action.until - now
        self._act(stage, action)
        if self._scheduler or self.commands:
            return 0.0
        return _ANSWERS_S if stage.executor.can_look_ahead else None

    def turn_of_calls(self, now: float) -> float | None:
        """Run one piece of a call. Return the same as `turn`."""
        stage = self._stage
        with self._lock:
            part = None if stage is None or self.is_stopping else self._scheduler.next_call()
        if part is None or stage is None:
            return None
        call = part.job
        assert isinstance(call, Call)
        error = None
        try:
            with stage.gate:
                is_over = call.run_piece()
        except Exception as raised:  # an error of a call must not end the thread
            error, is_over = self._refusal(raised, f"a call of {call.tokens} tokens"), True
        call.compute_s += self._clock() - now
        with self._lock:
            is_waited_for = call in self._scheduler
            if is_over:
                self._scheduler.discard(call)
        if is_over or not is_waited_for:
            call.pieces = None  # closes the generator on the thread that ran it
        if is_over and is_waited_for:
            self._deliver([(call, error)])
        return 0.0

    def _expire(self, stage: Stage | None, now: float) -> None:
        with self._lock:
            late = self._scheduler.expired(now)
        if not late:
            return
        busy = RemoteError(Code.BUSY, "not done in time", retry_after_s=self._scheduler.retry_after_s(self.cost))
        over: list[Outcome] = [(job, busy) for job in late]
        if stage is not None:
            for job in late:
                if isinstance(job, SessionStep):
                    stage.paging.withdraw(job.memory)
            self._settle(stage, over, now)
            self._count_pages(stage)
        self._deliver(over)

    def _admit(self, stage: Stage, now: float) -> None:
        """Give memory to steps that arrived and to steps that waited for it."""
        arrived: list[SessionStep] = []
        with self._lock:
            for step in self._scheduler.arrived():
                assert isinstance(step, SessionStep)
                if stage.paging.continues(step):
                    self._scheduler.make_ready(step)
                else:
                    arrived.append(step)
        if not arrived and not self.num_waiting_for_pages:
            return
        admitted = Admitted()
        try:
            for step in arrived:
                try:
                    if stage.paging.request_pages(step):
                        admitted.ready.append(step)
                except Exception as error:
                    admitted.refused.append((step, self._refusal(error, "the beginning of a step")))
            stage.paging.settle(now, admitted)
        finally:  # the other steps go on, whatever happened to one
            over: list[Outcome] = list(admitted.refused)
            with self._lock:
                for step in admitted.ready:
                    if step.left > 0:
                        self._scheduler.make_ready(step)
                    else:  # an empty step, or one that a kept beginning answers completely
                        over.append((step, None))
                for job, _ in over:
                    self._scheduler.discard(job)
            self._settle(stage, over, now)
            self._count_pages(stage)
            self._deliver(over)

    def _retract(self, step: SessionStep) -> None:
        with self._lock:
            if step not in self._scheduler or step.computed:
                return
            self._scheduler.discard(step)
        over: list[Outcome] = [(step, RETRACTED)]
        if self._stage is not None:
            self._stage.paging.withdraw(step.memory)
            self._settle(self._stage, over, self._clock())
            self._count_pages(self._stage)
        self._deliver(over)

    def _idle_s(self, stage: Stage | None, now: float) -> float | None:
        wake_at = None if stage is None else stage.paging.admission.wake_at(now)
        first = self._scheduler.due_at if wake_at is None else min(self._scheduler.due_at, wake_at)
        return max(first - now, 0.001) if self._scheduler and first < math.inf else None

    def _act(self, stage: Stage, batch: Batch) -> None:
        """Run a batch, and deliver its finished steps."""
        parts = batch.parts
        mine = [(part.job, part.count) for part in parts if isinstance(part.job, SessionStep)]
        begin = self._clock()
        with stage.gate:
            failed = self._run(stage, mine)
        now = self._clock()
        seconds = now - begin
        over: list[Outcome] = list(failed.items())
        with self._lock:
            for part in parts:
                job = part.job
                job.compute_s += seconds
                if job in failed:
                    self._scheduler.discard(job)
                elif self._scheduler.advance(part, now):
                    over.append((job, None))
        self._settle(stage, over, now)
        rows = tokens = 0
        counts = self.counts
        for step, count in mine:
            rows += step.rows
            tokens += step.rows * count
            if step.tokens <= 1:
                counts.decode_tokens += step.rows * count
            else:
                counts.prefill_tokens += step.rows * count
        counts.steps += 1
        counts.step_rows += rows
        counts.recent_rows += RECENT_WEIGHT * (rows - counts.recent_rows)
        counts.step_seconds += seconds
        counts.step_times[bisect_left(STEP_TIME_BOUNDS_S, seconds)] += 1
        self._deliver(over)
        if not failed and not mine[0][0].is_alone and not stage.executor.has_set_up:
            self._meter.add(tokens, seconds)

    def _run(self, stage: Stage, parts: Sequence[_Part]) -> dict[StepJob, PotluckError]:
        """Run parts together, and in halves if that fails. Return the steps that fail alone, with their errors."""
        failed: dict[StepJob, PotluckError] = {}
        groups = [parts]
        while groups:
            group = [part for part in groups.pop() if part[0] not in failed]
            if not group:
                continue
            try:
                stage.executor.run(group)
            except Exception as error:  # the edge of the computation
                tokens = sum(step.rows * count for step, count in group)
                halves = [] if self.device.is_lost(error) else _halves(group, is_out_of_memory(error))
                if not halves:
                    failed |= {step: self._refusal(error, f"a step of {tokens} tokens") for step, _ in group}
                elif is_out_of_memory(error):
                    log.warning("out of memory in a step of %d tokens, which is tried in halves", tokens)
                    stage.paging.drop_prefixes()
                    self._count_pages(stage)
                groups += reversed(halves)
        return failed

    def _refusal(self, error: Exception, what: str) -> PotluckError:
        if self.device.is_lost(error):
            return RemoteError(Code.DRAINING, "the GPU of this server failed; it comes back", retry_after_s=10.0)
        return refusal_of(error, what)

    def _settle(self, stage: Stage, outcomes: list[Outcome], now: float) -> None:
        """Mark the sessions of finished steps as idle, and keep their beginnings for later sessions."""
        for step, error in outcomes:
            if not isinstance(step, SessionStep):
                continue
            memory = step.memory
            memory.is_running, memory.used_at = False, now
            if error is not None:
                memory.chains = None
            elif step.chains is not None or memory.chains is not None:
                try:
                    stage.paging.keep_beginning(step)
                except Exception:  # the answers are there and must still be sent
                    log.exception("the beginning of a session cannot be kept")
                self._count_pages(stage)

    def _close(self, memory: SessionMemory) -> None:
        with self._lock:
            self._scheduler.forget(memory)
        if self._stage is not None:
            self._stage.paging.close(memory)
            self._count_pages(self._stage)

    def _count_pages(self, stage: Stage) -> None:
        """Publish the counts of pages for the asyncio side."""
        self.page_counts = stage.paging.counts()
        self.free_tokens = self.page_counts.free * PAGE_TOKENS // stage.paging.pages_per_token_page
        self.num_waiting_for_pages = stage.paging.admission.num_waiting

    def _deliver(self, outcomes: list[Outcome]) -> None:
        for _, error in outcomes:
            if isinstance(error, RemoteError):
                self.counts.refusals[error.code] += 1
        if outcomes:
            with contextlib.suppress(RuntimeError):  # the event loop is closed, and nobody waits any more
                self.call_soon(deliver, outcomes)


def _nothing() -> None:
    pass


def _at_once(call: Callable[[T], None], argument: T) -> None:
    call(argument)


def _leaving() -> RemoteError:
    return RemoteError(Code.DRAINING, "this engine is leaving")


def _resolve(future: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)


def _halves(parts: Sequence[_Part], is_out_of_memory: bool) -> list[Sequence[_Part]]:
    """Return two halves of some parts, or nothing if they cannot be divided.

    A single part is cut between its tokens if memory was short, but not if smaller pieces would change numbers.
    """
    if len(parts) > 1:
        middle = len(parts) // 2
        return [parts[:middle], parts[middle:]]
    step, count = parts[0]
    if not is_out_of_memory or count < 2 or step.is_alone:
        return []
    return [[(step, count // 2)], [(step, count - count // 2)]]
