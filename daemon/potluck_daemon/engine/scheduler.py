"""Which piece of work runs next. Pure: no lock, no clock, no torch; the compute thread acts on what it says.

A job is a generator: each `next()` is one bounded piece of compute, so that a decode step waits for one piece at most.
Inference goes before forward before backward. Inference jobs take turns piece by piece, so a long prefill does not hold
up others' decode steps; forward and backward finish one job before the next, so only one holds intermediate results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from potluck.protocol.codes import Code, RemoteError


class Priority(IntEnum):
    INFERENCE = 0
    FORWARD = 1
    BACKWARD = 2


Pieces = Callable[[], Generator[None, None, Any]]
"""Makes the generator; called on the compute thread. Its return value is the job's result."""


@dataclass(slots=True, eq=False)
class Job:
    """Work for the compute thread; `tokens` counts every row."""

    priority: Priority
    pieces: Pieces
    tokens: int
    submitted_at: float  # monotonic seconds
    compute_s: float = 0.0
    cancelled: bool = False
    running: Generator[None, None, Any] | None = field(default=None, repr=False)


class Scheduler:
    """A bounded queue for each priority."""

    def __init__(self, *, max_queued_jobs: int, max_queued_tokens: int) -> None:
        self._max_jobs = max_queued_jobs
        self._max_tokens = max_queued_tokens
        self._queues: tuple[deque[Job], ...] = tuple(deque() for _ in Priority)
        self._tokens = [0 for _ in Priority]

    @property
    def queued_tokens(self) -> int:
        return sum(self._tokens)

    def admit(self, job: Job, *, retry_after_s: float) -> None:
        """Queue a new job; a job is always taken while its queue is empty.

        Raises:
            RemoteError: BUSY, with `retry_after_s`.
        """
        queue, tokens = self._queues[job.priority], self._tokens[job.priority]
        if queue and (len(queue) >= self._max_jobs or tokens + job.tokens > self._max_tokens):
            name = job.priority.name.lower()
            raise RemoteError(Code.BUSY, f"{len(queue)} {name} requests are waiting", retry_after_s=retry_after_s)
        queue.append(job)
        self._tokens[job.priority] += job.tokens

    def take(self) -> Job | None:
        """The job whose next piece should run now; it leaves the queue."""
        for queue in self._queues:
            if queue:
                job = queue.popleft()
                self._tokens[job.priority] -= job.tokens
                return job
        return None

    def put_back(self, job: Job) -> None:
        """Return a job that has more pieces."""
        queue = self._queues[job.priority]
        if job.priority is Priority.INFERENCE:
            queue.append(job)
        else:
            queue.appendleft(job)
        self._tokens[job.priority] += job.tokens

    def discard(self, job: Job) -> None:
        """Forget a job if it waits here."""
        queue = self._queues[job.priority]
        if job in queue:
            queue.remove(job)
            self._tokens[job.priority] -= job.tokens
