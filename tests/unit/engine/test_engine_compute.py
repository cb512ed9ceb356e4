"""The compute thread: order, cancellation, refusals, and that nothing ends it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator

import pytest
from potluck_daemon.engine.compute import ComputeThread
from potluck_daemon.engine.scheduler import Priority, Scheduler

from potluck.protocol.codes import Code, RemoteError


@pytest.fixture
async def compute() -> AsyncIterator[ComputeThread]:
    thread = ComputeThread(Scheduler(max_queued_jobs=4, max_queued_tokens=1000), threads=1)
    thread.start()
    yield thread
    await thread.stop()


class Gate:
    """A job that holds the thread until opened, one piece at a time."""

    def __init__(self, pieces: int = 1) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()
        self._pieces = pieces

    def __call__(self) -> Generator[None, None, str]:
        for _ in range(self._pieces):
            self.entered.set()
            assert self.open.wait(30)
            yield
        return "gate"


def noting(name: str, notes: list[str], pieces: int = 1) -> Callable[[], Generator[None, None, str]]:
    def run() -> Generator[None, None, str]:
        for _ in range(pieces):
            notes.append(name)
            yield
        return name

    return run


def submit(
    compute: ComputeThread, priority: Priority, pieces: Callable[[], Generator[None, None, str]]
) -> asyncio.Task:
    return asyncio.create_task(compute.run(priority, pieces, tokens=1, timeout_s=60))


async def held(compute: ComputeThread, pieces: int = 1) -> tuple[Gate, asyncio.Task]:
    gate = Gate(pieces)
    task = submit(compute, Priority.BACKWARD, gate)
    await asyncio.to_thread(gate.entered.wait)
    return gate, task


async def test_decode_step_passes_queued_backward_work_after_one_piece(compute):
    notes: list[str] = []
    gate, task = await held(compute, pieces=2)
    backward = submit(compute, Priority.BACKWARD, noting("backward", notes, pieces=3))
    forward = submit(compute, Priority.FORWARD, noting("forward", notes))
    decode = submit(compute, Priority.INFERENCE, noting("decode", notes))
    await asyncio.sleep(0)
    gate.open.set()
    await asyncio.gather(backward, forward, decode, task)
    assert notes == ["decode", "forward", "backward", "backward", "backward"]


async def test_decode_step_runs_between_the_pieces_of_a_running_backward(compute):
    notes: list[str] = []

    def backward() -> Generator[None, None, None]:
        notes.append("backward 1")
        entered.set()
        assert release.wait(30)
        yield
        notes.append("backward 2")

    entered, release = threading.Event(), threading.Event()
    first = submit(compute, Priority.BACKWARD, backward)
    await asyncio.to_thread(entered.wait)
    decode = submit(compute, Priority.INFERENCE, noting("decode", notes))
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(first, decode)
    assert notes == ["backward 1", "decode", "backward 2"]


async def test_cancelled_work_is_dropped_before_its_next_piece(compute):
    notes: list[str] = []
    gate, running = await held(compute, pieces=5)
    queued = submit(compute, Priority.FORWARD, noting("dropped", notes))
    await asyncio.sleep(0)
    queued.cancel()
    running.cancel()
    await asyncio.gather(queued, running, return_exceptions=True)
    assert compute.queued_tokens == 0
    gate.open.set()
    done = await submit(compute, Priority.BACKWARD, noting("next", notes))
    assert done.value == "next"
    assert notes == ["next"]


async def test_full_queue_answers_busy_with_a_time(compute):
    gate, running = await held(compute)
    waiting = [submit(compute, Priority.FORWARD, noting("x", [])) for _ in range(4)]
    await asyncio.sleep(0)
    with pytest.raises(RemoteError) as refused:
        await submit(compute, Priority.FORWARD, noting("x", []))
    assert refused.value.code is Code.BUSY
    assert refused.value.retry_after_s is not None
    gate.open.set()
    await asyncio.gather(running, *waiting)


async def test_work_that_takes_too_long_is_answered_busy_and_dropped(compute):
    gate, running = await held(compute)
    with pytest.raises(RemoteError) as refused:
        await compute.run(Priority.FORWARD, noting("x", []), tokens=1, timeout_s=0.001)
    assert refused.value.code is Code.BUSY
    assert compute.queued_tokens == 0
    gate.open.set()
    await running


async def test_a_failure_is_answered_internal_logged_once_and_survived(compute, caplog):
    def broken() -> Generator[None, None, None]:
        raise ValueError("secret tensor values")
        yield

    with pytest.raises(RemoteError) as refused:
        await submit(compute, Priority.INFERENCE, broken)
    assert refused.value.code is Code.INTERNAL
    assert "secret" not in refused.value.message
    assert len(caplog.records) == 1
    assert (await submit(compute, Priority.INFERENCE, noting("alive", []))).value == "alive"


async def test_refusals_of_the_work_itself_and_lack_of_memory_keep_their_codes(compute):
    def refusing() -> Generator[None, None, None]:
        raise RemoteError(Code.ROLLBACK, "cannot go back")
        yield

    def greedy() -> Generator[None, None, None]:
        raise MemoryError
        yield

    for work, code in ((refusing, Code.ROLLBACK), (greedy, Code.NO_MEMORY)):
        with pytest.raises(RemoteError) as refused:
            await submit(compute, Priority.INFERENCE, work)
        assert refused.value.code is code


async def test_timing_tells_queue_and_compute_apart(compute):
    gate, running = await held(compute)
    waiting = submit(compute, Priority.FORWARD, noting("x", []))
    await asyncio.sleep(0)
    gate.open.set()
    assert (await running).timing.compute_ms > 0
    assert (await waiting).timing.queue_ms > 0


async def test_stopping_answers_everyone_with_draining():
    thread = ComputeThread(Scheduler(max_queued_jobs=4, max_queued_tokens=1000), threads=1)
    thread.start()
    gate, running = await held(thread)
    queued = submit(thread, Priority.INFERENCE, noting("x", []))
    await asyncio.sleep(0)
    stopping = asyncio.create_task(thread.stop())
    await asyncio.sleep(0)
    gate.open.set()
    await stopping
    for task in (running, queued):
        with pytest.raises(RemoteError) as refused:
            await task
        assert refused.value.code is Code.DRAINING
    with pytest.raises(RemoteError):
        await submit(thread, Priority.INFERENCE, noting("x", []))
