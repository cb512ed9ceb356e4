"""Runs stateless forward and backward calls in a thread, piece by piece, beside the steps of sessions.

On Linux the thread has the lowest priority (nice 19), so that a decode step takes the processor from it at once instead
of waiting for a piece: one block's backward over one row of 128 tokens takes as long as ten decode steps, and cannot be
cut further.

The user's setting `threads` bounds what each of the two threads computes with. While sessions are open this one uses a
single CPU thread: at most one more than the user allowed, and only when nobody else wants the processor.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from potluck_control.launch_spec import ServingLimits

from potluck.errors import PotluckError
from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Timing
from potluck_engine.compute.call_scheduler import Call, CallScheduler, Pieces, Priority
from potluck_engine.compute.duty_cycle import DutyCycle
from potluck_engine.compute.failures import LOST, IsLost, never_lost, refusal_of
from potluck_engine.compute.turns import Shares, equal_shares

_LOWEST_NICE = 19
_RETRY_AFTER_MIN_S, _RETRY_AFTER_MAX_S = 0.1, 30.0
_TPS_SMOOTHING = 0.1  # weight of the newest call in the moving average of tokens a second
_LEAVING = RemoteError(Code.DRAINING, "this engine is leaving")


@dataclass(frozen=True, slots=True)
class Computed:
    """The result of a call and the time it took."""

    value: Any
    timing: Timing


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    call: Call
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class CallThread:
    """The thread and its queue; `start()` before the first `run()`, `stop()` once.

    Args:
        is_shared: returns whether sessions compute at the same time.
    """

    def __init__(
        self,
        limits: ServingLimits,
        *,
        threads: int,
        is_shared: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
        shares: Shares = equal_shares,
        is_lost: IsLost = never_lost,
    ) -> None:
        self._scheduler = CallScheduler(
            max_queued_jobs=limits.max_queued_jobs, max_queued_tokens=limits.max_queued_tokens, shares=shares
        )
        self._threads = threads
        self._is_shared = is_shared
        self._is_lost = is_lost
        self._clock = clock
        self._lock = threading.Lock()
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._waiting: dict[int, _Waiting] = {}  # id(call) -> who waits for it
        self._thread = threading.Thread(target=self._work, name="calls", daemon=True)
        self._stopping = False
        self._tps = 0.0
        self.gate: AbstractContextManager[object] = nullcontext()  # held while a piece runs
        self.throttle = DutyCycle()
        self.forward_tokens = 0  # of successful calls
        self.backward_tokens = 0

    @property
    def queued_tokens(self) -> int:
        return self._scheduler.queued_tokens

    def start(self) -> None:
        self._thread.start()

    async def run(
        self, priority: Priority, pieces: Pieces, *, client: PersonId, tokens: int, timeout_s: float
    ) -> Computed:
        """Run all pieces; cancelling it drops the pieces that have not begun.

        Raises:
            RemoteError: BUSY if the queue is full or `timeout_s` passed, DRAINING after `stop()`, NO_MEMORY, INTERNAL,
                or whatever code the pieces raise.
        """
        loop = asyncio.get_running_loop()
        call = Call(priority, client, pieces, tokens, submitted_at=self._clock())
        future: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            if self._stopping:
                raise _LEAVING
            self._scheduler.admit(call, retry_after_s=self._retry_after_s())
            self._waiting[id(call)] = _Waiting(call, loop, future)
        self._wake.put(None)
        deadline = loop.call_later(timeout_s, self._give_up, call, future, timeout_s)
        try:
            value = await future
        except asyncio.CancelledError:
            self._drop(call)
            raise
        finally:
            deadline.cancel()
        queued_s = self._clock() - call.submitted_at - call.compute_s
        return Computed(value, Timing(queue_ms=max(queued_s, 0.0) * 1e3, compute_ms=call.compute_s * 1e3))

    async def stop(self) -> None:
        """Refuse what waits, let the running piece end, join the thread."""
        with self._lock:
            self._stopping = True
            waiting = list(self._waiting.values())
        for each in waiting:
            self._settle(each.call, error=_LEAVING)
            self._drop(each.call)
        self._wake.put(None)
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)
        for each in waiting:
            each.call.running = None  # what it keeps between pieces refers to weights, which are about to be freed

    def _give_up(self, call: Call, future: asyncio.Future[Any], timeout_s: float) -> None:
        self._drop(call)
        if not future.done():
            after_s = self._retry_after_s()
            future.set_exception(RemoteError(Code.BUSY, f"not done within {timeout_s:g} s", retry_after_s=after_s))

    def _drop(self, call: Call) -> None:
        with self._lock:
            call.is_cancelled = True
            self._waiting.pop(id(call), None)
            self._scheduler.discard(call)

    def _retry_after_s(self) -> float:
        wait_s = self._scheduler.queued_tokens / self._tps if self._tps else _RETRY_AFTER_MIN_S
        return min(max(wait_s, _RETRY_AFTER_MIN_S), _RETRY_AFTER_MAX_S)

    def _work(self) -> None:
        _lower_priority()
        while True:
            self._wake.get()
            while (call := self._take()) is not None:
                torch.set_num_threads(1 if self._is_shared() else self._threads)
                begin = self._clock()
                self._advance(call)
                self.throttle.rest(self._clock() - begin)
            if self._stopping:
                return

    def _take(self) -> Call | None:
        with self._lock:
            return None if self._stopping else self._scheduler.take()

    def _advance(self, call: Call) -> None:
        """Run one piece and put the call back, or settle it."""
        begin = self._clock()
        if call.running is None:
            call.running = call.pieces()
        try:
            with self.gate:
                next(call.running)
        except StopIteration as done:
            call.compute_s += self._clock() - begin
            self._count(call)
            self._settle(call, value=done.value)
        except Exception as error:  # no error of a call may end the thread
            name = call.priority.name.lower()
            is_lost = self._is_lost(error)
            self._settle(call, error=LOST if is_lost else refusal_of(error, f"a {name} call of {call.tokens} tokens"))
        else:
            call.compute_s += self._clock() - begin
            self._put_back(call)

    def _count(self, call: Call) -> None:
        self._tps += _TPS_SMOOTHING * (call.tokens / max(call.compute_s, 1e-6) - self._tps)
        if call.priority is Priority.FORWARD:
            self.forward_tokens += call.tokens
        else:
            self.backward_tokens += call.tokens

    def _put_back(self, call: Call) -> None:
        with self._lock:
            if not call.is_cancelled and not self._stopping:
                self._scheduler.put_back(call)
                return
        call.running = None  # close the generator on the thread that ran it

    def _settle(self, call: Call, *, value: Any = None, error: PotluckError | None = None) -> None:
        with self._lock:
            waiting = self._waiting.pop(id(call), None)
        call.running = None
        if waiting is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                waiting.loop.call_soon_threadsafe(_resolve, waiting.future, value, error)


def _lower_priority() -> None:
    """Lower the priority of this thread only: on Linux threads have nice values of their own, and pass them on."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_NICE)


def _resolve(future: asyncio.Future[Any], value: Any, error: PotluckError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
