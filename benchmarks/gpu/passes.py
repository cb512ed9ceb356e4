"""Passes bound by arithmetic and by the bus: `gpu_prefill` and `gpu_stream`."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.figures import Measured, figure
from benchmarks.gpu.blocks import LLAMA_8B, Shape, ample_room, as_fits, device_bytes, random_blocks
from benchmarks.gpu.speeds import median_s, name_of, peak_flops, pinned_bps
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.blocks.streaming.placement import NUM_SLOTS

_PROMPTS = (512, 2048, 8192)
_PIECE_TOKENS = 512  # the size of an engine's steps by default
_STREAMED_BLOCKS = 12
_FILE_BYTES = 1 << 16  # the most that a file of one block has besides its tensors


@figure("gpu_prefill", unit="share", reach=0.5, better="higher", shown=True)
def prefill(soak: bool) -> Measured:
    """Prefills of 512, 2,048 and 8,192 tokens in pieces, as a share of a large product's speed; the worst counts."""
    device = torch.device("cuda")
    return share_of_peak(as_fits(LLAMA_8B, device_bytes(device)), device, rounds=10 if soak else 3)


@figure("gpu_stream", unit="share", reach=0.9, better="higher")
def stream(soak: bool) -> Measured:
    """Passes through streamed blocks, as a share of pinned memory's speed in the same run."""
    device = torch.device("cuda")
    shape = as_fits(replace(LLAMA_8B, num_blocks=_STREAMED_BLOCKS), device_bytes(device))
    return share_of_bus(shape, device, rounds=20 if soak else 5)


def share_of_peak(
    shape: Shape, device: torch.device, *, rounds: int, prompts: tuple[int, ...] = _PROMPTS, side: int = 8192
) -> Measured:
    """Compare prefills in pieces with a product of two square matrices; the worst prompt counts.

    Args:
        side: of these matrices.
    """
    blocks = random_blocks(shape, device, dtype=torch.bfloat16)
    memory = blocks.new_memory(max(prompts) + 16)
    peak = peak_flops(device, side)
    shares: dict[int, float] = {}
    for tokens in prompts:
        hidden = torch.randn(tokens, shape.hidden_size).to(device, torch.bfloat16)

        def run(hidden: torch.Tensor = hidden) -> None:
            sequence = memory.new_sequence()
            for start in range(0, len(hidden), _PIECE_TOKENS):
                piece = hidden[start : start + _PIECE_TOKENS]
                memory.reserve(sequence, sequence.length + len(piece))
                blocks.run_step(plan_step(memory, [StepRow(sequence, len(piece))]), piece, memory)
                memory.advance(sequence, len(piece))
            memory.free(sequence)

        numbers = shape.attention_numbers + shape.expert_numbers
        scores = 2 * tokens**2 * shape.num_heads * shape.head_dim  # two products of half the square of tokens
        flops = shape.num_blocks * (2 * numbers * tokens + scores)
        shares[tokens] = flops / median_s(run, device, rounds=rounds) / peak
    detail: dict[str, Any] = {
        "shares": {tokens: round(share, 4) for tokens, share in shares.items()},
        "peak_tflops": round(peak / 1e12, 1),
        "piece_tokens": _PIECE_TOKENS,
        "ways": blocks.step_ways,
        "device": name_of(device),
        "blocks": shape.num_blocks,
    }
    return Measured(min(shares.values()), detail)


def share_of_bus(shape: Shape, device: torch.device, *, rounds: int, copied: int = 1 << 30) -> Measured:
    """Compare passes of one token through blocks that all come from pinned memory with a plain copy from it."""
    with tempfile.TemporaryDirectory() as folder:  # a CPU streams from files in it, a GPU writes none
        block_bytes = 2 * (shape.attention_numbers + shape.expert_numbers + 2 * shape.hidden_size)
        room = replace(
            ample_room(Path(folder)),
            device_bytes=NUM_SLOTS * block_bytes,
            disk_bytes=shape.num_blocks * (block_bytes + _FILE_BYTES),
        )
        blocks = random_blocks(shape, device, dtype=torch.bfloat16, room=room)
        hidden = torch.randn(1, 1, shape.hidden_size).to(device, torch.bfloat16)
        streamed = blocks.weights.placement.streamed_bytes

        @torch.inference_mode()
        def run() -> torch.Tensor:
            return blocks.forward(hidden)

        pass_s = median_s(run, device, rounds=rounds)
        blocks.weights.free()
    speed = pinned_bps(device, copied)
    detail = {
        "gbps": round(streamed / pass_s / 1e9, 2),
        "pinned_gbps": round(speed / 1e9, 2),
        "streamed_gb": round(streamed / 1e9, 2),
        "device": name_of(device),
    }
    return Measured(streamed / pass_s / speed, detail, holds=streamed > 0)
