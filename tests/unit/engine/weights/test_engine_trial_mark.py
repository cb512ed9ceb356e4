"""A fault of the GPU in a trial of kernels ends one process; the next one computes without them and says so."""

import asyncio
import os
import threading
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from helpers.engine_peers import CHECKPOINT, until
from helpers.lone_engine import Machine
from helpers.spans import span_of
from potluck_engine.compute.failures import DeviceWatch
from potluck_engine.serving import service
from potluck_engine.weights import block_loader
from potluck_engine.weights.block_loader import BlockLoader
from potluck_engine.weights.loading import FAULT, TrialMark, forget_marks

from potluck.blocks import accelerators
from potluck.blocks.accelerators import NoKernels
from potluck.blocks.span import block_span, trial
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.ragged_runner import RaggedRunner
from potluck.protocol.blocks import Span
from potluck.tasks import cancel_and_wait

SPAN = Span(0, 1)
CPU = torch.device("cpu")
ILLEGAL = torch.AcceleratorError("CUDA error: an illegal memory access was encountered")


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor passes for a GPU with kernels, which compute nothing here."""
    for module in (block_span, trial):
        monkeypatch.setattr(module, "uses_kernels", lambda device: True)
    monkeypatch.setattr(trial, "why_no_kernels", lambda device: None)
    monkeypatch.setattr(trial, "runs_natively", lambda *_: False)
    monkeypatch.setattr(RaggedRunner, "use_kernels", lambda runner, *_: setattr(runner, "has_kernels", True))
    monkeypatch.setattr("torch.cuda.get_device_name", lambda device: "NVIDIA H200")


def load(mark: TrialMark, **options: object) -> BlockSpan:
    return span_of(CHECKPOINT, SPAN, trying=mark.trying, **options)


def marks(folder: Path) -> list[Path]:
    return [*folder.rglob("kernels-on-trial-*")]


def has_kernels(blocks: BlockSpan) -> bool:
    assert blocks.runner is not None
    return blocks.runner.has_kernels


def load_with_fault(mark: TrialMark) -> None:
    """What happens in a process before a fault ends its use of the device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accelerators, "synchronize", Mock(side_effect=ILLEGAL))
        patch.setattr(trial, "_compare", Mock(side_effect=ILLEGAL))
        with pytest.raises(torch.AcceleratorError):  # taken neither for wrong numbers nor for a family without steps
            load(mark)


def test_after_a_fault_in_a_trial_later_processes_run_plain_for_a_day_and_say_so(tmp_path: Path) -> None:
    mark = TrialMark(tmp_path / "blocks", CPU, "llama")
    load_with_fault(mark)
    for _ in range(2):
        blocks = load(mark, cache_quantization="int8")
        assert blocks.no_kernels == FAULT
        assert blocks.step_ways.startswith(f"plain: {FAULT.reason}")
    (path,) = marks(tmp_path)
    os.utime(path, (time.time() - 90_000, time.time() - 90_000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "_compare", Mock())
        assert has_kernels(load(mark))
    assert not marks(tmp_path)


@pytest.mark.parametrize(
    "changed", ["torch.cuda.get_device_name", "potluck_engine.weights.loading._version_of", "os.getpid", "family"]
)
def test_a_mark_counts_only_for_what_was_tried_and_when_its_process_is_over(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = TrialMark(tmp_path, CPU, "llama")
    load_with_fault(mark)
    if changed == "family":
        mark = TrialMark(tmp_path, CPU, "qwen3")
    else:
        monkeypatch.setattr(changed, lambda *_: os.getppid() if changed == "os.getpid" else "another")
    with mark.trying() as problem:
        assert problem is None


@pytest.mark.parametrize("end", [None, trial.NotRaggedError("other numbers"), ILLEGAL, torch.OutOfMemoryError("full")])
@pytest.mark.parametrize("cache_quantization", ["none", "int8"])
def test_a_trial_after_which_the_device_works_leaves_no_mark(
    end: Exception | None, cache_quantization: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[int] = []

    def compare(runner: RaggedRunner, *_: object) -> None:
        there.append(len(marks(tmp_path)))
        if end is not None and runner.has_kernels and runner.layout.is_int8 == (cache_quantization == "int8"):
            raise end

    monkeypatch.setattr(trial, "_compare", compare)
    blocks = load(TrialMark(tmp_path, CPU, "llama"), cache_quantization=cache_quantization)
    assert has_kernels(blocks) == (end is None)
    assert there[0] == 1
    assert not marks(tmp_path)


def test_a_fault_in_the_measurement_is_marked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_compare", Mock())
    blocks = load(TrialMark(tmp_path, CPU, "llama"))
    monkeypatch.setattr(service, "check_blocks", Mock())
    monkeypatch.setattr(service, "measure_speed", Mock(side_effect=ILLEGAL))
    with monkeypatch.context() as patch:
        patch.setattr(accelerators, "synchronize", Mock(side_effect=ILLEGAL))
        with pytest.raises(torch.AcceleratorError):
            service._prove(blocks)
    assert marks(tmp_path)


def test_no_rank_uses_kernels_while_another_has_a_mark(tmp_path: Path) -> None:
    """Each asks whether all may; this one may."""
    blocks = span_of(CHECKPOINT, SPAN)
    asked: list[bool] = []

    class Ranks:
        def agree(self, holds: bool) -> bool:
            asked.append(holds)
            return False

    blocks.try_out(Ranks(), trying=TrialMark(tmp_path, CPU, "llama").trying)
    assert asked == [True]
    assert isinstance(blocks.no_kernels, NoKernels)


def test_engines_on_other_cards_and_with_other_models_keep_marks_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_with_fault(TrialMark(tmp_path, CPU, "llama"))
    (left,) = marks(tmp_path)
    with TrialMark(tmp_path, CPU, "qwen3").trying(), TrialMark(tmp_path, torch.device("cpu", 1), "llama").trying():
        assert len(marks(tmp_path)) == 3
    assert marks(tmp_path) == [left]
    monkeypatch.setattr("os.getpid", lambda: 1)
    forget_marks(tmp_path)
    assert marks(tmp_path) == [left]


@pytest.mark.parametrize("is_lost", [False, True])
async def test_a_trial_that_is_called_off_leaves_a_mark_only_if_a_device_is_lost(
    is_lost: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_loader, "blocks_folder", lambda: tmp_path)
    device = DeviceWatch(CPU)
    loader, may_go_on = BlockLoader(Machine(tmp_path / "run").engine.spec, device), threading.Event()

    def load() -> Mock:
        for rank in range(2):  # the second trial begins after the load was called off
            with TrialMark(tmp_path / f"rank-{rank}-of-2", CPU, "llama").trying():
                may_go_on.wait(60)
                may_go_on.clear()
        return Mock()

    loading = asyncio.create_task(loader.run(load))
    await until(lambda: len(marks(tmp_path)) == 1)
    device.has_lost = is_lost
    await cancel_and_wait(loading)
    assert bool(marks(tmp_path)) == is_lost
    may_go_on.set()
    await until(lambda: bool(marks(tmp_path / "rank-1-of-2")))
    await loader.close()
    assert bool(marks(tmp_path)) == is_lost
    may_go_on.set()
