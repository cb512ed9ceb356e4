"""Holds a span in service: its blocks, the threads that compute with them, its sessions and their memory.

    begin:   blocks are tried out and measured -> memory -> steps are computed
    change:  blocks are exchanged between two steps
    end:     sessions end after their step -> threads stop -> all memory goes back to the system and the device

The engine decides when any of this happens.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from potluck_control.processes.engine_report import EngineMetrics
from potluck_control.processes.launch_spec import LaunchSpec, ServingLimits

from potluck.blocks.accelerators import takes_one_thread
from potluck.blocks.cache.pages import pages_of
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.reshaping import part_of
from potluck.errors import PotluckError
from potluck.membership.budgets import Budgets
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.records import NumberFormat
from potluck.protocol.swarm import Swarm
from potluck.tasks import start_task
from potluck.wire.message import Limits
from potluck_engine.compute.executor import SpanExecutor
from potluck_engine.compute.failures import DeviceLostError, DeviceWatch
from potluck_engine.compute.loaded_blocks import LoadedBlocks
from potluck_engine.compute.speed import Load, LoadMeter, Speed, measure_speed
from potluck_engine.compute.step_loop import Stage, StepLoop
from potluck_engine.compute.threads import Threads
from potluck_engine.memory.paging import Paging
from potluck_engine.memory.private_adapters import PrivateAdapters
from potluck_engine.memory.session_memory import SpillStore, folder_for_spills
from potluck_engine.ranks.ranked import RankedBlocks, make_loaded_blocks
from potluck_engine.serving.admission import Admission, SessionTable
from potluck_engine.serving.audits import ChoiceBook
from potluck_engine.serving.receipts import Tabs
from potluck_engine.weights.fitting import cache_tokens, resolved_limits
from potluck_engine.weights.loading import blocks_folder, check_blocks, forget_marks

log = logging.getLogger(__name__)

_CHECK_TIMEOUT_S = 600.0  # the first token through blocks that may have to be read from a slow disk
_LAST_STEPS_S = 0.5  # lets running steps end while somebody waits for the memory; clients continue elsewhere
_MAX_PROMPT_TOKENS = 2048  # bounds the deep prompts of one message
_FRAME_SLACK_BYTES = 256 * 1024  # metadata and names of blocks


class Service:
    """One span in service. `begin` makes one that computes; after its `end`, a new one has to be made.

    Attributes:
        blocks: the blocks for steps of sessions.
        call_blocks: the same blocks for stateless calls, which run in another thread.
        stage: what the step loop works with.
        format: the number format of this span, as the server announces it.
        max_blocks: how many blocks the span may grow to.
    """

    def __init__(
        self,
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
        form: NumberFormat = NumberFormat("float32"),  # noqa: B008 (frozen)
    ) -> None:
        """Make what serving `loaded` needs, without starting anything; `compute.serve(stage)` begins to compute.

        Args:
            spill_folder: where idle sessions go on a machine that computes in RAM; None: they keep their pages.
            max_blocks: how many blocks the span may grow to.
            private_adapter_bytes: memory for adapters that callers bring; 0: none are accepted.
            form: the number format, except that of the cache.
        """
        span = loaded.span
        self.limits = limits
        self.max_blocks = max(max_blocks, len(span))
        self.threads = threads
        self.compute = threads.compute
        self.blocks = make_loaded_blocks(loaded, piece_tokens=limits.piece_tokens)
        part = self.blocks.new_part(span)  # no step runs yet
        self.call_blocks = make_loaded_blocks(part, piece_tokens=limits.piece_tokens)
        self.stage = _stage(self.blocks, limits, threads.compute, spill_folder, max_blocks)
        self.admission = Admission(swarm, span, loaded.digests, loaded.adapters.ids, budgets)
        self.sessions = SessionTable(max_sessions=limits.max_sessions)
        self.meter = LoadMeter()
        self.wire_limits = _wire_limits(limits, loaded.hidden_size, swarm.num_blocks, self.max_blocks)
        self.tabs = tabs or Tabs()
        self.private = PrivateAdapters(0 if isinstance(self.blocks, RankedBlocks) else private_adapter_bytes)
        self.choices = ChoiceBook()
        has_int8_cache = loaded.layout is not None and loaded.layout.is_int8
        self.format = NumberFormat(form.dtype, form.quantization, "int8" if has_int8_cache else "none")
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def begin(
        cls, blocks: BlockSpan, spec: LaunchSpec, tabs: Tabs, budgets: Budgets, device: DeviceWatch, *, max_blocks: int
    ) -> tuple[Service, Speed]:
        """Send a real token through `blocks`, measure them, and serve with them from now on.

        Raises:
            PotluckError: the blocks don't compute. After any error they are freed.
        """
        threads = Threads.of(spec.limits, threads=spec.serve.threads, shares=tabs.shares, device=device)
        threads.start()
        try:
            async with asyncio.timeout(_CHECK_TIMEOUT_S):
                speed = await threads.compute.run(lambda: _prove(blocks))
            for tokens, seconds in speed.steps:
                threads.compute.learn(tokens, seconds)
            room = await asyncio.to_thread(lambda: cache_tokens(blocks, spec, max_blocks=max_blocks))
            service = cls(
                blocks,
                spec.swarm,
                resolved_limits(spec.limits, blocks.model_config, blocks.hidden_size, cache_tokens=room),
                threads,
                spill_folder=folder_for_spills(),
                max_blocks=max_blocks,
                tabs=tabs,
                budgets=budgets,
                private_adapter_bytes=spec.serve.private_adapters_mb << 20,
                form=NumberFormat(spec.serve.dtype, spec.serve.quantization),
            )
            await threads.compute.serve(service.stage)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and not device.has_lost:
                forget_marks(blocks_folder())
            await threads.stop()
            await asyncio.to_thread(device.free, blocks.free)
            if isinstance(error, TimeoutError):
                raise PotluckError("the first token takes too long", hint="see how busy this computer is") from None
            if isinstance(error, Exception) and device.is_lost(error):
                raise DeviceLostError(error) from error
            raise
        return service, speed

    @property
    def is_over(self) -> bool:
        """Return whether the end has begun; `end` waits until all memory is given back."""
        return self._ending is not None

    async def end(self, *, timeout_s: float = _LAST_STEPS_S) -> None:
        """End the sessions after their running step, and give all memory back. Idempotent.

        The end goes on if the caller is cancelled, and the next caller waits for the same one.
        """
        if self._ending is None:
            self._ending = start_task(self._end(timeout_s))
        await asyncio.shield(self._ending)

    async def _end(self, timeout_s: float) -> None:
        self.admission.leaving = True
        await self._end_sessions(timeout_s)
        await self.threads.stop()  # the running piece still needs the weights
        await self._end_sessions(timeout_s)  # now also those whose steps were refused
        self.private.forget()
        await asyncio.to_thread(self.compute.device.free, self._free)

    async def _end_sessions(self, timeout_s: float) -> None:
        if not await self.sessions.end_all(self.admission.refusal(), timeout_s=timeout_s):
            log.warning("%d sessions were cut off", len(self.sessions))

    def _free(self) -> None:
        self.stage.paging.close_all()
        self.blocks.forget()
        self.call_blocks.forget()
        self.blocks.whole.free()

    async def change(self, blocks: BlockSpan) -> None:
        """Exchange some blocks between two steps and two pieces of calls.

        No session may use blocks that go; calls over them end with DRAINING. The caller frees their weights.
        """
        before = self.blocks.whole
        for_calls = await asyncio.to_thread(part_of, blocks, blocks.span)

        def swap() -> None:
            if blocks.layout is not None:
                self.stage.paging.reshape(blocks.layout)
            for forget in before.weights.before_moves:
                forget()
            self.blocks.change(blocks)
            self.compute.scale_costs(len(blocks.span) / len(before.span))

        await self.compute.run(swap)
        await self.compute.serve(self.stage)
        await asyncio.to_thread(self.call_blocks.change, for_calls)
        self.admission.serve(blocks.span, blocks.digests)

    async def hand_over(self, kept: Span, *, patience_s: float) -> None:
        """Wait until sessions use only blocks of `kept`, and after `patience_s` end those that use others."""
        self.admission.kept = kept
        if not await self.sessions.wait_gone(timeout_s=patience_s, kept=kept):
            await self.sessions.end_all(RemoteError(Code.DRAINING, "these blocks leave this server"), kept=kept)

    def load(self, now: float) -> Load:
        return self.meter.load(now, rows=self.compute.counts.recent_rows)

    def metrics(self) -> EngineMetrics:
        counts = self.compute.counts
        return EngineMetrics(
            decode_tokens=counts.decode_tokens,
            prefill_tokens=counts.prefill_tokens,
            shared_tokens=counts.shared_tokens,
            forward_tokens=counts.forward_tokens,
            backward_tokens=counts.backward_tokens,
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
            queued_tokens=self.compute.queued_tokens,
            waiting_for_pages=self.compute.num_waiting_for_pages,
            pages=self.compute.page_counts,
        )


def _prove(blocks: BlockSpan) -> Speed:
    """Send a token through the blocks and measure them. This also tries out graphs and kernels that no trial ran."""
    with blocks.trying():
        check_blocks(blocks)
        return measure_speed(blocks)


def _stage(
    blocks: LoadedBlocks, limits: ServingLimits, compute: StepLoop, spill_folder: Path | None, max_blocks: int
) -> Stage:
    loaded = blocks.whole
    memory = loaded.new_memory(limits.cache_tokens, max_blocks=max_blocks) if loaded.is_ragged else None
    on_cpu = loaded.device.type == "cpu"
    spills = None
    if memory is not None and not isinstance(blocks, RankedBlocks) and (spill_folder is not None or not on_cpu):
        spills = SpillStore(memory, spill_folder if on_cpu else None)
    num_pages = pages_of(limits.cache_tokens) if memory is None else memory.num_pages
    paging = Paging(blocks, num_pages, memory, spills, compute.counts, patience_s=limits.request_timeout_s)
    is_narrow = not loaded.weights.is_resident or takes_one_thread(loaded.device)  # one thread at a time may compute
    gate: AbstractContextManager[object] = threading.Lock() if is_narrow else nullcontext()
    return Stage(SpanExecutor(blocks, memory), paging, gate)


def _wire_limits(limits: ServingLimits, hidden_size: int, num_blocks: int, span_blocks: int) -> Limits:
    """Return the bounds of one message: hidden states, gradients, and prompts for each block, 4 bytes a value."""
    token_bytes = 4 * hidden_size
    prompt_tokens = min(limits.max_batch_tokens, _MAX_PROMPT_TOKENS)
    return Limits(
        hidden_size=hidden_size,
        num_blocks=num_blocks,
        max_batch_tokens=limits.max_batch_tokens,
        max_length=limits.max_length,
        max_frame_bytes=token_bytes * (2 * limits.max_batch_tokens + span_blocks * prompt_tokens) + _FRAME_SLACK_BYTES,
    )
