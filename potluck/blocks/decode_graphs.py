"""Decode steps as CUDA graphs: one launch a step instead of hundreds.

Each bucket of rows (1, 2, 4, ...) gets a graph when it is first needed. Rows that fill up a bucket write to a spare
page and attend to nothing. A step copies its inputs (positions, slots, page tables, hidden state) to where the graph
reads them. A step without a graph runs in the normal way; after one failed capture all steps do.

A graph holds addresses of the weights and of one KV memory, so it is dropped before the weights move. See
docs/decisions/0011-cuda.md: this code has never run on a GPU.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from potluck.blocks.kv import KvMemory
from potluck.blocks.pages import Run
from potluck.blocks.plans import PlannedRow
from potluck.blocks.step_tensors import StepMemory, StepTensors, num_pages_of
from potluck.protocol.codes import Code, RemoteError

MAX_BUCKET = 64  # rows; larger steps compute long enough to hide their launches

log = logging.getLogger(__name__)

RunBlocks = Callable[[Tensor, StepTensors, KvMemory], Tensor]
"""Runs all blocks of the span. Shapes: hidden [tokens, hidden_size], and the result."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Recorded work: `replay` reads the same memory as the recorded run and writes `output`."""

    replay: Callable[[], None]
    output: Tensor


Record = Callable[[Callable[[], Tensor]], Recording]


class GraphRecorder:
    """Records CUDA graphs of one device. They share memory, because only one replays at a time."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool: Any = None  # a handle, set by the first graph

    def record(self, work: Callable[[], Tensor]) -> Recording:
        """Capture `work` as a graph. Raises RuntimeError if memory runs out or the work cannot be captured."""
        # Kernels keep the priority of their capture stream, which puts them before those of forward and backward calls.
        stream = torch.cuda.Stream(self._device, priority=-1)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(stream):  # a first run compiles kernels and sets up libraries
            work()
        torch.cuda.current_stream(self._device).wait_stream(stream)
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # Check only this thread: another may fetch weights or allocate memory meanwhile.
        with torch.cuda.graph(graph, pool=self._pool, stream=stream, capture_error_mode="thread_local"):
            output = work()
        return Recording(graph.replay, output)


@dataclass(frozen=True, slots=True)
class _Bucket:
    recording: Recording
    numbers: StepMemory
    hidden: Tensor


def bucket_of(num_rows: int) -> int | None:
    """Return the smallest power of two that holds `num_rows` rows, or None if they are too many."""
    bucket = 1 << max(num_rows - 1, 0).bit_length()
    return bucket if bucket <= MAX_BUCKET else None


def filled_up(rows: Sequence[PlannedRow], bucket: int, memory: KvMemory, spare: Run) -> list[PlannedRow]:
    """Return the rows and as many fillers as the bucket needs; fillers write to the page `spare`."""
    tables = dict.fromkeys(memory.used_groups, (0, (spare,)))
    filler = PlannedRow(memory.layout.span, 0, 1, tables, is_filler=True)
    return [*rows, *[filler] * (bucket - len(rows))]


class DecodeGraphs:
    """The graphs of one span.

    Attributes:
        has_failed: one graph could not be recorded, so no other will be tried.
    """

    def __init__(self, run_blocks: RunBlocks, device: torch.device, record: Record) -> None:
        self.has_failed = False
        self._run_blocks = run_blocks
        self._device = device
        self._record = record
        self._buckets: dict[int, _Bucket] = {}
        self._memory: weakref.ref[KvMemory] | None = None
        self._addresses: list[int] = []
        self._spare: Run | None = None

    def run(self, rows: Sequence[PlannedRow], hidden: Tensor, memory: KvMemory) -> Tensor | None:
        """Run a step of one token a row through all blocks; return None if it must run without a graph.

        Shapes: hidden and result [rows, hidden_size], on the device.
        """
        size = bucket_of(len(rows))
        if size is None or self.has_failed or not self._has_spare_page(memory):
            return None
        assert self._spare is not None
        bucket = self._buckets.get(size) or self._new_bucket(size, memory, hidden)
        if bucket is None:
            return None
        filled = filled_up(rows, size, memory, self._spare)
        if num_pages_of(filled) > bucket.numbers.num_pages:  # a page that rows share is listed for each of them
            return None
        bucket.numbers.write(filled)
        bucket.hidden[: len(rows)].copy_(hidden)
        bucket.recording.replay()
        return bucket.recording.output[: len(rows)].clone()  # the next replay overwrites it

    def forget(self) -> None:
        """Drop all graphs. Call it before weights or KV memory move."""
        memory = self._memory() if self._memory is not None else None
        if memory is not None and self._spare is not None:
            memory.pool.release([self._spare])
        self._buckets.clear()
        self._memory = self._spare = None

    def _has_spare_page(self, memory: KvMemory) -> bool:
        """Reserve a page for fillers, and drop graphs of other memory. Return whether a page could be had."""
        addresses = [tensor.data_ptr() for arena in memory.arenas for tensor in arena.tensors]
        if self._memory is not None and self._memory() is memory and self._addresses == addresses:
            return True
        self.forget()
        try:
            (self._spare,) = memory.pool.allocate(1)
        except RemoteError as error:
            if error.code is not Code.NO_MEMORY:
                raise
            return False
        self._memory, self._addresses = weakref.ref(memory), addresses
        return True

    def _new_bucket(self, size: int, memory: KvMemory, like: Tensor) -> _Bucket | None:
        assert self._spare is not None
        windows = {index: memory.groups[index].window for index in memory.used_groups}
        num_pages = memory.num_pages + size * len(windows)
        try:
            numbers = StepMemory([1] * size, windows, num_pages=num_pages, device=self._device)
            numbers.write(filled_up([], size, memory, self._spare))
            hidden = like.new_zeros((size, like.shape[1]))
            recording = self._record(lambda: self._run_blocks(hidden, numbers.tensors, memory))
        except RuntimeError as error:
            log.warning("decode steps run without CUDA graphs: %s", str(error).partition("\n")[0])
            self.has_failed = True
            self.forget()
            return None
        bucket = self._buckets[size] = _Bucket(recording, numbers, hidden)
        return bucket
