"""Calls the turns of a step loop in two threads: one for the steps of sessions, one for stateless calls.

On Linux the second one has the lowest priority (nice 19), so that a decode step takes the processor from it at once
instead of waiting for a piece.

The user's setting `threads` bounds the CPU threads of each of the two. While sessions are open the second one uses a
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
from dataclasses import dataclass, field
from functools import partial

import torch
from potluck_control.processes.launch_spec import ServingLimits

from potluck_engine.compute.failures import DeviceWatch
from potluck_engine.compute.step_loop import StepLoop
from potluck_engine.compute.turns import Shares, equal_shares

log = logging.getLogger(__name__)

_LOWEST_NICE = 19
_AFTER_ERROR_S = 0.5
_MAX_REST_S = 1.0  # bounds the rest after one turn, so that the thread can stop soon


def rest_s(duty: float, worked_s: float) -> float:
    """Return how long to rest after a turn's results are delivered, so that work takes this share of the time."""
    return min(worked_s * (1.0 / duty - 1.0), _MAX_REST_S)


@dataclass(slots=True)
class _Worker:
    """A thread that calls turns until the step loop stops.

    Attributes:
        turn: takes the time, and returns for how many seconds there is nothing more to do; None: until it is woken.
        is_of_calls: whether it computes calls, which give way to the steps of sessions.
    """

    compute: StepLoop
    turn: Callable[[float], float | None]
    threads: int
    is_of_calls: bool
    _news: queue.SimpleQueue[None] = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None

    def start(self) -> Callable[[], None]:
        """Start the thread, and return a function that wakes it."""
        self._thread = threading.Thread(target=self._work, name="calls" if self.is_of_calls else "compute", daemon=True)
        self._thread.start()
        return partial(self._news.put, None)

    async def join(self) -> None:
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        if self.is_of_calls and sys.platform == "linux":  # where threads have priorities of their own
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_NICE)
        compute, now_threads = self.compute, 0
        while not compute.is_stopping or (compute.commands and not self.is_of_calls):
            try:
                before, now_threads = now_threads, self.threads
                if self.is_of_calls and compute.has_sessions:
                    now_threads = 1
                if now_threads != before:  # the call clears caches of kernels, also of running ones
                    torch.set_num_threads(now_threads)
                begin = time.monotonic()
                wait_s = self.turn(begin)
                if compute.duty < 1.0:
                    time.sleep(rest_s(compute.duty, time.monotonic() - begin))
                if wait_s != 0.0 and not compute.is_stopping:
                    with contextlib.suppress(queue.Empty):
                        self._news.get(timeout=wait_s)
                        while not self._news.empty():
                            self._news.get_nowait()
            except Exception as error:  # an unforeseen error must not end the thread
                log.exception("an error in a computing thread")
                compute.device.is_lost(error)
                time.sleep(_AFTER_ERROR_S)


@dataclass(frozen=True, slots=True)
class Threads:
    """The computing threads of one engine."""

    compute: StepLoop
    _workers: tuple[_Worker, _Worker]

    @classmethod
    def of(
        cls,
        limits: ServingLimits,
        *,
        threads: int,
        clock: Callable[[], float] = time.monotonic,
        shares: Shares = equal_shares,
        device: DeviceWatch | None = None,
    ) -> Threads:
        """Return both threads, not started. The scheduler calls `shares` for clients that compete."""
        compute = StepLoop(limits, clock=clock, shares=shares, device=device)
        steps = _Worker(compute, compute.turn, threads, is_of_calls=False)
        return cls(compute, (steps, _Worker(compute, compute.turn_of_calls, threads, is_of_calls=True)))

    def start(self) -> None:
        """Start both threads. The ends of jobs are reported in the running event loop."""
        compute = self.compute
        compute.call_soon = asyncio.get_running_loop().call_soon_threadsafe
        compute.wake, compute.wake_calls = (worker.start() for worker in self._workers)

    async def stop(self) -> None:
        """Refuse all waiting jobs, let running pieces end, and join both threads."""
        self.compute.refuse()
        await asyncio.gather(*(worker.join() for worker in self._workers))
