"""A GPU that fails for good: its engine says so and ends."""

from __future__ import annotations

from collections.abc import Generator

import pytest
import torch
from potluck_control.launch_spec import ServingLimits
from potluck_engine.compute.call_scheduler import Priority
from potluck_engine.compute.call_thread import CallThread
from potluck_engine.compute.failures import DeviceWatch

from potluck.protocol.blocks import PersonId
from potluck.protocol.codes import Code, RemoteError

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
    [
        (ILLEGAL, True),
        (torch.OutOfMemoryError("CUDA out of memory"), False),
        (RemoteError(Code.BUSY, "later"), False),
    ],
)
def test_errors_after_which_the_device_works_lose_nothing(
    error: Exception, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, told = watch_of(monkeypatch, works=works)
    assert not watch.is_lost(error)
    assert not told


async def test_steps_on_a_lost_device_are_refused_so_that_clients_continue_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the engine ends: its loss reaches `wait_lost` from the computing thread."""
    watch, told = watch_of(monkeypatch, works=False)

    def fail() -> Generator[None, None, None]:
        raise ILLEGAL
        yield

    calls = CallThread(ServingLimits(), threads=1, is_lost=watch.is_lost)
    calls.start()
    with pytest.raises(RemoteError) as refused:
        await calls.run(Priority.FORWARD, fail, client=PersonId("somebody"), tokens=1, timeout_s=10)
    await calls.stop()
    assert refused.value.code is Code.DRAINING
    assert told == [ILLEGAL]
