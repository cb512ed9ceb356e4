"""CUDA graphs on several ranks, without a GPU: each rank's graph does its work again at each replay, on the CPU.

Rank 0 plans steps for sessions and sends the plans as bytes, as to another process. Both ranks must record and replay
in the same steps, because within a step they exchange data. Padding must not write to a page of a session, and rows of
one to five tokens side by side, as of decode, drafts and short pieces of prompts, must write to their own alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import torch
from torch import Tensor

from benchmarks.figures import Measured, figure
from potluck.blocks.cache.arenas import KvShape
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, KvSequence, LayerKv
from potluck.blocks.cache.pages import PAGE_TOKENS
from potluck.blocks.kernels.decode_graphs import DecodeGraphs, Recording
from potluck.blocks.span.step_plans import StepPlan, StepRow, StepTensors, plan_step
from potluck.protocol.blocks import Span
from potluck.protocol.codes import RemoteError

ROWS = (3, 5, 6, 7)
MOST_TOKENS = (1, 5)  # tokens of a row in a step
_CPU = torch.device("cpu")
_SPAN = Span(0, 1)
_TOKENS = 256
_PROMPT = 20


class _Rank:
    """One rank's memory and graphs."""

    def __init__(self) -> None:
        layout = KvLayout(_SPAN, (LayerKv(KvShape(1, 1, 1)),), torch.float32, _CPU)
        self.memory = KvMemory(layout, _TOKENS)
        self.memory.arenas[0].tensors[0].zero_()
        self.graphs = DecodeGraphs(_write_keys, _CPU, self._record)
        self.exchanges = 0  # how often the blocks ran: in each run the ranks exchange data

    def run(self, plan: StepPlan, hidden: Tensor) -> None:
        if plan.graph is not None:
            self.graphs.run(plan.graph, plan.rows, hidden, self.memory)
        self.exchanges += 1

    def _record(self, work: Callable[[], Tensor]) -> Recording:
        self.exchanges += 1
        output = work()

        def again() -> None:
            output.copy_(work())

        return Recording(again, output)


def _write_keys(hidden: Tensor, tensors: StepTensors, memory: KvMemory) -> Tensor:
    memory.arenas[0].tensors[0][0, 0].index_copy_(0, tensors.slots[0], hidden)
    return hidden.clone()


@figure("graph_pages_ranks", unit="faults", reach=0)
def ranks(soak: bool) -> Measured:
    """Sessions overwritten, and steps without a graph or that differ, on two ranks whose CUDA graphs the processor
    imitates.

    3, 5, 6 and 7 rows of one token, or of 1 to 5, also in a full pool.
    """
    overwritten = disagreed = steps = 0
    for num_rows in ROWS:
        for fills_pool, most_tokens in product((False, True), MOST_TOKENS):
            found = _decode(num_rows, most_tokens, num_steps=64 if soak else 8, fills_pool=fills_pool)
            overwritten, disagreed, steps = overwritten + found[0], disagreed + found[1], steps + found[2]
    return Measured(overwritten + disagreed, {"overwritten": overwritten, "disagreed": disagreed, "steps": steps})


def _decode(num_rows: int, most_tokens: int, *, num_steps: int, fills_pool: bool) -> tuple[int, int, int]:
    """Take all rows through steps at once; return overwritten sessions, steps that disagreed, and all steps."""
    first, other = _Rank(), _Rank()
    sequences = [first.memory.new_sequence(_SPAN) for _ in range(num_rows)]
    for number, sequence in enumerate(sequences, start=1):
        first.memory.reserve(sequence, _PROMPT)
        first.memory.advance(sequence, _PROMPT)
        for rank in (first, other):
            rank.memory.arenas[0].tensors[0][0, 0, _slots_of(sequence)] = float(number)
    if fills_pool:
        first.memory.pool.allocate(first.memory.free_pages)
    disagreed = done = 0
    for step in range(num_steps):
        tokens = [1 + (step + row) % most_tokens for row in range(num_rows)]
        try:
            for sequence, count in zip(sequences, tokens, strict=True):
                first.memory.reserve(sequence, sequence.length + count)
        except RemoteError:  # the pool is full
            break
        plan = plan_step(first.memory, list(map(StepRow, sequences, tokens)))
        plan = replace(plan, graph=first.graphs.decide(plan, first.memory))
        hidden = torch.arange(1.0, num_rows + 1).repeat_interleave(torch.tensor(tokens))[:, None]
        before = first.exchanges, other.exchanges
        first.run(plan, hidden)
        other.run(pickle.loads(pickle.dumps(plan)), hidden)
        disagreed += plan.graph is None or first.exchanges - before[0] != other.exchanges - before[1]
        for sequence, count in zip(sequences, tokens, strict=True):
            first.memory.advance(sequence, count)
        done += 1
    overwritten = sum(
        bool((rank.memory.arenas[0].tensors[0][0, 0, _slots_of(sequence)[: sequence.length]] != number).any())
        for rank in (first, other)
        for number, sequence in enumerate(sequences, start=1)
    )
    return overwritten, disagreed, done


def _slots_of(sequence: KvSequence) -> Tensor:
    """Return the slots of all tokens that the sequence's pages hold. Shape: [tokens]."""
    runs = sequence.tables[0].runs
    return torch.cat([torch.arange(start * PAGE_TOKENS, (start + count) * PAGE_TOKENS) for start, count in runs])
