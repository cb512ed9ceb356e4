"""Weights change under an engine, in files or in memory: it computes only with what it announced, and says so."""

import asyncio
import math
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import torch
from helpers.damage import DAMAGES, flip_bits
from helpers.engine_peers import CHECKPOINT, local_steps, refused_with, until
from helpers.lone_engine import INPUTS, Machine
from potluck_control.processes.engine_messages import FilesChanged, Offline, Online
from potluck_engine.compute import failures
from potluck_engine.compute.failures import DeviceWatch, FileWatch, MemoryWatch
from potluck_engine.life import engine as server
from torch import nn

from potluck.blocks.span.block_span import load_span
from potluck.checkpoint.ends import weight_checksum
from potluck.checkpoint.source import open_checkpoint
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError

WHOLE = Span(0, 4)
SMALL = "cpu=900KiB"  # half of it for sessions, and two of the four blocks, 145 KiB each


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CHECKPOINT, tmp_path / "checkpoint"))


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FILE_CHECK_S", 0.02)
    monkeypatch.setattr(server, "_LOAD_AGAIN_S", 0.1)
    monkeypatch.setattr(failures, "_REREADING_SHARE", 1.0)


@pytest.fixture
async def served(folder: Path, tmp_path: Path) -> AsyncIterator[Callable[..., Machine]]:
    """Starts engines on the checkpoint in `folder`."""
    started: list[Machine] = []

    async def start(memory: str = "", dtype: str = "float32") -> Machine:
        made = Machine(tmp_path, dtype, checkpoint=folder, span=WHOLE, memory=memory)
        started.append(made)
        await made.engine.start()
        return made

    yield start
    for made in started:
        await made.engine.stop()


def file_in(folder: Path) -> Path:
    return folder / "model.safetensors"


def told(machine: Machine) -> list[FilesChanged]:
    return [event for event in machine.events if isinstance(event, FilesChanged)]


def expected() -> torch.Tensor:
    return local_steps(INPUTS[:, :8], span=WHOLE)[0]


async def output_of(machine: Machine) -> torch.Tensor:
    """What the engine answers to a new session. Raises RemoteError."""
    client = await machine.begin(None, tokens=8)
    await client.close()
    return machine.output


async def test_blocks_in_memory_are_served_on_and_people_are_told(served: Callable[..., Machine], folder: Path) -> None:
    machine, content = await served(), file_in(folder).read_bytes()
    DAMAGES["cut short"](file_in(folder))
    await until(lambda: told(machine) == [FilesChanged("model.safetensors", is_served=True)])
    torch.testing.assert_close(await output_of(machine), expected(), rtol=1e-4, atol=1e-4)
    file_in(folder).write_bytes(content)
    await until(lambda: told(machine)[-1] == FilesChanged("", is_served=True))


async def test_blocks_streamed_from_a_changed_file_are_given_up(served: Callable[..., Machine], folder: Path) -> None:
    machine, content = await served(SMALL), file_in(folder).read_bytes()
    assert machine.engine.service.blocks.whole.weights.stream is not None
    DAMAGES["rsync --inplace"](file_in(folder))
    with refused_with(Code.DRAINING):
        await output_of(machine)
    await until(lambda: told(machine) == [FilesChanged("model.safetensors", is_served=False)])
    assert Offline() in machine.events
    file_in(folder).write_bytes(content)
    await until(lambda: isinstance(machine.events[-1], Online))
    torch.testing.assert_close(await output_of(machine), expected(), rtol=1e-4, atol=1e-4)


