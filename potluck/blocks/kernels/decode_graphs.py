"""Records small steps as CUDA graphs, of decode rows, drafts and short pieces of prompts: one launch, not hundreds.

Each bucket of tokens (1, 2, 4, ...) gets a graph when it is first needed, in which each token is a row of its own.
Tokens that pad a bucket write to the memory's spare page and attend to nothing. A step copies its inputs (positions,
slots, page tables, hidden state) to where the graph reads them. A step without a graph runs in the normal way; after
one failed capture all steps do.

`DecodeGraphs.decide` is pure: with several ranks, only rank 0 decides, and the decision travels with the step's plan.

A graph holds addresses of the weights and of one KV memory, so it is dropped before the weights move. See
docs/decisions/0011-cuda.md.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from potluck.blocks.accelerators import empty_cache, memory_of
from potluck.blocks.cache.kv_memory import KvMemory
from potluck.blocks.span.step_plans import GraphStep, PlannedRow, StepMemory, StepPlan, StepTensors, num_pages_of

MAX_BUCKET = 64  # tokens; larger steps compute long enough to hide their launches

_MOST_READ_AGAIN = 64 << 10
"""Limit of the tokens of pasts that a graph reads again: each token of a row reads the row's past for itself, where a
tile of tokens would read it together. So drafts behind long texts use graphs, and pieces of long prompts don't. Not
measured."""

_RECORDING_BYTES = 128 << 20
"""Memory for recording a graph. Estimated: 32 MiB for cuBLAS on Hopper, and some 20 each for a run and the graph."""

log = logging.getLogger(__name__)

RunBlocks = Callable[[Tensor, StepTensors, KvMemory], Tensor]
"""Runs all blocks of the span. Shapes: hidden [tokens, hidden_size], and the result."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Recorded work: `replay` reads the same memory as the recorded run and writes `output`."""

    replay: Callable[[], None]
    output: Tensor


Record = Callable[[Callable[[], Tensor]], Recording]

Agree = Callable[[bool], bool]
"""Returns whether this holds on all ranks, each of which must ask."""


class GraphRecorder:
    """Records CUDA graphs of one device. They share memory, because only one replays at a time."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool: Any = None  # a handle, set by the first graph
        self._graphs: weakref.WeakSet[Any] = weakref.WeakSet()

    def record(self, work: Callable[[], Tensor]) -> Recording:
        """Capture `work` as a graph. Raises any error of `work`, and RuntimeError if it cannot be captured.

        After an error the current stream is the same as before, and no later graph shares the memory of this one.
        """
        stream = _stream_of(self._device)
        stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(stream):  # a first run compiles kernels and sets up libraries
            work()
        torch.cuda.current_stream(self._device).wait_stream(stream)
        torch.cuda.synchronize(self._device)
        torch.cuda.empty_cache()
        if not self._graphs:  # torch accepts no handle again once all its graphs are gone
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        try:
            # Not torch.cuda.graph: its exit leaves the stream current if the capture fails.
            with torch.cuda.stream(stream):
                # Check only this thread: another may fetch weights or allocate memory meanwhile.
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
                try:
                    output = work()
                finally:
                    graph.capture_end()
        except BaseException:
            self._graphs.clear()  # some releases of torch never free the pool of a failed capture (pytorch#190348)
            graph.reset()
            torch.cuda.empty_cache()
            raise
        self._graphs.add(graph)
        return Recording(graph.replay, output)


@cache
def _stream_of(device: torch.device) -> Any:
    """Return the one stream on which all graphs are recorded, because cuBLAS keeps memory for each stream.

    Its kernels have priority over those of forward and backward calls.
    """
    return torch.cuda.Stream(device, priority=-1)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class _Bucket:
    recording: Recording
    noted: dict[int, Tensor]
    numbers: StepMemory
    hidden: Tensor


def bucket_of(num_tokens: int) -> int | None:
    """Return the smallest power of two that holds `num_tokens` tokens, or None if they are too many."""
    bucket = 1 << max(num_tokens - 1, 0).bit_length()
    return bucket if bucket <= MAX_BUCKET else None


def pad_rows(rows: Sequence[PlannedRow], bucket: int, memory: KvMemory) -> list[PlannedRow]:
    """Return the rows padded by fillers to the bucket's size; fillers write to the spare page."""
    tables = dict.fromkeys(memory.used_groups, (0, ((memory.spare_page, 1),)))
    filler = PlannedRow(memory.layout.span, 0, 1, tables, is_filler=True)
    return [*rows, *[filler] * (bucket - sum(row.tokens for row in rows))]


