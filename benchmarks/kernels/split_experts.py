"""Blocks whose experts live in RAM, apart from their attention: `experts_in_ram`.

The device is a stand-in, the processor itself: what would cross to a card is counted where tensors are moved. Copies of
the first experts are made before counting begins, as part of loading. Texts then change their subject, so that experts
are swapped while bytes are counted.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from benchmarks.figures import Measured, figure
from benchmarks.gpu.blocks import Shape, random_blocks
from potluck.blocks.cache.kv_memory import KvMemory, KvSequence
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.blocks.streaming import split_experts, weights
from potluck.blocks.streaming.placement import NUM_SLOTS, Room

SHAPE = Shape(
    hidden_size=1024, intermediate_size=256, num_heads=8, num_kv_heads=2, num_blocks=4, num_experts=64, chosen=8
)
_CPU = torch.device("cpu")
_HOT_SHARE = 0.25
_WARM_STEPS, _STEPS, _SOAK_STEPS = 96, 2400, 7200
_TIMED_STEPS = 20
_TOLERANCE = 0.05  # the tolerance of the trial of a span with codes


@figure("experts_in_ram", unit="ratio", reach=1.1)
def crossing(soak: bool) -> Measured:
    """Bytes that cross for a token whose int4 experts are in RAM, swaps included, over those of its hidden state down
    and up.

    Four blocks with 64 experts, 8 of them active, a quarter of which has copies beside attention, on a stand-in
    device; some steps are compared and timed with the plain and the streamed way.
    """
    torch.manual_seed(0)
    steps = _SOAK_STEPS if soak else _STEPS
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        plain = _Way.of(_blocks(None))
        sizes = plain.blocks.weights.placement.sizes
        experts = [_experts_bytes(layer) for layer in plain.blocks.layers]
        hot = sum(sizes) - int((1 - _HOT_SHARE) * sum(experts))
        split = _Way.of(_blocks(Room(hot, sum(sizes), 0, Path(folder), takes_experts=True)))
        streamed = _Way.of(_blocks(Room(NUM_SLOTS * max(sizes), sum(sizes), 0, Path(folder))))
        before, after = (_Texts(seed) for seed in (1, 2))
        with _counted() as loading:
            for _ in range(_WARM_STEPS):
                split.step(before.token())
        with _counted() as crossed:
            for _ in range(steps):
                split.step(after.token())
        error = 0.0
        times: tuple[list[float], list[float]] = ([], [])
        for way in (plain, split, streamed):
            way.restart()
        for _ in range(_TIMED_STEPS):
            token = after.token()
            wanted = plain.step(token)
            for way, taken in zip((split, streamed), times, strict=True):
                begin = time.perf_counter()
                made = way.step(token)
                taken.append(time.perf_counter() - begin)
                error = max(error, float((made - wanted).abs().max() / wanted.abs().max()))
    activations = 2 * 2 * SHAPE.hidden_size * SHAPE.num_blocks  # down and up in bfloat16
    detail = {
        "placement": str(split.blocks.weights.placement),
        "bytes_a_token": round(crossed.num_bytes / steps),
        "activations_a_token": activations,
        "swaps": crossed.swaps,
        "copies_while_loading": loading.swaps,
        "share_of_streaming_time": round(statistics.median(a / b for a, b in zip(*times, strict=True)), 4),
        "step_ms": round(1000 * statistics.median(times[0]), 2),
        "streamed_step_ms": round(1000 * statistics.median(times[1]), 2),
        "error": round(error, 5),
    }
    return Measured(crossed.num_bytes / steps / activations, detail, holds=error <= _TOLERANCE)


@dataclass(slots=True)
class _Crossed:
    num_bytes: int = 0
    swaps: int = 0


@contextmanager
def _counted() -> Iterator[_Crossed]:
    """Count what is moved in the body."""
    crossed, move, copy = _Crossed(), split_experts.move_to, split_experts.SplitExperts._copy

    def moved(tensor: Tensor, device: torch.device, into: Tensor | None = None) -> Tensor:
        crossed.num_bytes += tensor.nbytes
        return move(tensor, device, into)

    def copied(self: Any, changes: list[tuple[int, int]]) -> None:
        crossed.swaps += len(changes)
        copy(self, changes)

    with (
        mock.patch.object(split_experts, "moved", moved),
        mock.patch.object(split_experts.SplitExperts, "_copy", copied),
    ):
        yield crossed


@dataclass(slots=True)
class _Way:
    blocks: BlockSpan
    memory: KvMemory
    sequence: KvSequence

    @classmethod
    def of(cls, blocks: BlockSpan) -> _Way:
        memory = blocks.new_memory(_SOAK_STEPS + 256)
        return cls(blocks, memory, memory.new_sequence())

    def restart(self) -> None:
        self.memory.free(self.sequence)
        self.sequence = self.memory.new_sequence()

    def step(self, token: Tensor) -> Tensor:
        self.memory.reserve(self.sequence, self.sequence.length + 1)
        output = self.blocks.run_step(plan_step(self.memory, [StepRow(self.sequence, 1)]), token, self.memory)
        self.memory.advance(self.sequence, 1)
        return output


class _Texts:
    """Hidden states about one subject, which prefer some experts."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        self._subject = torch.randn(1, SHAPE.hidden_size, generator=self._generator)

    def token(self) -> Tensor:
        noise = torch.randn(1, SHAPE.hidden_size, generator=self._generator)
        return (self._subject + noise).bfloat16()


def _blocks(room: Room | None) -> BlockSpan:
    torch.manual_seed(0)
    has_own_memory = mock.patch.object(
        weights, "_has_own_memory", return_value=True
    )  # blocks stream from copies in RAM
    with torch.inference_mode(False), has_own_memory:
        return random_blocks(SHAPE, _CPU, dtype=torch.bfloat16, room=room, quantization="int4")


def _experts_bytes(layer: Any) -> int:
    return sum(parameter.nbytes for name, parameter in layer.named_parameters() if ".experts." in name)
