"""The code of the GPU's figures, run on the CPU with tiny blocks; and without a GPU it says so.

Imports nothing that a bare machine with a GPU lacks: `gpu_ready` runs these tests in such an environment.
"""

import os
import re
import subprocess
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from benchmarks.gpu.__main__ import main
from benchmarks.gpu.blocks import LLAMA_8B, Shape, as_fits, random_blocks
from benchmarks.gpu.decode import share_of_copy
from benchmarks.gpu.offload import measure_moves, share_of_pinned
from benchmarks.gpu.passes import share_of_bus, share_of_peak
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.streaming.placement import Room

ROOT = Path(__file__).parents[3]
CPU = torch.device("cpu")
TINY = Shape(hidden_size=64, intermediate_size=96, num_heads=4, num_kv_heads=2, num_blocks=3)
EXPERTS = Shape(64, 32, num_heads=4, num_kv_heads=2, num_blocks=1, num_experts=8, chosen=2)


@pytest.mark.parametrize(
    ("shape", "rows", "quantization"),
    [(TINY, 3, "none"), (replace(TINY, num_blocks=1), 1, "int4"), (EXPERTS, 1, "none")],
)
def test_decode_is_measured_as_a_share_of_a_copy(shape: Shape, rows: int, quantization: str) -> None:
    measured = share_of_copy(shape, CPU, rows=rows, rounds=1, context=8, copied=1 << 20, quantization=quantization)
    assert measured.value > 0
    assert "graphs" not in str(measured.detail["ways"])
    assert measured.detail["tokens_a_second"] > 0


def test_prefills_and_streamed_passes_are_measured_as_shares() -> None:
    prefills = share_of_peak(TINY, CPU, rounds=1, prompts=(8, 20), side=64)
    assert prefills.value > 0
    assert set(prefills.detail["shares"]) == {8, 20}
    streamed = share_of_bus(TINY, CPU, rounds=1, copied=1 << 20)
    assert streamed.holds
    assert streamed.value > 0


def test_blocks_are_given_back_and_taken_again_with_the_same_results(tmp_path: Path) -> None:
    room = Room(device_bytes=1 << 18, ram_bytes=1 << 30, disk_bytes=1 << 30, folder=tmp_path)
    blocks = random_blocks(replace(TINY, num_blocks=6), CPU, dtype=torch.float32, room=room)
    moves = measure_moves(blocks, rounds=2)
    assert moves.holds
    assert len(moves.offload_s) == len(moves.restore_s) == 2
    assert share_of_pinned(moves, CPU, num_bytes=1 << 20).value > 0


@pytest.mark.parametrize(("memory_gb", "num_blocks"), [(12, 16), (24, 32), (80, 32)])
def test_a_small_gpu_is_measured_with_as_many_blocks_as_it_holds(memory_gb: int, num_blocks: int) -> None:
    assert as_fits(LLAMA_8B, memory_gb * 10**9).num_blocks == num_blocks


def test_blocks_are_gone_before_the_copy_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small GPU has no room for both, nor for blocks in another format afterwards."""
    parameters: list[weakref.ref[torch.Tensor]] = []

    def watched(*arguments: Any, **options: Any) -> BlockSpan:
        blocks = random_blocks(*arguments, **options)
        parameters.extend(map(weakref.ref, blocks.layers.parameters()))
        return blocks

    def copy_bps(device: torch.device, num_bytes: int) -> float:
        assert [each for each in parameters if each() is not None] == []
        return 1e9

    monkeypatch.setattr("benchmarks.gpu.decode.random_blocks", watched)
    monkeypatch.setattr("benchmarks.gpu.decode.copy_bps", copy_bps)
    measured = share_of_copy(EXPERTS, CPU, rows=1, rounds=1, context=8)
    assert parameters
    assert measured.holds


@pytest.mark.parametrize("held", [1 << 20, 1 << 30])
def test_a_figure_that_leaves_blocks_on_the_gpu_does_not_hold(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.gpu.decode.held_bytes", lambda device: held)
    assert share_of_copy(TINY, CPU, rows=1, rounds=1, context=8, copied=1 << 20).holds is (held < 1 << 30)


@pytest.mark.parametrize(("package", "sentence"), [("triton", "no torch for CUDA"), (None, "there is no GPU")])
def test_measuring_without_a_gpu_or_without_triton_fails_in_one_sentence(
    package: str | None, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = {"triton": ModuleType("triton")} | ({package: None} if package else {})
    monkeypatch.setattr("sys.modules", sys.modules | modules)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["benchmarks.gpu", "gpu_decode_1"])
    assert main() == 1
    output = capsys.readouterr()
    assert (output.out, len(output.err.splitlines())) == ("", 1)
    assert sentence in output.err


_PYTHON = """#!/bin/sh
case "$*" in
    *what_lacks*) echo "$LACK" ;;
    *xdist*) exit 1 ;;
    *gpu_ranks*) echo 1 skipped ;;
    *) echo broken; exit 3 ;;
esac
"""


def _run(folder: Path, *parts: str, lack: str = "") -> subprocess.CompletedProcess[str]:
    python = folder / "python"
    python.write_text(_PYTHON)
    python.chmod(0o755)
    command = [ROOT / "benchmarks" / "gpu" / "run", "--out", folder / "out", *parts]
    environment = os.environ | {"PYTHON": str(python), "LACK": lack}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


def test_parts_run_after_one_that_fails_and_leave_logs_and_a_summary(tmp_path: Path) -> None:
    done = _run(tmp_path, "gpu_stream", "ranks")
    assert done.returncode == 1
    lines = done.stdout.splitlines()[-2:]
    assert [re.sub(r"\d+ s;", "", line) for line in lines] == [
        "gpu_stream: FAILED after  broken",
        "ranks: ok after  1 skipped",
    ]
    out = tmp_path / "out"
    assert (out / "summary.txt").read_text().splitlines() == lines
    assert (out / "gpu_stream.log").read_text() == "broken\n"
    assert (out / "ranks.log").read_text() == "1 skipped\n"
    assert _run(tmp_path, "ranks").returncode == 0


@pytest.mark.parametrize(("parts", "lack"), [(("ranks", "nonsense"), ""), (("ranks",), "there is no GPU")])
def test_nothing_runs_without_a_gpu_or_if_a_part_is_unknown(parts: tuple[str, ...], lack: str, tmp_path: Path) -> None:
    done = _run(tmp_path, *parts, lack=lack)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert (lack or "nonsense") in done.stderr
    assert not list(tmp_path.glob("out/*"))