async def test_blocks_streamed_from_a_replaced_file_are_served_on(served: Callable[..., Machine], folder: Path) -> None:
    machine = await served(SMALL)
    DAMAGES["replaced"](file_in(folder))
    await until(lambda: told(machine) == [FilesChanged("model.safetensors", is_served=True)])
    torch.testing.assert_close(await output_of(machine), expected(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"], ids=["as stored", "converted"])
async def test_nobody_resumes_with_other_weights(dtype: str, served: Callable[..., Machine], folder: Path) -> None:
    machine, content = await served(dtype=dtype), file_in(folder).read_bytes()
    before = await output_of(machine)
    await machine.engine.offload()
    flip_bits(file_in(folder))
    await machine.engine.restore()
    assert told(machine)[-1].is_served is False
    with pytest.raises(RemoteError):
        await output_of(machine)
    await machine.engine.offload()  # somebody needs the device meanwhile
    await machine.engine.restore()
    file_in(folder).write_bytes(content)
    await until(lambda: isinstance(machine.events[-1], Online))
    assert torch.equal(await output_of(machine), before)


class CountingLock(asyncio.Lock):
    """Knows how many wait for it or hold it."""

    users = 0

    async def __aenter__(self) -> None:
        self.users += 1
        await super().__aenter__()

    async def __aexit__(self, *why: object) -> None:
        self.users -= 1
        await super().__aexit__(*why)


async def test_files_that_become_right_while_an_offload_runs_bring_no_weights_back(
    served: Callable[..., Machine], folder: Path
) -> None:
    machine, content = await served(), file_in(folder).read_bytes()
    engine, lock = machine.engine, CountingLock()
    await engine.offload()
    flip_bits(file_in(folder))
    engine._changing = lock
    await engine.restore()
    assert engine.service.is_over
    engine._load_at = math.inf
    file_in(folder).write_bytes(content)
    while await engine._files.check(engine.service.blocks.whole.weights.origins):
        pass
    async with lock:
        engine._load_at = 0.0
        offloading = asyncio.create_task(engine.offload())
        await until(lambda: lock.users == 4)  # this test, the offload, and behind it both watches
    await offloading
    async with lock:  # behind the watches
        assert engine.service.is_over
    await engine.restore()
    assert isinstance(machine.events[-1], Online)


async def test_a_return_that_fails_for_another_reason_ends_the_engine(
    served: Callable[..., Machine], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no memory left")

    machine, content = await served(), file_in(folder).read_bytes()
    await machine.engine.offload()
    flip_bits(file_in(folder))
    await machine.engine.restore()
    monkeypatch.setattr(machine.engine.loader, "load_same", fail)
    file_in(folder).write_bytes(content)
    with pytest.raises(PotluckError, match="no memory left"):
        await machine.engine.wait_lost()


async def test_a_file_that_was_only_touched_is_no_news(folder: Path) -> None:
    origins = load_span(open_checkpoint(str(folder)), WHOLE).weights.origins
    os.utime(file_in(folder))
    shutil.copyfile(CHECKPOINT / "model.safetensors", file_in(folder))
    assert await FileWatch().check(origins) == ""


async def test_a_change_without_a_sign_is_found_slowly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "_SLOW_SHARE", 1.0)
    monkeypatch.setattr(failures, "FILE_CHECK_S", 0.01)
    weights = load_span(open_checkpoint(str(folder)), WHOLE).weights
    watch = FileWatch()
    flip_bits(file_in(folder))
    for origin in weights.origins:  # as if the disk had done it
        object.__setattr__(origin, "identities", origin.identities_now())
    assert await watch.check(weights.origins) == ""
    slowly = asyncio.create_task(watch.reread())
    found = ""
    while not found:
        await asyncio.sleep(0.01)
        found = await watch.check(weights.origins)
    slowly.cancel()
    assert found == "model.safetensors"


CPU = DeviceWatch(torch.device("cpu"))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "_SUMMING_PAUSE_S", 0.0)
    monkeypatch.setattr(failures, "_SUMMING_SHARE", 1.0)


async def rounds(watch: MemoryWatch, module: nn.Module, count: int = 8) -> list[str]:
    found = [await watch.check_next(module) for _ in range(count)]
    return [name for name in found if name]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
async def test_one_flipped_bit_is_noticed(dtype: torch.dtype) -> None:
    module = nn.Linear(7, 5).to(dtype)
    watch = MemoryWatch(CPU)
    assert await rounds(watch, module) == []
    module.weight.data.view(-1).view(torch.uint8)[11] ^= 1
    assert await rounds(watch, module) == ["weight"]


async def test_weights_that_moved_or_were_freed_are_not_damaged() -> None:
    module, watch = nn.Linear(7, 5), MemoryWatch(CPU)
    assert await rounds(watch, module) == []
    kept = module.weight.data
    module.weight.data = torch.zeros(0)
    assert await rounds(watch, module) == []
    module.weight.data = kept + 1.0
    assert await rounds(watch, module) == []
    assert await rounds(watch, nn.Linear(7, 5)) == []


def test_equal_weights_have_equal_sums() -> None:
    weights = torch.arange(10, dtype=torch.bfloat16)
    assert weight_checksum(weights[1:]) == weight_checksum(weights[1:].clone())


async def test_files_that_become_right_end_no_drain(served: Callable[..., Machine], folder: Path) -> None:
    machine, content = await served(), file_in(folder).read_bytes()
    engine = machine.engine
    await engine.offload()
    flip_bits(file_in(folder))
    await engine.restore()
    await engine.drain()
    file_in(folder).write_bytes(content)
    while await engine._files.check(engine.service.blocks.whole.weights.origins):
        pass
    await engine._handle_files(engine.service, "")
    assert engine.service.is_over
    await engine.restore()
    assert isinstance(machine.events[-1], Online)
