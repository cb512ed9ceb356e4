"""Groups the two computing threads of an engine: one for the steps of sessions, one for stateless calls."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from potluck_control.launch_spec import ServingLimits

from potluck_engine.compute.call_thread import CallThread
from potluck_engine.compute.failures import IsLost, never_lost
from potluck_engine.compute.step_loop import Outcome, StepLoop, tell
from potluck_engine.compute.turns import Shares, equal_shares

log = logging.getLogger(__name__)

_AFTER_ERROR_S = 0.5


class StepThread:
    """Calls the turns of a step loop in a thread: `start()` first, `stop()` once."""

    def __init__(self, steps: StepLoop, *, threads: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._steps = steps
        self._num_threads = threads
        self._clock = clock
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="compute", daemon=True)

    def start(self) -> None:
        loop = asyncio.get_running_loop()

        def deliver(outcomes: list[Outcome]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(tell, outcomes)

        self._steps.deliver = deliver
        self._steps.wake = lambda: self._wake.put(None)
        self._thread.start()

    async def stop(self) -> None:
        """Refuse what waits, let the running step end, join the thread."""
        self._steps.refuse()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        torch.set_num_threads(self._num_threads)
        while True:
            try:
                wait_s = self._steps.turn(self._clock())
            except Exception:  # no unforeseen error may end the thread
                log.exception("an error in the compute thread")
                wait_s = _AFTER_ERROR_S
            if self._steps.is_over:
                return
            if wait_s != 0.0:
                self._sleep(wait_s)

    def _sleep(self, wait_s: float | None) -> None:
        """Sleep until something is submitted, or for `wait_s`."""
        try:
            self._wake.get(timeout=wait_s)
            while not self._wake.empty():
                self._wake.get_nowait()
        except queue.Empty:
            pass


@dataclass(frozen=True, slots=True)
class Threads:
    """The computing threads of one engine."""

    compute: StepLoop
    calls: CallThread
    steps: StepThread

    @classmethod
    def of(
        cls, limits: ServingLimits, *, threads: int, shares: Shares = equal_shares, is_lost: IsLost = never_lost
    ) -> Threads:
        """Make both threads, not started; both call `shares` for clients that compete."""
        compute = StepLoop(limits, shares=shares, is_lost=is_lost)
        calls = CallThread(
            limits, threads=threads, is_shared=lambda: compute.has_sessions, shares=shares, is_lost=is_lost
        )
        return cls(compute, calls, StepThread(compute, threads=threads))

    def start(self) -> None:
        self.steps.start()
        self.calls.start()

    def throttle(self, duty: float) -> None:
        """Compute in this share of the time."""
        self.compute.throttle.duty = self.calls.throttle.duty = duty

    async def stop(self) -> None:
        """Refuse what waits, let running pieces end, and join both threads."""
        await asyncio.gather(self.steps.stop(), self.calls.stop())
