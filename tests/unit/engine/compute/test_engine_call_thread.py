"""Stateless calls from submission to answer: order, cancellation, refusals, and that nothing ends the threads."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Generator
from unittest.mock import Mock

import pytest
import torch
from helpers.engine_peers import SWARM, Server, refused_with
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.compute.failures import DeviceLostError, DeviceWatch
from potluck_engine.compute.step_loop import StepLoop, deliver
from potluck_engine.compute.steps import Call, StepJob
from potluck_engine.compute.threads import Threads
from potluck_engine.serving.service import Service

from potluck.blocks.span.block_span import BlockSpan
from potluck.errors import PotluckError
from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError

FORWARD, BACKWARD = False, True
Pieces = Generator[None, None, str]


async def loop_of(blocks: BlockSpan, device: DeviceWatch | None = None) -> StepLoop:
    """A loop that serves, whose turns the test makes."""
    limits = ServingLimits(max_queued_jobs=4, max_queued_tokens=1000)
    threads = Threads.of(limits, threads=1, device=device)
    state = Service(blocks, SWARM, limits, threads)
    performing = asyncio.create_task(threads.compute.serve(state.stage))
    await asyncio.sleep(0)
    threads.compute.turn(0.0)
    await performing
    return threads.compute


@pytest.fixture
async def calls(blocks: BlockSpan) -> StepLoop:
    return await loop_of(blocks)


def noting(name: str, notes: list[str], pieces: int = 1) -> Pieces:
    for _ in range(pieces):
        notes.append(name)
        yield
    return name


def failing(error: Exception) -> Pieces:
    raise error
    yield


def of(kind: bool, pieces: Generator[None, None, object], deadline: float = 60.0) -> Call:
    return Call(None, PersonId("me"), 1, 1, 0.0, deadline, pieces=pieces, is_backward=kind)


async def submit(calls: StepLoop, kind: bool, pieces: Generator[None, None, object]) -> asyncio.Task:
    task = asyncio.create_task(calls.call(of(kind, pieces)))
    await asyncio.sleep(0)
    return task


def work(calls: StepLoop) -> None:
    while calls.turn_of_calls(0.0) is not None:
        pass


async def test_forward_passes_queued_and_running_backward_work_after_one_piece(calls: StepLoop) -> None:
    notes: list[str] = []
    running = await submit(calls, BACKWARD, noting("running", notes, pieces=2))
    calls.turn_of_calls(0.0)
    backward = await submit(calls, BACKWARD, noting("backward", notes, pieces=3))
    forward = await submit(calls, FORWARD, noting("forward", notes))
    work(calls)
    assert [await task for task in (running, backward, forward)] == ["running", "backward", "forward"]
    assert notes == ["running", "forward", "running", "backward", "backward", "backward"]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
async def test_calls_run_with_the_lowest_priority_and_the_loop_does_not(server: Server) -> None:
    def look() -> Generator[None, None, int]:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        yield

    mine = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert await server.serving.compute.call(of(FORWARD, look(), deadline=time.monotonic() + 60.0)) == 19
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == mine


async def test_cancelled_work_is_dropped_before_its_next_piece(calls: StepLoop) -> None:
    notes: list[str] = []
    running = await submit(calls, BACKWARD, noting("running", notes, pieces=5))
    queued = await submit(calls, FORWARD, noting("queued", notes))
    calls.turn_of_calls(0.0)
    queued.cancel()
    running.cancel()
    await asyncio.gather(queued, running, return_exceptions=True)
    assert calls.queued_tokens == 0
    following = await submit(calls, BACKWARD, noting("next", notes))
    work(calls)
    assert await following == "next"
    assert notes[1:] == ["next"]


async def test_a_call_that_is_dropped_while_a_piece_runs_ends_with_it(calls: StepLoop) -> None:
    closed: list[bool] = []

    def leaving() -> Pieces:
        task.cancel()
        calls.drop(call)
        try:
            yield
        finally:
            closed.append(True)
        return "too late"

    call = of(BACKWARD, leaving())
    task = asyncio.create_task(calls.call(call))
    await asyncio.sleep(0)
    work(calls)
    assert closed == [True]
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_that_takes_too_long_is_answered_busy_and_dropped(calls: StepLoop) -> None:
    task = await submit(calls, FORWARD, noting("x", []))
    calls.turn(59.0)
    assert calls.queued_tokens == 1
    calls.turn(60.0)
    with refused_with(Code.BUSY):
        await task
    assert calls.queued_tokens == 0


@pytest.mark.parametrize(
    ("error", "code", "num_logged"),
    [
        (ValueError("secret tensor values"), Code.INTERNAL, 1),
        (RemoteError(Code.ROLLBACK, "cannot go back"), Code.ROLLBACK, 0),
        (MemoryError(), Code.NO_MEMORY, 1),
    ],
)
async def test_a_failure_is_answered_with_a_code_logged_once_and_survived(calls, caplog, error, code, num_logged):
    failed, other = await submit(calls, FORWARD, failing(error)), await submit(calls, FORWARD, noting("alive", []))
    work(calls)
    with pytest.raises(RemoteError) as refused:
        await failed
    assert refused.value.code is code
    assert "secret" not in refused.value.message
    assert len(caplog.records) == num_logged
    assert await other == "alive"


async def test_stopping_answers_everyone_with_draining(calls: StepLoop) -> None:
    running = await submit(calls, BACKWARD, noting("running", [], pieces=5))
    calls.turn_of_calls(0.0)
    queued = await submit(calls, FORWARD, noting("x", []))
    calls.refuse()
    assert calls.is_stopping
    assert calls.turn_of_calls(0.0) is None
    for task in (running, queued, await submit(calls, FORWARD, noting("x", []))):
        with refused_with(Code.DRAINING):
            await task


def test_an_error_in_one_answer_is_logged_once_and_ends_nobody_elses(caplog) -> None:
    told: list[tuple[str, PotluckError | None]] = []

    def job(name: str, *, fails: bool = False) -> StepJob:
        def done(_: StepJob, error: PotluckError | None) -> None:
            told.append((name, error))
            if fails:
                raise ValueError(name)

        return StepJob(name, PersonId(name), 1, 1, 0.0, 1.0, on_done=done)

    deliver([(job("a"), None), (job("b", fails=True), None), (job("c"), None)])
    assert [name for name, _ in told] == ["a", "b", "b", "c"]
    assert [error is None for _, error in told] == [True, True, False, True]
    assert len(caplog.records) == 1


ILLEGAL = RuntimeError("CUDA error: an illegal memory access was encountered")


def watch_of(monkeypatch: pytest.MonkeyPatch, *, works: bool) -> tuple[DeviceWatch, list[DeviceLostError]]:
    def synchronize(device: torch.device) -> None:
        if not works:
            raise ILLEGAL

    monkeypatch.setattr("potluck.blocks.accelerators.synchronize", synchronize)
    told: list[DeviceLostError] = []
    return DeviceWatch(torch.device("cpu"), told.append), told


def test_a_device_that_fails_ever_after_is_lost_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, told = watch_of(monkeypatch, works=False)
    assert watch.is_lost(ILLEGAL)
    with pytest.raises(DeviceLostError, match="the GPU failed: CUDA error: an illegal memory access"):
        watch.run(Mock(side_effect=ILLEGAL))
    watch.free(Mock(side_effect=ILLEGAL))
    assert len(told) == 1


@pytest.mark.parametrize(
    ("error", "works"),
    [(ILLEGAL, True), (torch.OutOfMemoryError("CUDA out of memory"), False), (RemoteError(Code.BUSY, "later"), False)],
)
def test_a_device_that_works_on_is_not_lost(error: Exception, works: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, told = watch_of(monkeypatch, works=works)
    with pytest.raises(type(error)):
        watch.free(Mock(side_effect=error))
    assert not told


async def test_work_on_a_lost_device_is_refused_so_that_clients_go_elsewhere(
    blocks: BlockSpan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the engine ends: its loss reaches `wait_lost` from the computing thread."""
    watch, told = watch_of(monkeypatch, works=False)
    calls = await loop_of(blocks, watch)
    task = await submit(calls, FORWARD, failing(ILLEGAL))
    work(calls)
    with refused_with(Code.DRAINING):
        await task
    assert len(told) == 1