class DecodeGraphs:
    """The graphs of one span.

    Args:
        agree: lets several ranks agree, which use no graphs unless all of them could record one.
        noted: see `Routers.noted`; a replay puts the tensors there to which it writes.

    Attributes:
        has_failed: one graph could not be recorded, so no other is tried.
    """

    def __init__(
        self,
        run_blocks: RunBlocks,
        device: torch.device,
        record: Record,
        agree: Agree = bool,
        noted: dict[int, Tensor] | None = None,
    ) -> None:
        self.has_failed = False
        self._run_blocks = run_blocks
        self._device = device
        self._record = record
        self._agree = agree
        self._noted = {} if noted is None else noted
        self._buckets: dict[int, _Bucket] = {}
        self._memory: weakref.ref[KvMemory] | None = None
        self._addresses: list[int] = []

    def decide(self, plan: StepPlan, memory: KvMemory) -> GraphStep | None:
        """Return how a step through all blocks uses a graph; None if it runs without one."""
        size = bucket_of(plan.num_tokens)
        if size is None or self.has_failed:
            return None
        if num_pages_of(pad_rows(plan.rows, size, memory)) > _num_pages(size, memory):
            return None  # a page that rows share is listed for each of them
        if sum((row.tokens - 1) * row.position for row in plan.rows) > _MOST_READ_AGAIN:
            return None
        return GraphStep(size, is_new=size not in self._buckets or not self._are_for(memory))

    def run(self, step: GraphStep, rows: Sequence[PlannedRow], hidden: Tensor, memory: KvMemory) -> Tensor | None:
        """Run a step as `decide` decided; return None if its graph cannot be recorded.

        Shapes: hidden and result [tokens, hidden_size], on the device.
        """
        if step.is_new and not self._new_bucket(step.bucket, memory, hidden):
            return None
        bucket = self._buckets[step.bucket]
        bucket.numbers.write(pad_rows(rows, step.bucket, memory))
        bucket.hidden[: len(hidden)].copy_(hidden)
        bucket.recording.replay()
        self._noted.update(bucket.noted)
        return bucket.recording.output[: len(hidden)].clone()  # the next replay overwrites it

    def forget(self) -> None:
        """Drop all graphs. Call it before weights or KV memory move."""
        self._buckets.clear()
        self._memory = None

    def _are_for(self, memory: KvMemory) -> bool:
        """Return whether the graphs are of this memory, and it is where it was when they were recorded."""
        return self._memory is not None and self._memory() is memory and self._addresses == _addresses_of(memory)

    def _new_bucket(self, size: int, memory: KvMemory, like: Tensor) -> bool:
        """Record a graph and return whether all ranks could."""
        if not self._are_for(memory):
            self.forget()
            self._memory, self._addresses = weakref.ref(memory), _addresses_of(memory)
        windows = {index: memory.groups[index].window for index in memory.used_groups}
        bucket = None
        has_room = self._agree is bool or _has_room(self._device)
        try:
            if not self._agree(has_room):  # a rank that fails in the first run leaves the others in an exchange
                raise torch.OutOfMemoryError("too little memory is free")
            numbers = StepMemory([1] * size, windows, num_pages=_num_pages(size, memory), device=self._device)
            numbers.write(pad_rows([], size, memory))
            hidden = like.new_zeros((size, like.shape[1]))
            recording = self._record(lambda: self._run_blocks(hidden, numbers.tensors, memory))
            bucket = self._buckets[size] = _Bucket(recording, dict(self._noted), numbers, hidden)
        except Exception as error:  # compilers and drivers fail in many ways
            log.warning("steps run without CUDA graphs: %s", str(error).partition("\n")[0])
        if self._agree(bucket is not None):
            return True
        self.has_failed = True
        self.forget()
        return False


def _has_room(device: torch.device) -> bool:
    empty_cache(device)
    return memory_of(device).free >= _RECORDING_BYTES


def _num_pages(bucket: int, memory: KvMemory) -> int:
    """Return how many pages the tables of a bucket's rows may list together."""
    return memory.num_pages + bucket * len(memory.used_groups)


def _addresses_of(memory: KvMemory) -> list[int]:
    return [tensor.data_ptr() for arena in memory.arenas for tensor in arena.tensors]
