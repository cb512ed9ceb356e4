"""The call thread: order, cancellation, refusals, and that nothing ends it."""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator

import pytest
import torch
from helpers.engine_peers import refused_with
from potluck_control.launch_spec import ServingLimits
from potluck_engine.compute.call_scheduler import Priority
from potluck_engine.compute.call_thread import CallThread
from potluck_engine.compute.failures import DeviceWatch

from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError


@pytest.fixture
async def calls() -> AsyncIterator[CallThread]:
    thread = CallThread(ServingLimits(max_queued_jobs=4, max_queued_tokens=1000), threads=1)
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
            assert self.open.wait(120)
            yield
        return "gate"


def noting(name: str, notes: list[str], pieces: int = 1) -> Callable[[], Generator[None, None, str]]:
    def run() -> Generator[None, None, str]:
        for _ in range(pieces):
            notes.append(name)
            yield
        return name

    return run


def failing(error: Exception) -> Callable[[], Generator[None, None, str]]:
    def run() -> Generator[None, None, str]:
        raise error
        yield

    return run


def submit(calls: CallThread, priority: Priority, pieces: Callable[[], Generator[None, None, str]]) -> asyncio.Task:
    return asyncio.create_task(calls.run(priority, pieces, client=ME, tokens=1, timeout_s=60))


ME = PersonId("me")


async def held(calls: CallThread, pieces: int = 1) -> tuple[Gate, asyncio.Task]:
    gate = Gate(pieces)
    task = submit(calls, Priority.BACKWARD, gate)
    await asyncio.to_thread(gate.entered.wait)
    return gate, task


async def test_forward_passes_queued_and_running_backward_work_after_one_piece(calls):
    notes: list[str] = []
    gate, task = await held(calls, pieces=2)
    backward = submit(calls, Priority.BACKWARD, noting("backward", notes, pieces=3))
    forward = submit(calls, Priority.FORWARD, noting("forward", notes))
    await asyncio.sleep(0)
    gate.open.set()
    assert (await task).timing.compute_ms > 0
    assert (await forward).timing.queue_ms > 0
    await backward
    assert notes == ["forward", "backward", "backward", "backward"]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
async def test_calls_run_with_the_lowest_priority_and_the_loop_does_not(calls):
    def look() -> Generator[None, None, int]:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        yield

    mine = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert (await submit(calls, Priority.FORWARD, look)).value == 19
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == mine


async def test_cancelled_work_is_dropped_before_its_next_piece(calls):
    notes: list[str] = []
    gate, running = await held(calls, pieces=5)
    queued = submit(calls, Priority.FORWARD, noting("dropped", notes))
    await asyncio.sleep(0)
    queued.cancel()
    running.cancel()
    await asyncio.gather(queued, running, return_exceptions=True)
    assert calls.queued_tokens == 0
    gate.open.set()
    done = await submit(calls, Priority.BACKWARD, noting("next", notes))
    assert done.value == "next"
    assert notes == ["next"]


async def test_work_that_takes_too_long_is_answered_busy_and_dropped(calls):
    gate, running = await held(calls)
    with refused_with(Code.BUSY):
        await calls.run(Priority.FORWARD, noting("x", []), client=ME, tokens=1, timeout_s=0.001)
    assert calls.queued_tokens == 0
    gate.open.set()
    await running


@pytest.mark.parametrize(
    ("error", "code", "num_logged"),
    [
        (ValueError("secret tensor values"), Code.INTERNAL, 1),
        (RemoteError(Code.ROLLBACK, "cannot go back"), Code.ROLLBACK, 0),
        (MemoryError(), Code.NO_MEMORY, 1),
    ],
)
async def test_a_failure_is_answered_with_a_code_logged_once_and_survived(calls, caplog, error, code, num_logged):
    with pytest.raises(RemoteError) as refused:
        await submit(calls, Priority.FORWARD, failing(error))
    assert refused.value.code is code
    assert "secret" not in refused.value.message
    assert len(caplog.records) == num_logged
    assert (await submit(calls, Priority.FORWARD, noting("alive", []))).value == "alive"


async def test_stopping_answers_everyone_with_draining(calls):
    gate, running = await held(calls)
    queued = submit(calls, Priority.FORWARD, noting("x", []))
    await asyncio.sleep(0)
    stopping = asyncio.create_task(calls.stop())
    await asyncio.sleep(0)
    gate.open.set()
    await stopping
    for task in (running, queued):
        with refused_with(Code.DRAINING):
            await task
    with pytest.raises(RemoteError):
        await submit(calls, Priority.FORWARD, noting("x", []))


ILLEGAL = RuntimeError("CUDA error: an illegal memory access was encountered")


def watch_of(monkeypatch: pytest.MonkeyPatch, *, works: bool) -> tuple[DeviceWatch, list[Exception]]:
    def synchronize(device: torch.device) -> None:
        if not works:
            raise ILLEGAL

    monkeypatch.setattr("potluck_engine.compute.failures.synchronize", synchronize)
    told: list[Exception] = []
    return DeviceWatch(torch.device("cuda"), told.append), told


def test_a_device_that_fails_ever_after_is_lost_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, told = watch_of(monkeypatch, works=False)
    assert watch.is_lost(ILLEGAL)
    assert watch.is_lost(ILLEGAL)
    assert told == [ILLEGAL]


@pytest.mark.parametrize(
    ("error", "works"),
    [(ILLEGAL, True), (torch.OutOfMemoryError("CUDA out of memory"), False), (RemoteError(Code.BUSY, "later"), False)],
)
def test_a_device_that_works_on_is_not_lost(error: Exception, works: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, told = watch_of(monkeypatch, works=works)
    assert not watch.is_lost(error)
    assert not told


async def test_work_on_a_lost_device_is_refused_so_that_clients_go_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the engine ends: its loss reaches `wait_lost` from the computing thread."""
    watch, told = watch_of(monkeypatch, works=False)
    calls = CallThread(ServingLimits(), threads=1, is_lost=watch.is_lost)
    calls.start()
    with pytest.raises(RemoteError) as refused:
        await submit(calls, Priority.FORWARD, failing(ILLEGAL))
    await calls.stop()
    assert refused.value.code is Code.DRAINING
    assert told == [ILLEGAL]
