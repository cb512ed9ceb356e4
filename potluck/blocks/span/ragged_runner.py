"""Runs one step for rows of many sessions: tokens packed side by side, attention by rows.

A `StepPlan` says what a step does. `RaggedRunner` calls the layers with [1, tokens, hidden_size], so that
everything but attention sees one long row. Rows may cover different blocks: a row joins before its first and leaves
after its last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, groupby
from typing import Any

import torch
from torch import Tensor

from potluck.blocks.accelerators import NoKernels, made_current
from potluck.blocks.adapters import Adapters
from potluck.blocks.cache.attention import share_latents
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, KvSequence
from potluck.blocks.cache.step_caches import PagedCache, RaggedCache, step_tensors
from potluck.blocks.formats.layers import multiply_quantised
from potluck.blocks.kernels.decode_graphs import Agree, DecodeGraphs, GraphRecorder
from potluck.blocks.kernels.fused import fused_layers
from potluck.blocks.kernels.whole_blocks import MOST_TOKENS, CannotRunWhole, NextTokens, WholeBlocks
from potluck.blocks.span.family_loop import FamilyLoop, LayerCalls
from potluck.blocks.span.implementations import GROUPED, IN_TURN, RAGGED, AttentionSwitch
from potluck.blocks.span.step_plans import PlannedRow, StepPlan, StepRow, StepTensors, plan_step
from potluck.blocks.streaming.weights import SpanWeights
from potluck.protocol.blocks import Span


class RaggedRunner:
    """Runs plans through the layers of one span.

    Attributes:
        no_kernels: why steps run on plain torch where kernels are expected; None elsewhere.
    """

    def __init__(self, loop: FamilyLoop, layout: KvLayout, calls: LayerCalls, adapters: Adapters) -> None:
        self.layout = layout
        self.calls = calls
        self.layers = loop.layers
        share_latents(loop.layers)
        self._switch = AttentionSwitch(loop.decoder)
        self._adapters = adapters
        self._routers = loop.routers
        self._called: list[Any] = list(loop.layers)
        self.has_kernels = False
        self.no_kernels: NoKernels | None = None
        self._graphs: DecodeGraphs | None = None
        self._whole: WholeBlocks | None = None
        # Products and attention are native wherever that is possible.
        is_on_cpu = layout.device.type == "cpu" or bool(loop.weights.placement.split)
        self._has_native_parts = layout.dtype is torch.bfloat16 and is_on_cpu

    def use_kernels(self, weights: SpanWeights, agree: Agree = bool) -> None:
        """Use the device's own kernels in later steps, and CUDA graphs for small steps where all weights stay there.

        Args:
            agree: see `DecodeGraphs`.
        """
        from potluck.blocks.kernels import block_operations, experts
        from potluck.blocks.kernels import products as grouped  # triton may be missing

        self.has_kernels = True
        multiply_quantised(self.layers, grouped.multiply)
        if weights.stream is None:
            self._called = fused_layers(self.layers, block_operations, experts.add_experts)
        if weights.is_resident:  # experts in RAM need the host
            record = GraphRecorder(self.layout.device).record
            self._graphs = DecodeGraphs(self._run_decode, self.layout.device, record, agree, self._routers.noted)
            weights.before_moves.append(self._graphs.forget)

    def use_whole(self, weights: SpanWeights) -> NoKernels | None:
        """Run whole blocks in C in later steps of very few tokens; return the reason if these blocks can't."""
        if weights.is_resident:
            try:
                self._whole = WholeBlocks(self.layers, self.layout, self.calls)
            except CannotRunWhole as error:
                return error.no_kernels
        return None

    @property
    def is_whole(self) -> bool:
        return self._whole is not None

    def use_plain(self) -> None:
        """Let the layers run their own code in later steps."""
        multiply_quantised(self.layers, None)
        self._called, self._graphs, self._whole = list(self.layers), None, None
        self.has_kernels = False

    @property
    def ways(self) -> str:
        """Return a text for people that says what a step runs on."""
        return f"{self._ways}, cache in int8" if self.layout.is_int8 else self._ways

    @property
    def _ways(self) -> str:
        if self.is_whole:
            return "native kernels, fused"
        if self.no_kernels is not None:
            return f"plain: {self.no_kernels.reason}"
        if not self.has_kernels:
            return "native kernels" if self._has_native_parts else "plain"
        fused = sum(called is not layer for called, layer in zip(self._called, self.layers, strict=True))
        has_graphs = self._graphs is not None and not self._graphs.has_failed
        kind = "fused" if fused == len(self.layers) else f"{fused} of {len(self.layers)} blocks fused"
        return f"{kind if fused else 'kernels'}, {'graphs' if has_graphs else 'no graphs'}"

    def decided(self, plan: StepPlan, memory: KvMemory, *, has_prompts: bool) -> StepPlan:
        """Return the plan with the decision whether it runs as a CUDA graph. Nothing changes."""
        if self._graphs is None or has_prompts or not plan.is_alike(self.layout.span):
            return plan
        return replace(plan, graph=self._graphs.decide(plan, memory))

    @torch.inference_mode()
    def run(
        self, plan: StepPlan, hidden: Tensor, memory: KvMemory, prompts: Mapping[int, Tensor] | None = None
    ) -> Tensor:
        """Run a step that `decided` returned, as `BlockSpan.run_step` describes."""
        if self._whole is not None and not prompts and (blocks := _whole_step(plan)) is not None:
            with suppress(CannotRunWhole):
                return self._whole.run(blocks, plan.rows, hidden, memory)
        starts = list(accumulate((row.tokens for row in plan.rows), initial=0))
        parts = plan.parts()
        hidden = hidden.clone() if prompts or len(parts) > 1 else hidden
        experts = GROUPED if self.has_kernels else IN_TURN if self._has_native_parts else None
        routers, whole = self._routers, range(len(self.layers))
        routers.begin()
        with self._switch.use(RAGGED, experts=experts), made_current(hidden.device):
            if plan.graph is not None:
                assert self._graphs is not None
                output = self._graphs.run(plan.graph, plan.rows, hidden, memory)
                if output is not None:
                    routers.collect(len(hidden), whole)
                    return output
            for blocks, rows in parts:
                tokens = None
                if len(rows) == len(plan.rows):
                    hidden = self._run_part(plan, blocks, rows, hidden, memory, prompts)
                else:
                    tokens = torch.cat([torch.arange(starts[row], starts[row + 1]) for row in rows]).to(hidden.device)
                    hidden[tokens] = self._run_part(plan, blocks, rows, hidden[tokens], memory, prompts)
                layers = whole[blocks.within(self.layout.span)]
                routers.collect(len(hidden), layers, tokens)
        return hidden

    @torch.inference_mode()
    def next_tokens(self, sequences: list[KvSequence], memory: KvMemory) -> NextTokens | None:
        """Prepare steps that most likely come next, as `BlockSpan.next_tokens` describes. They may never come."""
        if self._whole is not None:
            plan = plan_step(memory, [StepRow(sequence, 1) for sequence in sequences])
            if _whole_step(plan) is not None:
                with suppress(CannotRunWhole):
                    return self._whole.next_tokens(sequences, plan.rows, memory)
        return None

    def _run_part(
        self,
        plan: StepPlan,
        blocks: Span,
        rows: list[int],
        hidden: Tensor,
        memory: KvMemory,
        prompts: Mapping[int, Tensor] | None,
    ) -> Tensor:
        """Run some of the rows, whose tokens `hidden` holds, through blocks that all of them cover."""
        chosen = [plan.rows[row] for row in rows]
        cache: RaggedCache | PagedCache
        if self.has_kernels:
            tensors = step_tensors(memory, chosen, blocks, hidden.device)
            cache, positions = PagedCache(memory, tensors), tensors.positions
        else:
            numbers = [number for row in chosen for number in range(row.position, row.position + row.tokens)]
            cache, positions = RaggedCache(memory, chosen, blocks), torch.tensor([numbers], device=hidden.device)

        added: list[tuple[slice, int, Tensor]] = []  # tokens, first block, and prompts of its row
        start = 0
        for row, planned in zip(rows, chosen, strict=True):
            if prompts and row in prompts:
                added.append((slice(start, start + prompts[row].shape[1]), planned.span.start, prompts[row]))
            start += planned.tokens
        with self._adapters.using_each(_adapters_of(chosen)):
            return self._run_blocks(blocks, hidden, positions, cache, added)

    def _run_decode(self, hidden: Tensor, tensors: StepTensors, memory: KvMemory) -> Tensor:
        """Run all blocks without adapters or prompts; this is what CUDA graphs capture."""
        return self._run_blocks(self.layout.span, hidden, tensors.positions, PagedCache(memory, tensors))

    def _run_blocks(
        self,
        blocks: Span,
        hidden: Tensor,
        positions: Tensor,
        cache: RaggedCache | PagedCache,
        added: Sequence[tuple[slice, int, Tensor]] = (),
    ) -> Tensor:
        output: Any = hidden[None]
        calls = self.calls.make(output, positions, cache)
        base = self.layout.span.start
        for block in blocks:
            for tokens, first, prompt in added:
                output[0, tokens] += prompt[block - first]
            args, kwargs = calls[block - base]
            output = self._called[block - base](output, *args, **kwargs)
            if isinstance(output, tuple):
                output = output[0]
        result: Tensor = output[0]
        return result


def _whole_step(plan: StepPlan) -> Span | None:
    """Return the blocks of a step of very few tokens, all through the same blocks without adapters; or None."""
    blocks = plan.rows[0].span
    return blocks if plan.is_alike(blocks) and plan.num_tokens <= MOST_TOKENS else None


def _adapters_of(rows: Sequence[PlannedRow]) -> Iterator[tuple[slice, str | None]]:
    """Yield neighbouring tokens that go through the same adapter, or through none."""
    end = 0
    for adapter, some in groupby(rows, key=lambda row: row.adapter):
        start, end = end, end + sum(row.tokens for row in some)
        yield slice(start, end), adapter
