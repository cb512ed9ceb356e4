"""The code of the GPU's figures, run on the CPU with tiny blocks; and without a GPU it says so."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.__main__ import main
from benchmarks.gpu.blocks import LLAMA_8B, Shape, as_fits, random_blocks
from benchmarks.gpu.decode import share_of_copy
from benchmarks.gpu.offload import measure_moves, share_of_pinned
from benchmarks.gpu.passes import share_of_bus, share_of_peak
from potluck.blocks.residency import Room

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


@pytest.mark.soak
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
