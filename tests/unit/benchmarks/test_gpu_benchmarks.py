"""The code of the GPU's figures, run on the CPU with tiny blocks; and without a GPU it says so."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
import torch

from benchmarks.__main__ import main
from benchmarks.figures import Figure
from benchmarks.gpu.blocks import LLAMA_8B, Shape, as_fits, random_blocks
from benchmarks.gpu.decode import share_of_copy
from benchmarks.gpu.figures import GPU_FIGURES
from benchmarks.gpu.offload import measure_moves, share_of_pinned
from benchmarks.gpu.passes import share_of_bus, share_of_peak
from potluck.blocks.residency import Room

ROOT = Path(__file__).parents[3]
CPU = torch.device("cpu")
TINY = Shape(hidden_size=64, intermediate_size=96, num_heads=4, num_kv_heads=2, num_blocks=3)


@pytest.mark.parametrize("figure", GPU_FIGURES.values(), ids=list(GPU_FIGURES))
def test_every_gpu_figure_has_a_function_that_measures_it(figure: Figure) -> None:
    module, _, function = figure.function.partition(":")
    assert callable(getattr(import_module(f"benchmarks.{module}"), function))


@pytest.mark.parametrize("figure", GPU_FIGURES.values(), ids=list(GPU_FIGURES))
def test_the_list_of_figures_names_every_gpu_figure_with_its_goal(figure: Figure) -> None:
    rows = [
        line
        for line in (ROOT / "benchmarks" / "README.md").read_text().splitlines()
        if line.startswith(f"| `{figure.name}` |")
    ]
    assert [row.split("|")[3].strip() for row in rows] == [f"{figure.reach:g} {figure.unit}"]


@pytest.mark.parametrize("rows", [1, 3])
def test_decode_is_measured_as_a_share_of_a_copy(rows: int) -> None:
    measured = share_of_copy(TINY, CPU, rows=rows, rounds=3, context=40, copied=1 << 20)
    assert measured.value > 0
    assert "graphs" not in str(measured.detail["ways"])
    assert measured.detail["tokens_a_second"] > 0


def test_int4_and_experts_read_less_than_all_weights() -> None:
    experts = Shape(64, 32, num_heads=4, num_kv_heads=2, num_blocks=1, num_experts=8, chosen=2)
    read = [
        share_of_copy(replace(shape, num_blocks=1), CPU, rows=1, rounds=1, context=8, copied=1 << 20, quantization=kind)
        for shape, kind in ((TINY, "int4"), (experts, "none"))
    ]
    assert all(measured.value > 0 for measured in read)


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


@pytest.mark.parametrize("has_gpu", [True, False])
def test_the_list_names_gpu_figures_where_there_is_a_gpu(
    has_gpu: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.__main__.has_gpu", lambda: has_gpu)
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--list"])
    assert main() == 0
    assert ("gpu_decode_1 " in capsys.readouterr().out) is has_gpu


@pytest.mark.parametrize(("memory_gb", "num_blocks"), [(12, 16), (24, 32), (80, 32)])
def test_a_small_gpu_is_measured_with_as_many_blocks_as_it_holds(memory_gb: int, num_blocks: int) -> None:
    assert as_fits(LLAMA_8B, memory_gb * 10**9).num_blocks == num_blocks


def test_without_a_gpu_and_without_hivemind_measuring_fails_and_says_why() -> None:
    code = (
        "import sys; sys.modules |= dict.fromkeys(('hivemind', 'potluck_daemon', 'potluck.p2p', 'pytest')); "
        "import benchmarks.gpu.decode, benchmarks.gpu.offload; "
        "from benchmarks.gpu.__main__ import main; sys.argv = ['x']; sys.exit(main())"
    )
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (1, "there is no GPU: nothing was measured")


def test_without_a_gpu_the_whole_run_fails() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    run = subprocess.run(
        ["benchmarks/gpu/run"], cwd=ROOT, env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert "finds no GPU" in run.stderr
