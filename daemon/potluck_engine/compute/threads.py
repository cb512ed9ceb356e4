"""Calls the turns of a step loop in two threads: one for the steps of sessions, one for stateless calls.

On Linux the second one has the lowest priority (nice 19), so that a decode step takes the processor from it at once
instead of waiting for a piece.

The user's setting `threads` bounds what each of the two computes with. While sessions are open the second one uses a
single CPU thread: at most one more than the user allowed, and only when nobody else wants the processor.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from potluck_control.launch_spec import ServingLimits

from potluck_engine.compute.duty_cycle import DutyCycle
from potluck_engine.compute.failures import IsLost, never_lost
from potluck_engine.compute.step_loop import Outcome, StepLoop, tell
from potluck_engine.compute.turns import Shares, equal_shares

log = logging.getLogger(__name__)

_LOWEST_NICE = 19
_AFTER_ERROR_S = 0.5


class _Worker:
    """A thread that calls turns until `is_over`.

    Args:
        turn: given the time; returns how many seconds nothing more is to be done, None until `wake`.
        num_threads: returns with how many CPU threads the next turn may compute.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[float], float | None],
        is_over: Callable[[], bool],
        throttle: DutyCycle,
        num_threads: Callable[[], int],
        *,
        nice: int | None = None,
    ) -> None:
        self._turn = turn
        self._is_over = is_over
        self._throttle = throttle
        self._num_threads = num_threads
        self._nice = nice
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        self._wake.put(None)

    async def join(self) -> None:
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        if self._nice is not None:
            _set_priority(self._nice)
        now_threads = 0
        while not self._is_over():
            try:
                before, now_threads = now_threads, self._num_threads()
                if now_threads != before:  # it clears caches of kernels, also of those that run now
                    torch.set_num_threads(now_threads)
                begin = time.monotonic()
                wait_s = self._turn(begin)
                self._throttle.rest(time.monotonic() - begin)
                if wait_s != 0.0 and not self._is_over():
                    with contextlib.suppress(queue.Empty):
                        self._wake.get(timeout=wait_s)
                        while not self._wake.empty():
                            self._wake.get_nowait()
            except Exception:  # no unforeseen error may end the thread
                log.exception("an error in a computing thread")
                time.sleep(_AFTER_ERROR_S)


@dataclass(frozen=True, slots=True)
class Threads:
    """The computing threads of one engine."""

    compute: StepLoop
    _workers: tuple[_Worker, _Worker]

    @classmethod
    def of(
        cls, limits: ServingLimits, *, threads: int, shares: Shares = equal_shares, is_lost: IsLost = never_lost
    ) -> Threads:
        """Make both threads, not started; the scheduler calls `shares` for clients that compete."""
        compute = StepLoop(limits, shares=shares, is_lost=is_lost)
        throttle = compute.throttle
        steps = _Worker("compute", compute.turn, lambda: compute.is_over, throttle, lambda: threads)
        beside = _Worker(
            "calls",
            compute.turn_of_calls,
            lambda: compute.is_stopping,
            throttle,
            lambda: 1 if compute.has_sessions else threads,
            nice=_LOWEST_NICE,
        )
        return cls(compute, (steps, beside))

    def start(self) -> None:
        """Begin; whoever submitted a job is told in the running event loop how it ended."""
        loop, compute = asyncio.get_running_loop(), self.compute

        def deliver(outcomes: list[Outcome]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(tell, outcomes)

        compute.deliver = deliver
        compute.wake, compute.wake_calls = (worker.wake for worker in self._workers)
        for worker in self._workers:
            worker.start()

    def throttle(self, duty: float) -> None:
        """Compute in this share of the time."""
        self.compute.throttle.duty = duty

    async def stop(self) -> None:
        """Refuse what waits, let running pieces end, and join both threads."""
        self.compute.refuse()
        await asyncio.gather(*(worker.join() for worker in self._workers))


def _set_priority(nice: int) -> None:
    """Set the priority of this thread only: on Linux threads have nice values of their own, and pass them on."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
