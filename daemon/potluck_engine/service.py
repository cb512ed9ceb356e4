"""The blocks of an engine at work: its threads, what answers calls, and the way from loaded blocks to both and back.

    serve: blocks tried out and measured -> threads -> handlers -> self-check
    give_up: sessions end after their step -> threads -> weights freed
    offload: likewise, and what sessions had computed is kept beside the device -> take_back

Knows nothing of when: the engine decides.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from importlib.metadata import version

import torch
from potluck_control.launch_spec import LaunchSpec

from potluck import wire
from potluck.blocks import BlockSpan
from potluck.checkpoint import Checkpoint
from potluck.checkpoint.parameters import block_parameters
from potluck.errors import PotluckError, UsageError
from potluck_engine.compute.threads import Threads
from potluck_engine.compute.turns import equal_shares
from potluck_engine.fitting import cache_tokens
from potluck_engine.handlers import Handlers
from potluck_engine.loading import check_and_measure
from potluck_engine.measure import Speed
from potluck_engine.memory.spilling import default_folder
from potluck_engine.node import Node
from potluck_engine.receipts import Tabs
from potluck_engine.serving import Serving

log = logging.getLogger(__name__)

_OFFLOAD_TIMEOUT_S = 0.5  # for running steps, when somebody waits for the memory; clients go on elsewhere anyway
_CHECK_TIMEOUT_S = 600.0  # the first token through blocks that may have to be read from a slow disk


class Service:
    """One engine's; `serving` is what answers now, None before anything does."""

    def __init__(self, config: LaunchSpec, node: Node, tabs: Tabs | None) -> None:
        self.serving: Serving | None = None
        self._config = config
        self._node = node
        self._tabs = tabs
        self._shares = tabs.shares if tabs is not None else equal_shares
        self._handlers: Handlers | None = None
        self._threads = self._new_threads()

    def start_threads(self) -> None:
        self._threads.start()

    def start_threads_anew(self) -> None:
        """After they were stopped."""
        self._threads = self._new_threads()
        self._threads.start()

    async def stop_threads(self) -> None:
        await self._threads.stop()

    def throttle(self, duty: float) -> None:
        self._threads.throttle(duty)

    async def serve(self, blocks: BlockSpan, checkpoint: Checkpoint, *, max_blocks: int) -> Speed:
        """Answer calls, and prove it: a real token through all blocks, and what rpc_info says.

        Args:
            max_blocks: up to which the span may grow.

        Raises:
            PotluckError: they do not compute, or do not describe themselves.
        """
        config, compute = self._config, self._threads.compute
        async with asyncio.timeout(_CHECK_TIMEOUT_S):
            speed = await compute.run(lambda: check_and_measure(blocks))
        for tokens, seconds in speed.steps:
            compute.learn(tokens, seconds)
        if self.serving is not None and self.serving.blocks.whole is blocks:
            serving = self.serving.again(config.swarm, self._node.peer_id, self._threads)
        else:
            serving = await self._new_serving(blocks, max_blocks)
            await self._begin_tabs(checkpoint)
        await compute.perform(serving.stage)
        handlers = await self._handlers_of(serving)
        uid = wire.block_uids(config.swarm.prefix, blocks.span)
        info = wire.decode_info(await handlers.info(wire.encode_info_request(uid), self._node.peer_id))
        if info.hidden_size != blocks.hidden_size:
            raise PotluckError("the engine's self-check failed: it does not describe its own blocks")
        log.info("self-check passed: %.0f steps a second through one block", speed.inference_tps)
        self.serving = serving
        return speed

    async def end_sessions(self, timeout_s: float) -> None:
        if self.serving is None:
            return
        if not await self.serving.sessions.end_all(self.serving.admission.refusal(), timeout_s=timeout_s):
            log.warning("%d sessions were cut off", len(self.serving.sessions))

    async def give_up(self, *, closes_all: bool = False) -> None:
        """Whoever is still there is sent away, and the weights are freed; with `closes_all` all memory of sessions."""
        assert self.serving is not None
        await self.end_sessions(_OFFLOAD_TIMEOUT_S)
        await self._threads.stop()  # the running piece still needs the weights
        if closes_all:
            self.serving.stage.paging.close_all()
        await asyncio.to_thread(self.serving.blocks.free)

    async def offload(self) -> None:
        """The same, but what sessions had computed is kept beside the device, for clients that come back."""
        await self.give_up()
        assert self.serving is not None
        await self.end_sessions(_OFFLOAD_TIMEOUT_S)  # those that waited for a step which will not come
        kept = {session.memory for session in self.serving.parking.sessions}
        await asyncio.to_thread(self.serving.stage.paging.spill_all, kept)
        log.info("freed the weights; %d sessions are kept", len(kept))

    def take_back(self) -> BlockSpan:
        """Undo `offload`. Raises UsageError if others took the memory."""
        assert self.serving is not None
        try:
            self.serving.blocks.restore()
            self.serving.stage.paging.take_back()
        except torch.OutOfMemoryError as error:
            self.serving.blocks.free()
            raise UsageError("the device has no room for the blocks any more", hint="see what took it") from error
        return self.serving.blocks.whole

    def _new_threads(self) -> Threads:
        return Threads.of(self._config.limits, threads=self._config.threads, shares=self._shares)

    async def _new_serving(self, blocks: BlockSpan, max_blocks: int) -> Serving:
        config = self._config
        tokens = await asyncio.to_thread(lambda: cache_tokens(blocks, config, max_blocks=max_blocks))
        return Serving.of(
            blocks,
            config.swarm,
            self._node.peer_id,
            replace(config.limits, cache_tokens=tokens),
            self._threads,
            spill_folder=default_folder(),
            max_blocks=max_blocks,
            tabs=self._tabs,
        )

    async def _begin_tabs(self, checkpoint: Checkpoint) -> None:
        if self._tabs is not None:
            parameters = await asyncio.to_thread(block_parameters, checkpoint)
            self._tabs.begin(self._node.host.identity, self._config.swarm, parameters)

    async def _handlers_of(self, serving: Serving) -> Handlers:
        """The handlers, answering with `serving` from now on; they are registered once in the life of a host."""
        if self._handlers is None:
            self._handlers = Handlers(serving, self._node.host, version=version("potluck"))
            await self._handlers.register()
        self._handlers.serving = serving
        return self._handlers
