"""What is asked of each kind of device; Apple's is a fake of `torch.mps`, since only a Mac has the real one."""

import weakref
from unittest.mock import Mock

import psutil
import pytest
import torch

from potluck.blocks import accelerators
from potluck.blocks.accelerators import apple_memory, memory_of
from potluck.blocks.cache.arenas import KvArena, KvShape
from potluck.blocks.streaming.slots import KeptBlock

MPS, CPU = torch.device("mps"), torch.device("cpu")
GB = 10**9


class FakeMetal:
    """`torch.mps` of a Mac whose system lets the GPU have 12 GB, of which torch took 2."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def recommended_max_memory(self) -> int:
        return 12 * GB

    def driver_allocated_memory(self) -> int:
        return 2 * GB

    def synchronize(self) -> None:
        self.calls.append("synchronize")

    def empty_cache(self) -> None:
        self.calls.append("empty_cache")


@pytest.fixture
def metal(monkeypatch: pytest.MonkeyPatch) -> FakeMetal:
    fake = FakeMetal()
    monkeypatch.setattr(torch, "mps", fake)
    return fake


def test_what_other_programs_took_of_the_machines_memory_is_not_free_on_an_apple_gpu() -> None:
    assert apple_memory(limit=12 * GB, used=2 * GB, available=30 * GB).free == 10 * GB
    assert apple_memory(limit=12 * GB, used=2 * GB, available=3 * GB).free == 3 * GB
    assert apple_memory(limit=12 * GB, used=13 * GB, available=3 * GB).free == 0


def test_an_apple_gpus_memory_is_the_machines_and_so_is_a_cpus(metal: FakeMetal) -> None:
    apple, cpu = memory_of(MPS), memory_of(CPU)
    assert (apple.total, apple.used, apple.is_own) == (12 * GB, 2 * GB, False)
    assert apple.free <= cpu.total <= psutil.virtual_memory().total
    assert 0 < cpu.used < cpu.total
    assert not cpu.is_own


def test_waiting_and_giving_back_reach_the_apple_gpu_and_no_cpu(metal: FakeMetal) -> None:
    for device in (CPU, MPS):
        accelerators.synchronize(device)
        accelerators.empty_cache(device)
    assert metal.calls == ["synchronize", "empty_cache"]


def test_a_block_is_copied_to_its_slot_while_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else an Apple GPU would read the source when it may be gone."""
    waits: list[bool] = []
    copy = torch.Tensor.copy_

    def note(self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        waits.append(not non_blocking)
        return copy(self, source)

    monkeypatch.setattr(torch.Tensor, "copy_", note)
    source = torch.arange(6.0)
    arena = source.view(torch.uint8)
    block = KeptBlock((torch.nn.Parameter(torch.empty(0)),), (source.to("meta"),), arena=arena)
    memory = torch.zeros(256, dtype=torch.uint8)
    block.fill(memory)
    assert waits == [True]
    assert memory.view(torch.float32)[:6].tolist() == source.tolist()


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_the_memory_of_sessions_can_be_given_back(device: str) -> None:
    arena = KvArena(KvShape(2, 4, 8), 3, 64, torch.float16, torch.device(device))
    arena.free()
    assert [tensor.untyped_storage().nbytes() for tensor in arena.tensors] == [0, 0]
    arena.give_back([(0, 64)])  # by sessions that are closed later


def test_a_card_is_made_current_by_torch_and_nothing_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    card = torch.device("cuda", 1)
    monkeypatch.setattr("torch.cuda.device", lambda device: device)
    assert accelerators.made_current(card) is card
    with accelerators.made_current(CPU), accelerators.made_current(MPS):
        pass


def test_what_is_kept_for_graphs_and_what_ended_in_a_cycle_goes_when_a_device_is_released() -> None:
    kept = accelerators.keep_until_release(lambda count, device: torch.arange(count, device=device))
    numbers, cycle = weakref.ref(kept(3, CPU)), [torch.ones(1)]
    cycle.append(cycle)
    ended = weakref.ref(cycle[0])
    assert kept(3, CPU) is numbers()
    del cycle
    accelerators.release_memory(CPU)
    assert (numbers(), ended()) == (None, None)


@pytest.mark.parametrize("error", [None, RuntimeError("CUDA error: unspecified launch failure")])
def test_a_gpu_is_asked_whether_it_is_lost_by_the_threads_own_stream(
    error: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may record a graph meanwhile: waiting for the whole GPU would fail and spoil the recording."""
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: Mock(synchronize=Mock(side_effect=error)))
    monkeypatch.setattr(torch.cuda, "synchronize", Mock(side_effect=AssertionError))
    assert accelerators.is_lost(torch.device("cuda")) == (error is not None)
