"""Runs loaded blocks: the threads that compute, the handlers that answer calls, and the way into service and back.

    serve:    blocks tried out and measured -> threads -> handlers -> self-check
    give_up:  sessions end after their step -> threads stop -> weights freed
    offload:  like `give_up`, but what sessions had computed is kept beside the device -> `take_back`

Does not know when: the engine decides.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version

import torch
from potluck_control.launch_spec import LaunchSpec

from potluck.blocks import BlockSpan
from potluck.checkpoint import Checkpoint
from potluck.errors import PotluckError, UsageError
from potluck.membership.records import Report
from potluck.open_swarms import adapter_for
from potluck.protocol.blocks import PeerId
from potluck.protocol.records import NumberFormat
from potluck.wire.questions import decode_info
from potluck_engine.compute.failures import DeviceWatch
from potluck_engine.compute.threads import Threads
from potluck_engine.fitting import cache_tokens, resolved_limits
from potluck_engine.handlers import Handlers
from potluck_engine.loading import check_and_measure
from potluck_engine.measure import Speed
from potluck_engine.memory.spilling import default_folder
from potluck_engine.node import Node
from potluck_engine.receipts import Tabs
from potluck_engine.span_state import SpanState

log = logging.getLogger(__name__)

_OFFLOAD_TIMEOUT_S = 0.5  # for running steps while somebody waits for the memory; clients continue elsewhere
_CHECK_TIMEOUT_S = 600.0  # the first token through blocks that may have to be read from a slow disk


class EngineRuntime:
    """The threads and handlers of one engine."""

    def __init__(
        self,
        spec: LaunchSpec,
        node: Node,
        tabs: Tabs,
        on_device_lost: Callable[[Exception], None],
        on_confirmed: Callable[[Report], None],
    ) -> None:
        """Store what `serve` needs.

        Args:
            on_device_lost: called on a computing thread, once, when the GPU can compute nothing any more.
            on_confirmed: see `Rechecks`.
        """
        self._spec = spec
        self._watch = DeviceWatch(torch.device(spec.device), on_device_lost)
        self._node = node
        self._tabs = tabs
        self._on_confirmed = on_confirmed
        self._handlers: Handlers | None = None  # registered once in the life of a host
        self._threads = self._new_threads()

    def start_threads(self) -> None:
        self._threads.start()

    def restart_threads(self) -> None:
        """Start new threads after `stop_threads`."""
        self._threads = self._new_threads()
        self._threads.start()

    async def stop_threads(self) -> None:
        await self._threads.stop()

    def throttle(self, duty: float) -> None:
        """Compute in this share of the time until the threads stop."""
        self._threads.throttle(duty)

    async def serve(
        self, blocks: BlockSpan, checkpoint: Checkpoint, before: SpanState | None, *, max_blocks: int
    ) -> tuple[SpanState, Speed]:
        """Answer calls for `blocks` after a self-check: a real token through all of them, and what it says of itself.

        Args:
            before: what was served last; its sessions are kept if it has the same blocks.
            max_blocks: how many blocks the span may grow to.

        Raises:
            PotluckError: the blocks don't compute, or don't describe themselves.
        """
        spec, compute = self._spec, self._threads.compute
        async with asyncio.timeout(_CHECK_TIMEOUT_S):
            speed = await compute.run(lambda: check_and_measure(blocks))
        for tokens, seconds in speed.steps:
            compute.learn(tokens, seconds)
        if before is not None and before.blocks.whole is blocks:
            state = before.resumed(spec.swarm, self._threads)
        else:
            state = await self._new_state(blocks, max_blocks)
            parameters = await asyncio.to_thread(checkpoint.block_parameters)
            self._tabs.begin(self._node.host, spec.swarm, parameters)
        await compute.perform(state.stage)
        handlers = await self._handlers_of(state)
        info = decode_info(await handlers.info(b"", self._node.peer_id))
        if info.hidden_size != blocks.hidden_size:
            raise PotluckError("the engine's self-check failed: it does not describe its own blocks")
        log.info("self-check passed: %.0f steps a second through one block", speed.inference_tps)
        return state, speed

    async def end_sessions(self, state: SpanState, timeout_s: float = _OFFLOAD_TIMEOUT_S) -> None:
        if not await state.sessions.end_all(state.admission.refusal(), timeout_s=timeout_s):
            log.warning("%d sessions were cut off", len(state.sessions))

    async def give_up(self, state: SpanState, *, closes_all: bool = False) -> None:
        """End the sessions and free the weights; with `closes_all` the memory of all sessions, too."""
        await self.end_sessions(state)
        await self._threads.stop()  # the running piece still needs the weights
        if closes_all:
            state.stage.paging.close_all()
        state.private.forget()
        await asyncio.to_thread(state.blocks.free)

    async def offload(self, state: SpanState) -> None:
        """End the sessions and free the weights, but keep what sessions had computed for clients that come back."""
        await self.give_up(state)
        await self.end_sessions(state)  # those that waited for a step, which can't come any more
        kept = {session.memory for session in state.parking.sessions}
        await asyncio.to_thread(state.stage.paging.spill_all, kept)
        log.info("freed the weights; %d sessions are kept", len(kept))

    def take_back(self, state: SpanState) -> BlockSpan:
        """Undo `offload`. Raises UsageError if others took the memory, CheckpointError if files changed."""
        try:
            state.blocks.restore()
            state.stage.paging.take_back()
        except torch.OutOfMemoryError as error:
            state.call_blocks.kept.forget()
            state.blocks.free()
            raise UsageError("the device has no room for the blocks any more", hint="see what took it") from error
        return state.blocks.whole

    def _new_threads(self) -> Threads:
        spec = self._spec
        return Threads.of(spec.limits, threads=spec.threads, shares=self._tabs.shares, is_lost=self._watch.is_lost)

    async def _new_state(self, blocks: BlockSpan, max_blocks: int) -> SpanState:
        spec = self._spec
        tokens = await asyncio.to_thread(lambda: cache_tokens(blocks, spec, max_blocks=max_blocks))
        state = SpanState.of(
            blocks,
            spec.swarm,
            resolved_limits(spec.limits, blocks.model_config, blocks.hidden_size, cache_tokens=tokens),
            self._threads,
            spill_folder=default_folder(),
            max_blocks=max_blocks,
            tabs=self._tabs,
            budgets=self._node.host.budgets,
            private_adapter_bytes=spec.private_adapters_mb << 20,
        )
        return replace(state, dtype=spec.dtype, quantization=spec.quantization)

    async def _format_of(self, peer: PeerId) -> NumberFormat | None:
        """Return in which format a server says that it computes. Raises PotluckError."""
        servers = (await self._node.directory.fetch()).servers
        return next((server.record.format for server in servers if server.peer_id == peer), None)

    async def _handlers_of(self, state: SpanState) -> Handlers:
        if self._handlers is None:
            host = self._node.host
            foreign = adapter_for(self._spec.swarm)
            told = self._format_of, self._on_confirmed
            self._handlers = Handlers(state, host, version("potluck"), foreign, *told)
            await self._handlers.register()
        self._handlers.state = state
        return self._handlers
