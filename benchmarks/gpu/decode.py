"""Decode steps near the memory's speed: `gpu_decode_1`, `gpu_decode_32`, `gpu_int4_1` and `gpu_experts_1`.

A step is what the engine does with rows that arrived: plan, hidden states to the device, all blocks, results back. It
has to read every weight that its tokens use and the rows' keys and values once; these bytes a second are compared with
a plain copy's, which is measured once the blocks are gone: a small card has no room for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.figures import Measured, figure
from benchmarks.gpu.blocks import LLAMA_8B, QWEN3_30B, Shape, as_fits, device_bytes, random_blocks
from benchmarks.gpu.speeds import copy_bps, held_bytes, median_s, name_of
from potluck.blocks.cache.kv_memory import KvMemory, KvSequence
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.step_plans import StepRow, plan_step

CONTEXT_TOKENS = 1024
_MOST_HELD_BYTES = 128 << 20  # when everything is gone but small tensors that are kept; a block has three times as many


@figure("gpu_decode_1", unit="share", reach=0.8, better="higher", shown=True)
def one_row(soak: bool) -> Measured:
    """Share of the measured copy bandwidth that decode of 1 session reaches: 32 blocks shaped as Llama 8B's, bf16."""
    return _of_llama(rows=1, rounds=400 if soak else 100)


@figure("gpu_decode_32", unit="share", reach=0.75, better="higher")
def many_rows(soak: bool) -> Measured:
    """Share of the measured copy bandwidth that decode of 32 sessions in one step reaches: blocks shaped as Llama 8B's,
    bf16.
    """
    return _of_llama(rows=32, rounds=400 if soak else 100)


@figure("gpu_int4_1", unit="share", reach=0.6, better="higher", shown=True)
def int4_one_row(soak: bool) -> Measured:
    """Share of the copy bandwidth that decode of 1 session reaches in int4, over bytes as held.

    Each block is on the device in bf16 before it is converted.
    """
    return _of(LLAMA_8B, rows=1, rounds=400 if soak else 100, quantization="int4")


@figure("gpu_experts_1", unit="share", reach=0.5, better="higher")
def experts_one_row(soak: bool) -> Measured:
    """Share of the copy bandwidth that decode of 1 session reaches: blocks shaped as Qwen3-30B-A3B's, bf16; int4 in
    `detail`.
    """
    rounds = 400 if soak else 100
    measured = _of(QWEN3_30B, rows=1, rounds=rounds)
    int4 = _of(QWEN3_30B, rows=1, rounds=rounds, quantization="int4")
    detail = {**measured.detail, "int4": {"share": round(int4.value, 4), **int4.detail}}
    return Measured(measured.value, detail, measured.holds and int4.holds)


def _of_llama(*, rows: int, rounds: int) -> Measured:
    return _of(LLAMA_8B, rows=rows, rounds=rounds)


def _of(shape: Shape, *, rows: int, rounds: int, quantization: str = "none") -> Measured:
    device = torch.device("cuda")
    fitting = as_fits(shape, device_bytes(device))
    return share_of_copy(fitting, device, rows=rows, rounds=rounds, quantization=quantization)


def share_of_copy(
    shape: Shape,
    device: torch.device,
    *,
    rows: int,
    rounds: int,
    context: int = CONTEXT_TOKENS,
    copied: int = 4 << 30,
    quantization: str = "none",
) -> Measured:
    """Args: rows: sessions, one token each; context: tokens that each holds before; copied: bytes of the plain copy."""
    decoded = _decode(shape, device, rows=rows, rounds=rounds, context=context, quantization=quantization)
    held_bytes(device)
    speed = copy_bps(device, copied)
    held = held_bytes(device)
    detail: dict[str, Any] = {
        "ms_a_step": round(decoded.step_s * 1e3, 4),
        "eager_ms_a_step": round(decoded.eager_s * 1e3, 4),
        "eager_share": round(decoded.num_bytes / decoded.eager_s / speed, 4),
        "tokens_a_second": round(rows / decoded.step_s, 1),
        "copy_gbps": round(speed / 1e9, 1),
        "read_gb_a_step": round(decoded.num_bytes / 1e9, 3),
        "held_mb_after": round(held / 1e6, 1),
        "ways": decoded.ways,
        "device": name_of(device),
        "blocks": shape.num_blocks,
        "context_tokens": context,
        "steps": rounds,
    }
    return Measured(decoded.num_bytes / decoded.step_s / speed, detail, holds=held <= _MOST_HELD_BYTES)


@dataclass(frozen=True, slots=True)
class _Decoded:
    """Seconds of a step and of the family's own code for it, and the bytes that either must read."""

    step_s: float
    eager_s: float
    num_bytes: int
    ways: str


def _decode(shape: Shape, device: torch.device, *, rows: int, rounds: int, context: int, quantization: str) -> _Decoded:
    """Decode with blocks that are gone when this returns."""
    blocks = random_blocks(shape, device, dtype=torch.bfloat16, quantization=quantization)
    step_s = median_s(_DecodeSteps(blocks, rows, context, most_steps=rounds + 3).run, device, rounds=rounds)
    held_bytes(device)  # frees the sessions' keys and values
    eager_s = median_s(_family_steps(blocks, rows, context), device, rounds=min(rounds, 30))
    weight_bytes = sum(parameter.nbytes for parameter in blocks.layers.parameters())
    if shape.num_experts:  # a token reads only those that it chose
        experts = sum(parameter.nbytes for name, parameter in blocks.layers.named_parameters() if ".experts." in name)
        weight_bytes -= experts * (shape.num_experts - min(rows * shape.chosen, shape.num_experts)) // shape.num_experts
    kv_bytes = rows * (context + rounds // 2) * blocks.bytes_per_token
    return _Decoded(step_s, eager_s, weight_bytes + kv_bytes, blocks.step_ways)


class _DecodeSteps:
    """Sessions that each take one token a step."""

    def __init__(self, blocks: BlockSpan, rows: int, context: int, most_steps: int) -> None:
        self._blocks = blocks
        length = context + most_steps
        self._memory: KvMemory = blocks.new_memory(rows * (length + 16))
        self._sequences: list[KvSequence] = [self._memory.new_sequence() for _ in range(rows)]
        for sequence in self._sequences:
            self._memory.reserve(sequence, length)
            hidden = torch.randn(context, blocks.hidden_size).to(blocks.device, blocks.dtype)
            blocks.run_step(plan_step(self._memory, [StepRow(sequence, context)]), hidden, self._memory)
            self._memory.advance(sequence, context)
        self._hidden = torch.randn(rows, blocks.hidden_size).to(blocks.dtype)

    def run(self) -> torch.Tensor:
        plan = plan_step(self._memory, [StepRow(sequence, 1) for sequence in self._sequences])
        output = self._blocks.run_step(plan, self._hidden.to(self._blocks.device), self._memory).cpu()
        for sequence in self._sequences:
            self._memory.advance(sequence, 1)
        return output


def _family_steps(blocks: BlockSpan, rows: int, context: int) -> Any:
    """The family's own code with a cache of as many rows: what there would be without the engine's own ways."""
    cache = blocks.new_cache()
    hidden = torch.randn(rows, 1, blocks.hidden_size).to(blocks.device, blocks.dtype)

    @torch.inference_mode()
    def run() -> torch.Tensor:
        return blocks.forward(hidden, cache)

    with torch.inference_mode():
        for _ in range(0, context, 128):
            blocks.forward(hidden.expand(-1, 128, -1), cache)
    return run
