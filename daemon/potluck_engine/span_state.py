"""Holds what the handlers share while an engine serves a span."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from potluck_control.engine_metrics import EngineMetrics
from potluck_control.launch_spec import ServingLimits

from potluck.blocks import BlockSpan
from potluck.blocks.accelerators import takes_one_thread
from potluck.blocks.pages import PAGE_TOKENS, pages_of
from potluck.blocks.reshaping import part_of
from potluck.membership.budgets import Budgets
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.records import NumberFormat
from potluck.protocol.swarm import Swarm
from potluck.wire.limits import Limits
from potluck_engine.admission import Admission
from potluck_engine.choices import ChoiceBook
from potluck_engine.compute.call_thread import CallThread
from potluck_engine.compute.executor import SpanExecutor
from potluck_engine.compute.step_thread import ComputeThread, Stage
from potluck_engine.compute.threads import Threads
from potluck_engine.load import Load, LoadMeter
from potluck_engine.loaded_blocks import LoadedBlocks
from potluck_engine.memory.paging import Paging
from potluck_engine.memory.parking import Parking
from potluck_engine.memory.private_adapters import PrivateAdapters
from potluck_engine.memory.spilling import SpillStore
from potluck_engine.ranks.ranked import RankedBlocks, loaded_blocks
from potluck_engine.receipts import Tabs
from potluck_engine.sessions import SessionTable

log = logging.getLogger(__name__)

_LAST_STEP_S = 2.0  # for the running step of a session that is ended
_MAX_PROMPT_TOKENS = 2048  # deep prompts of one message
_FRAME_SLACK_BYTES = 256 * 1024  # metadata and names of blocks


@dataclass(frozen=True, slots=True)
class SpanState:
    """A served span: its blocks, the threads that compute with them, its sessions and their memory.

    Attributes:
        blocks: for the compute thread.
        call_blocks: the same blocks for the call thread.
        stage: what the compute thread works with.
    """

    admission: Admission
    blocks: LoadedBlocks
    call_blocks: LoadedBlocks
    compute: ComputeThread
    calls: CallThread
    stage: Stage
    sessions: SessionTable
    parking: Parking
    meter: LoadMeter
    limits: ServingLimits
    wire_limits: Limits
    tabs: Tabs
    private: PrivateAdapters
    choices: ChoiceBook = field(default_factory=ChoiceBook)
    dtype: str = "float32"
    quantization: str = "none"

    @classmethod
    def of(
        cls,
        loaded: BlockSpan,
        swarm: Swarm,
        limits: ServingLimits,
        threads: Threads,
        *,
        spill_folder: Path | None = None,
        max_blocks: int = 0,
        tabs: Tabs | None = None,
        budgets: Budgets | None = None,
        private_adapter_bytes: int = 0,
    ) -> SpanState:
        """Make what serving `loaded` needs, and start nothing; `compute.perform(stage)` begins to serve.

        Args:
            spill_folder: where idle sessions go on a machine that computes in RAM; None: they keep their pages.
            max_blocks: how many blocks the span may grow to.
            private_adapter_bytes: memory for adapters that callers bring; 0: none are taken.
        """
        span = loaded.span
        blocks = loaded_blocks(loaded, piece_tokens=limits.piece_tokens)
        stage = _stage(blocks, limits, threads.compute, spill_folder, max_blocks)
        threads.calls.gate = stage.gate
        return cls(
            admission=Admission(swarm, span, loaded.digests, loaded.adapters.ids, budgets),
            blocks=blocks,
            call_blocks=loaded_blocks(blocks.new_part(span), piece_tokens=limits.piece_tokens),  # no step runs yet
            compute=threads.compute,
            calls=threads.calls,
            stage=stage,
            sessions=SessionTable(max_sessions=limits.max_sessions),
            parking=Parking(),
            meter=LoadMeter(),
            limits=limits,
            wire_limits=_wire_limits(limits, loaded.hidden_size, swarm.num_blocks, max(max_blocks, len(span))),
            tabs=tabs or Tabs(),
            private=PrivateAdapters(0 if isinstance(blocks, RankedBlocks) else private_adapter_bytes),
        )

    async def change(self, blocks: BlockSpan) -> None:
        """Exchange the blocks between two steps; some stay, others come or go.

        Blocks that go must not be in use. The caller frees their weights.
        """
        before = self.blocks.whole
        for_calls = await asyncio.to_thread(part_of, blocks, blocks.span)
        for session in self.parking.evict(blocks.span):
            self.compute.close(session.memory, None)

        def swap() -> None:
            if blocks.layout is not None:
                self.stage.paging.reshape(blocks.layout)
            for forget in before.weights.before_moves:
                forget()
            self.blocks.change(blocks)
            self.compute.scale_costs(len(blocks.span) / len(before.span))

        await self.compute.run(swap)
        await self.compute.perform(self.stage)
        self.call_blocks.change(for_calls)
        self.admission.serve(blocks.span, blocks.digests)

    async def hand_over(self, kept: Span, *, patience_s: float) -> None:
        """Return when only blocks of `kept` are in use; end sessions that use others after `patience_s`."""
        self.admission.kept = kept
        if await self.sessions.wait_gone(timeout_s=patience_s, kept=kept):
            return
        gone = RemoteError(Code.DRAINING, "these blocks leave this server")
        if not await self.sessions.end_all(gone, timeout_s=_LAST_STEP_S, kept=kept):
            log.warning("sessions were cut off that did not leave blocks in time")

    def resumed(self, swarm: Swarm, threads: Threads) -> SpanState:
        """Return the same blocks, pages and parked sessions for new threads, after the device was taken again."""
        threads.calls.gate = self.stage.gate
        self.stage.paging.count_in(threads.compute.counts)
        self.parking.is_open = False
        whole = self.blocks.whole
        admission = Admission(swarm, whole.span, whole.digests, whole.adapters.ids, self.admission.budgets)
        return replace(self, admission=admission, compute=threads.compute, calls=threads.calls)

    @property
    def format(self) -> NumberFormat:
        """Return in what format this span is computed, as the server announces it."""
        layout = self.blocks.whole.layout
        cache = "int8" if layout is not None and layout.is_int8 else "none"
        return NumberFormat(self.dtype, self.quantization, cache)

    @property
    def is_ragged(self) -> bool:
        """True if sessions can share steps."""
        return self.blocks.whole.is_ragged

    @property
    def free_tokens(self) -> int:
        """Number of tokens through the whole span for which there is room now."""
        return self.compute.page_counts.free * PAGE_TOKENS // self.stage.paging.pages_per_token_page

    def load(self, now: float) -> Load:
        return self.meter.load(now, rows=self.compute.counts.recent_rows)

    def metrics(self) -> EngineMetrics:
        counts, calls, weights = self.compute.counts, self.calls, self.blocks.whole.weights
        return EngineMetrics(
            decode_tokens=counts.decode_tokens,
            prefill_tokens=counts.prefill_tokens,
            shared_tokens=counts.shared_tokens,
            forward_tokens=calls.forward_tokens,
            backward_tokens=calls.backward_tokens,
            steps=counts.steps,
            step_rows=counts.step_rows,
            step_seconds=counts.step_seconds,
            step_times=tuple(counts.step_times),
            refused_busy=counts.refusals[Code.BUSY],
            refused_memory=counts.refusals[Code.NO_MEMORY],
            spills=counts.spills,
            returns=counts.returns,
            sessions=len(self.sessions),
            queued_steps=self.compute.queued_steps,
            queued_tokens=self.compute.queued_tokens + calls.queued_tokens,
            waiting_for_pages=self.compute.num_waiting_for_pages,
            streamed_blocks=weights.placement.num_streamed,
            streamed_bytes=weights.placement.streamed_bytes,
            fetch_seconds=weights.pass_fetch_s,
            pages=self.compute.page_counts,
        )


def _stage(
    blocks: LoadedBlocks, limits: ServingLimits, compute: ComputeThread, spill_folder: Path | None, max_blocks: int
) -> Stage:
    loaded = blocks.whole
    memory = loaded.new_memory(limits.cache_tokens, max_blocks=max_blocks) if loaded.is_ragged else None
    on_cpu = loaded.device.type == "cpu"
    spills = None
    if memory is not None and not isinstance(blocks, RankedBlocks) and (spill_folder is not None or not on_cpu):
        spills = SpillStore(memory, spill_folder if on_cpu else None)
    num_pages = pages_of(limits.cache_tokens) if memory is None else memory.num_pages
    paging = Paging(blocks, num_pages, memory, spills, compute.counts, patience_s=limits.request_timeout_s)
    is_narrow = loaded.weights.stream is not None or takes_one_thread(loaded.device)  # a stream serves one thread only
    gate: AbstractContextManager[object] = threading.Lock() if is_narrow else nullcontext()
    return Stage(SpanExecutor(blocks, memory), paging, gate)


def _wire_limits(limits: ServingLimits, hidden_size: int, num_blocks: int, span_blocks: int) -> Limits:
    """Bound one message; a frame holds hidden states, gradients and prompts for each block, 4 bytes a value."""
    token_bytes = 4 * hidden_size
    prompt_tokens = min(limits.max_batch_tokens, _MAX_PROMPT_TOKENS)
    return Limits(
        hidden_size=hidden_size,
        num_blocks=num_blocks,
        max_batch_tokens=limits.max_batch_tokens,
        max_length=limits.max_length,
        max_frame_bytes=token_bytes * (2 * limits.max_batch_tokens + span_blocks * prompt_tokens) + _FRAME_SLACK_BYTES,
    )
