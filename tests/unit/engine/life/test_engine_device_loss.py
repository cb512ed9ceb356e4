"""An engine whose GPU is lost ends, wherever torch meets the loss first, so that another process begins afresh."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.lone_engine import INPUTS, Machine
from potluck_engine.compute.failures import DeviceLostError
from potluck_engine.engine_process import EngineReporter
from potluck_engine.life.block_changes import grow

from potluck.errors import PotluckError
from potluck.protocol.messages import StepRequest

ILLEGAL = torch.AcceleratorError("CUDA error: an illegal memory access was encountered")

Lose = Callable[[str], None]
"""Makes the device fail for ever as soon as the function of this name is called."""


@pytest.fixture
def lose(monkeypatch: pytest.MonkeyPatch) -> Lose:
    is_lost = []

    def synchronize(_: object) -> None:
        if is_lost:
            raise ILLEGAL

    def fail(*_: Any, **__: Any) -> None:
        is_lost.append(True)
        raise ILLEGAL

    monkeypatch.setattr("potluck.blocks.accelerators.synchronize", synchronize)
    monkeypatch.setattr("potluck.blocks.span.block_span.trim_memory", synchronize)
    return lambda name: monkeypatch.setattr(name, fail)


async def watch_memory(machine: Machine) -> None:
    await asyncio.sleep(60)


async def examine(machine: Machine) -> None:
    await machine.engine._sums_of(machine.engine.service.blocks.whole)


async def report(machine: Machine) -> None:
    EngineReporter(machine.engine, lambda _: None).report()


async def restore(machine: Machine) -> None:
    await machine.engine.offload()
    await machine.engine.restore()


async def move(machine: Machine) -> None:
    await grow(machine.engine.service, 3, machine.engine.loader.load_tried)


async def step(machine: Machine) -> None:
    client = await machine.begin()
    await client.step(StepRequest(INPUTS[:, 8:9]))


@pytest.mark.parametrize(
    ("place", "use"),
    [
        ("potluck_engine.compute.failures.weight_checksum", watch_memory),
        ("potluck_engine.life.engine.weight_checksum", examine),
        ("potluck_engine.engine_process.memory_of", report),
        ("potluck.blocks.streaming.weights.SpanWeights.restore", restore),
        ("potluck_engine.serving.service.measure_speed", restore),
        ("potluck_engine.weights.block_loader.load_blocks", move),
        ("potluck_engine.weights.block_loader.check_blocks", move),
        ("potluck_engine.memory.paging.Paging.request_pages", step),
        ("potluck_engine.memory.paging.Paging.settle", step),
        ("potluck.blocks.cache.kv_memory.KvMemory.reserve", step),
    ],
    ids=lambda value: value.rpartition(".")[2] if isinstance(value, str) else "",
)
async def test_an_engine_ends_when_its_device_is_lost_wherever_that_shows(
    place: str, use: Callable[[Machine], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lose: Lose
) -> None:
    """And the loss keeps it neither from telling why nor from leaving the swarm."""
    monkeypatch.setattr("potluck_engine.compute.failures._SUMMING_PAUSE_S", 0.01)
    machine = Machine(tmp_path)
    async with machine.engine as engine:
        if use is report:
            EngineReporter(engine, lambda _: None)
        lose(place)
        using = asyncio.create_task(use(machine))
        async with asyncio.timeout(60):
            with pytest.raises(DeviceLostError, match="the GPU failed: CUDA error: an illegal memory access"):
                await engine.wait_lost()
        using.cancel()
        with suppress(asyncio.CancelledError, PotluckError):
            await using
