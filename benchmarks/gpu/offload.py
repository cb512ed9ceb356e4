"""Giving the device back and taking it again: `gpu_offload` and `gpu_restore`.

One run does both: blocks of 40 GB, or of what fits a smaller device, with pinned copies in RAM are given back, the
device must be empty then, they are taken again, and a token must come out as before.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.figures import Measured, figure
from benchmarks.gpu.blocks import LLAMA_8B, ample_room, as_fits, device_bytes, random_blocks
from benchmarks.gpu.speeds import name_of, pinned_bps, synchronize
from potluck.blocks.accelerators import release_memory
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.streaming.placement import Room

NUM_BLOCKS = 92  # blocks of 436 MB
_LEAST_FREED = 0.99


@dataclass(frozen=True, slots=True)
class Moves:
    """Seconds of each round, and whether nothing was lost."""

    offload_s: list[float]
    restore_s: list[float]
    num_bytes: int
    holds: bool


@figure("gpu_offload", unit="s", reach=0.3, shown=True)
def offload(soak: bool) -> Measured:
    """Seconds to give 40 GB of blocks back."""
    moves, detail = _measure_8b(soak)
    return Measured(statistics.median(moves.offload_s), detail, moves.holds)


@figure("gpu_restore", unit="share", reach=0.9, better="higher")
def restore(soak: bool) -> Measured:
    """Speed of taking 40 GB of blocks again, as a share of pinned memory's speed in the same run."""
    moves, detail = _measure_8b(soak)
    share = share_of_pinned(moves, torch.device("cuda"))
    return Measured(share.value, detail | share.detail, moves.holds)


def share_of_pinned(moves: Moves, device: torch.device, num_bytes: int = 1 << 30) -> Measured:
    """Return how fast blocks came back, against a copy of `num_bytes` from pinned memory."""
    speed = pinned_bps(device, num_bytes)
    value = moves.num_bytes / statistics.median(moves.restore_s) / speed
    return Measured(value, {"pinned_gbps": round(speed / 1e9, 2)})


def measure_moves(blocks: BlockSpan, *, rounds: int) -> Moves:
    """Give the weights back and take them again, so many times."""
    hidden = torch.randn(1, 4, blocks.hidden_size).to(blocks.device, blocks.dtype)
    num_bytes = sum(parameter.nbytes for parameter in blocks.layers.parameters())
    before, holds = _forward(blocks, hidden), True
    offload_s, restore_s = [], []
    for _ in range(rounds):
        synchronize(blocks.device)
        used = _used_bytes(blocks.device)
        start = time.perf_counter()
        blocks.weights.free()
        release_memory(blocks.device)
        synchronize(blocks.device)
        offload_s.append(time.perf_counter() - start)
        if blocks.device.type == "cuda":
            holds &= used - _used_bytes(blocks.device) >= _LEAST_FREED * num_bytes
        start = time.perf_counter()
        blocks.weights.restore()
        synchronize(blocks.device)
        restore_s.append(time.perf_counter() - start)
        holds &= torch.equal(_forward(blocks, hidden), before)
    return Moves(offload_s, restore_s, num_bytes, holds)


def _measure_8b(soak: bool) -> tuple[Moves, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        room: Room = ample_room(Path(folder))
        device = torch.device("cuda")
        shape = as_fits(replace(LLAMA_8B, num_blocks=NUM_BLOCKS), device_bytes(device))
        blocks = random_blocks(shape, device, dtype=torch.bfloat16, room=room)
        moves = measure_moves(blocks, rounds=5 if soak else 3)
    detail = {
        "offload_s": [round(seconds, 4) for seconds in moves.offload_s],
        "restore_s": [round(seconds, 4) for seconds in moves.restore_s],
        "gb": round(moves.num_bytes / 1e9, 2),
        "freed_and_same_results": moves.holds,
        "device": name_of(blocks.device),
    }
    return moves, detail


@torch.inference_mode()
def _forward(blocks: BlockSpan, hidden: torch.Tensor) -> torch.Tensor:
    return blocks.forward(hidden).cpu()


def _used_bytes(device: torch.device) -> int:
    if device.type != "cuda":
        return 0
    free, total = torch.cuda.mem_get_info(device)
    return int(total - free)
