"""Which piece runs next, and who is refused."""

from __future__ import annotations

import pytest
from potluck_daemon.engine.scheduler import Job, Priority, Scheduler

from potluck.protocol.codes import Code, RemoteError


def job(priority: Priority, tokens: int = 1) -> Job:
    return Job(priority, lambda: iter(()), tokens, submitted_at=0.0)  # type: ignore[arg-type, return-value]


def scheduler(jobs: int = 3, tokens: int = 100) -> Scheduler:
    return Scheduler(max_queued_jobs=jobs, max_queued_tokens=tokens)


def admit(target: Scheduler, *jobs: Job) -> None:
    for each in jobs:
        target.admit(each, retry_after_s=2.5)


def test_inference_goes_before_forward_before_backward_and_in_order_within():
    queue = scheduler()
    backward, forward, first, second = (
        job(Priority.BACKWARD),
        job(Priority.FORWARD),
        job(Priority.INFERENCE),
        job(Priority.INFERENCE),
    )
    admit(queue, backward, forward, first, second)
    assert [queue.take() for _ in range(5)] == [first, second, forward, backward, None]


def test_long_prefill_lets_others_decode_between_its_pieces():
    queue = scheduler()
    prefill, decode = job(Priority.INFERENCE), job(Priority.INFERENCE)
    admit(queue, prefill)
    assert queue.take() is prefill
    admit(queue, decode)
    queue.put_back(prefill)
    assert queue.take() is decode


def test_backward_finishes_one_job_before_the_next():
    queue = scheduler()
    first, second = job(Priority.BACKWARD), job(Priority.BACKWARD)
    admit(queue, first, second)
    assert queue.take() is first
    queue.put_back(first)
    assert queue.take() is first


def test_full_queue_refuses_with_busy_and_a_time():
    queue = scheduler(jobs=2)
    admit(queue, job(Priority.FORWARD), job(Priority.FORWARD))
    with pytest.raises(RemoteError) as refused:
        admit(queue, job(Priority.FORWARD))
    assert refused.value.code is Code.BUSY
    assert refused.value.retry_after_s == 2.5
    admit(queue, job(Priority.INFERENCE))  # has a queue of its own


def test_tokens_that_wait_are_bounded_but_a_single_large_job_is_taken():
    queue = scheduler(tokens=10)
    admit(queue, job(Priority.FORWARD, tokens=50))
    assert queue.queued_tokens == 50
    with pytest.raises(RemoteError):
        admit(queue, job(Priority.FORWARD, tokens=1))


def test_discarded_job_is_forgotten():
    queue = scheduler()
    gone = job(Priority.FORWARD, tokens=7)
    admit(queue, gone)
    queue.discard(gone)
    queue.discard(gone)
    assert queue.take() is None
    assert queue.queued_tokens == 0
