"""The one thread that runs torch.

The asyncio side awaits `run()`; the thread asks the scheduler for the next piece and settles each job with one
`call_soon_threadsafe`. There and back costs 0.03 ms with uvloop (two shared cores, empty job).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from potluck.errors import PotluckError
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Timing
from potluck_daemon.engine.scheduler import Job, Pieces, Priority, Scheduler

log = logging.getLogger(__name__)

_RETRY_AFTER_MIN_S, _RETRY_AFTER_MAX_S = 0.1, 30.0
_TPS_SMOOTHING = 0.1  # weight of the newest job in the moving average of tokens a second


@dataclass(frozen=True, slots=True)
class Computed:
    """A job's result and what it cost."""

    value: Any
    timing: Timing


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    job: Job
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class ComputeThread:
    """Owns the scheduler; `start()` before the first `run()`, `stop()` once."""

    def __init__(self, scheduler: Scheduler, *, threads: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._scheduler = scheduler
        self._threads = threads
        self._clock = clock
        self._lock = threading.Lock()
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._waiting: dict[int, _Waiting] = {}  # id(job) -> who waits for it
        self._thread = threading.Thread(target=self._work, name="compute", daemon=True)
        self._stopping = False
        self._tps = 0.0
        self.done_tokens = 0  # of jobs that succeeded

    @property
    def queued_tokens(self) -> int:
        return self._scheduler.queued_tokens

    def start(self) -> None:
        self._thread.start()

    async def run(self, priority: Priority, pieces: Pieces, *, tokens: int, timeout_s: float) -> Computed:
        """Run all pieces; cancelling this call drops the pieces that have not begun.

        Raises:
            RemoteError: BUSY if the queue is full or `timeout_s` passed, DRAINING after `stop()`, NO_MEMORY, INTERNAL,
                or whatever code the pieces raise.
        """
        loop = asyncio.get_running_loop()
        job = Job(priority, pieces, tokens, submitted_at=self._clock())
        future: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            if self._stopping:
                raise RemoteError(Code.DRAINING, "this engine is leaving")
            self._scheduler.admit(job, retry_after_s=self._retry_after_s())
            self._waiting[id(job)] = _Waiting(job, loop, future)
        self._wake.put(None)
        deadline = loop.call_later(timeout_s, self._give_up, job, future, timeout_s)
        try:
            value = await future
        except asyncio.CancelledError:
            self._drop(job)
            raise
        finally:
            deadline.cancel()
        queued_s = self._clock() - job.submitted_at - job.compute_s
        return Computed(value, Timing(queue_ms=max(queued_s, 0.0) * 1e3, compute_ms=job.compute_s * 1e3))

    async def stop(self) -> None:
        """Refuse what waits, let the running piece end, join the thread."""
        with self._lock:
            self._stopping = True
            waiting = list(self._waiting.values())
        for each in waiting:
            self._settle(each.job, error=RemoteError(Code.DRAINING, "this engine is leaving"))
            self._drop(each.job)
        self._wake.put(None)
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)

    def _give_up(self, job: Job, future: asyncio.Future[Any], timeout_s: float) -> None:
        self._drop(job)
        if not future.done():
            after_s = self._retry_after_s()
            future.set_exception(RemoteError(Code.BUSY, f"not done within {timeout_s:g} s", retry_after_s=after_s))

    def _drop(self, job: Job) -> None:
        with self._lock:
            job.cancelled = True
            self._waiting.pop(id(job), None)
            self._scheduler.discard(job)

    def _retry_after_s(self) -> float:
        wait_s = self._scheduler.queued_tokens / self._tps if self._tps else _RETRY_AFTER_MIN_S
        return min(max(wait_s, _RETRY_AFTER_MIN_S), _RETRY_AFTER_MAX_S)

    def _work(self) -> None:
        torch.set_num_threads(self._threads)
        while True:
            self._wake.get()
            while (job := self._take()) is not None:
                self._advance(job)
            if self._stopping:
                return

    def _take(self) -> Job | None:
        with self._lock:
            return None if self._stopping else self._scheduler.take()

    def _advance(self, job: Job) -> None:
        """Run one piece and put the job back, or settle it."""
        begin = self._clock()
        if job.running is None:
            job.running = job.pieces()
        try:
            next(job.running)
        except StopIteration as done:
            job.compute_s += self._clock() - begin
            self._tps += _TPS_SMOOTHING * (job.tokens / max(job.compute_s, 1e-6) - self._tps)
            self.done_tokens += job.tokens
            self._settle(job, value=done.value)
        except PotluckError as error:
            self._settle(job, error=error)
        except (MemoryError, torch.OutOfMemoryError):
            log.warning("out of memory in a %s job of %d tokens", job.priority.name.lower(), job.tokens)
            self._settle(job, error=RemoteError(Code.NO_MEMORY, "out of memory"))
        except Exception:  # the edge of the compute thread: nothing a job does may end it
            log.exception("a %s job of %d tokens failed", job.priority.name.lower(), job.tokens)
            self._settle(job, error=RemoteError(Code.INTERNAL, "the computation failed"))
        else:
            job.compute_s += self._clock() - begin
            self._put_back(job)

    def _put_back(self, job: Job) -> None:
        with self._lock:
            if not job.cancelled and not self._stopping:
                self._scheduler.put_back(job)
                return
        job.running = None  # closes the generator here, on the thread that ran it

    def _settle(self, job: Job, *, value: Any = None, error: PotluckError | None = None) -> None:
        with self._lock:
            waiting = self._waiting.pop(id(job), None)
        job.running = None
        if waiting is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                waiting.loop.call_soon_threadsafe(_resolve, waiting.future, value, error)


def _resolve(future: asyncio.Future[Any], value: Any, error: PotluckError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
