"""Decode steps as CUDA graphs: one launch a step instead of hundreds.

A graph is captured, lazily, for each bucket of rows (1, 2, 4, ...); rows that fill up a bucket write to a page of their
own and attend to nothing. What a step reads (positions, slots, page tables, the hidden state) is copied to where the
graph was captured reading it. A step that has no graph runs as it would anyway, and after one failed capture all do.

A graph holds addresses: those of the weights, which is why it is forgotten before they move, and of one KV memory.
Never run on a GPU so far; see docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from potluck.checkpoint.kv import KvMemory
from potluck.checkpoint.pages import Run
from potluck.checkpoint.step_tensors import StepMemory, StepTensors, TensorRow, num_pages_of
from potluck.protocol.codes import Code, RemoteError

MAX_BUCKET = 64  # rows; beyond, a step computes long enough to hide its launches

log = logging.getLogger(__name__)

RunBlocks = Callable[[Tensor, StepTensors, KvMemory], Tensor]
"""All blocks of the span over hidden [tokens, hidden_size]; returns the same."""


@dataclass(frozen=True, slots=True)
class _Captured:
    graph: torch.cuda.CUDAGraph
    numbers: StepMemory
    hidden: Tensor
    output: Tensor


def bucket_of(num_rows: int) -> int | None:
    """The smallest power of two that holds so many rows; None for too many."""
    bucket = 1 << max(num_rows - 1, 0).bit_length()
    return bucket if bucket <= MAX_BUCKET else None


def filled_up(rows: list[TensorRow], bucket: int, groups: range, spare: Run) -> list[TensorRow]:
    """The rows and as many more as the bucket has, which write to the page `spare`."""
    filler = TensorRow(0, 1, dict.fromkeys(groups, (0, (spare,))), is_filler=True)
    return rows + [filler] * (bucket - len(rows))


class DecodeGraphs:
    """The graphs of one span.

    Attributes:
        has_failed: a capture did not come off, so there will be no other.
    """

    def __init__(self, run_blocks: RunBlocks, device: torch.device) -> None:
        self._run_blocks = run_blocks
        self._device = device
        self._captured: dict[int, _Captured] = {}
        self._memory: weakref.ref[KvMemory] | None = None
        self._spare: Run | None = None
        self._pool: Any = None  # a handle, once there is a graph
        self.has_failed = False

    def run(self, rows: list[TensorRow], hidden: Tensor, memory: KvMemory) -> Tensor | None:
        """A step of one token a row, through all blocks; None where it has to be run without a graph.

        Shapes: hidden [rows, hidden_size] and the result, on the device.
        """
        bucket = bucket_of(len(rows))
        if bucket is None or self.has_failed or not self._has_spare_page(memory):
            return None
        captured = self._captured.get(bucket) or self._capture(bucket, memory, hidden)
        if captured is None:
            return None
        assert self._spare is not None
        filled = filled_up(rows, bucket, range(len(memory.groups)), self._spare)
        if num_pages_of(filled) > captured.numbers.num_pages:  # pages that rows share are listed for each
            return None
        captured.numbers.write(filled)
        captured.hidden[: len(rows)].copy_(hidden)
        captured.graph.replay()
        return captured.output[: len(rows)].clone()  # the next replay writes over it

    def forget(self) -> None:
        """Drop all graphs and their memory: weights or KV memory are about to move."""
        memory = self._memory() if self._memory is not None else None
        if memory is not None and self._spare is not None:
            memory.pool.release([self._spare])
        self._captured.clear()
        self._memory = self._spare = self._pool = None

    def _has_spare_page(self, memory: KvMemory) -> bool:
        if self._memory is not None and self._memory() is memory:
            return True
        self.forget()
        try:
            (self._spare,) = memory.pool.allocate(1)
        except RemoteError as error:
            if error.code is not Code.NO_MEMORY:
                raise
            return False
        self._memory = weakref.ref(memory)
        return True

    def _capture(self, bucket: int, memory: KvMemory, like: Tensor) -> _Captured | None:
        try:
            captured = self._try_to_capture(bucket, memory, like)
        except RuntimeError as error:  # out of memory, or something that cannot be captured
            log.warning("decode steps run without CUDA graphs: %s", str(error).partition("\n")[0])
            self.has_failed = True
            self.forget()
            return None
        self._captured[bucket] = captured
        return captured

    def _try_to_capture(self, bucket: int, memory: KvMemory, like: Tensor) -> _Captured:
        assert self._spare is not None
        windows = {index: group.window for index, group in enumerate(memory.groups)}
        num_pages = memory.num_pages + bucket * len(windows)
        numbers = StepMemory([1] * bucket, windows, num_pages=num_pages, device=self._device)
        numbers.write(filled_up([], bucket, range(len(windows)), self._spare))
        hidden = like.new_zeros((bucket, like.shape[1]))
        # Kernels keep the priority of the stream they are captured in: before those of forward and backward calls.
        stream = torch.cuda.Stream(self._device, priority=-1)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(stream):  # once before: kernels are compiled and libraries set up at their first use
            self._run_blocks(hidden, numbers.tensors, memory)
        torch.cuda.current_stream(self._device).wait_stream(stream)
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # Only this thread is watched: another may be fetching weights or taking memory meanwhile.
        with torch.cuda.graph(graph, pool=self._pool, stream=stream, capture_error_mode="thread_local"):
            output = self._run_blocks(hidden, numbers.tensors, memory)
        return _Captured(graph, numbers, hidden, output)
