"""An engine from its start to its end, and the order of both.

    start: host and DHT | checkpoint and blocks, side by side -> JOINING -> handlers, self-check -> ONLINE
    stop:  refuse new work -> OFFLINE | sessions end after their step -> compute thread -> host
    offload:  as stop, but the weights are freed as soon as no step runs, sessions are kept beside the device, and the
              host stays in the network
    restore:  as start, with the same host and span
    a rank is lost: as offload, then new ranks and restore
    other blocks: a few at a time while serving (`rebalancing`); where that cannot be, as drain, then restore

With a span still to be chosen, loading waits for a look at the directory; where blocks can come one by one, the first
answers while the others are loaded. Nothing here decides: the parts do.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from potluck_control.engine_messages import (
    Freed,
    Joining,
    Loading,
    Measured,
    Offline,
    OnEvent,
    Online,
    Placed,
    Reshaped,
    Starting,
)
from potluck_control.engine_metrics import EngineMetrics
from potluck_control.launch_spec import LaunchSpec
from potluck_control.places import user_places

from potluck.blocks import BlockSpan
from potluck.checkpoint import Checkpoint
from potluck.checkpoint.block_files import BlockFiles
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span
from potluck.protocol.records import LiveServer
from potluck_engine.announcing import Announcements
from potluck_engine.blocks import trim_memory
from potluck_engine.fitting import block_stack, can_grow, window
from potluck_engine.in_thread import in_thread
from potluck_engine.live_span import LiveSpan
from potluck_engine.loading import load, open_for_swarm
from potluck_engine.neighbours import Neighbours
from potluck_engine.node import Node, StartHost
from potluck_engine.placement.swarm_map import ModelSize
from potluck_engine.prefetching import Prefetching
from potluck_engine.ranks.processes import BACK_S, RankProcesses
from potluck_engine.ranks.ranked import RankedSpan
from potluck_engine.rebalancing import Looking, Rebalancer, join
from potluck_engine.receipts import Tabs
from potluck_engine.service import Service
from potluck_engine.serving import Serving
from potluck_engine.speed_cache import SpeedCache, speed_key

log = logging.getLogger(__name__)

T = TypeVar("T")

_STABLE_S = 60.0  # a device that fails sooner after it came back is not worth another try
_REASON_S = 5.0


class Engine:
    """Serves one span: `async with Engine(config)`, or `start()` and `stop()`."""

    def __init__(
        self,
        config: LaunchSpec,
        on_event: OnEvent,
        *,
        start_host: StartHost | None = None,
        tabs: Tabs | None = None,
    ) -> None:
        """`tabs`: of what clients sign for; None: nobody would book it."""
        self.config = config
        self.tabs = tabs
        self._on_event = on_event
        self.node = Node(config, start_host)
        self.service = Service(config, self.node, tabs)
        self._speeds = SpeedCache(user_places().cache / "speeds.json")
        self._announcements: Announcements | None = None
        self._rebalancer: Rebalancer | None = None  # None: the span is pinned
        self._watching_neighbours: asyncio.Task[None] | None = None
        self._live: LiveSpan | None = None
        self._grows = False  # blocks can come and go while others are served
        self._checkpoint: Checkpoint | None = None
        self.ranks: RankProcesses | None = None  # of the further devices
        self._watching: asyncio.Task[None] | None = None
        self._broken: asyncio.Queue[PotluckError] = asyncio.Queue()  # why it serves nothing any more, and cannot
        self._moving = asyncio.Lock()  # offload, restore and what follows the loss of a rank, one at a time

    async def __aenter__(self) -> Engine:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Return once the span is served and the directory says so; cleans up after itself if that fails.

        Raises:
            PotluckError: with what to do about it.
        """
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Leave the swarm and end everything that was started. Idempotent."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await self._stop_moving()
        await self.node.stop_measuring()
        if self._watching_neighbours is not None:
            self._watching_neighbours.cancel()
            await asyncio.gather(self._watching_neighbours, return_exceptions=True)
        await self._stop_beating()
        await asyncio.gather(self._announce_offline(), self.service.end_sessions(self.config.stop_timeout_s))
        await self.service.stop_threads()
        if self.serving is not None:
            self.serving.stage.paging.close_all()
        if self.tabs is not None:
            self.tabs.close()
        if self.ranks is not None:
            await self.ranks.close()
        if await self.node.stop():
            self.service.serving = None
            log.info("stopped")
            self._on_event(Offline())

    async def drain(self) -> None:
        """Leave the swarm's directory and refuse what is new; open sessions go on until `stop`. Event: Offline."""
        await self._stop_moving()
        await self._stop_beating()
        await self._tell_offline()

    async def offload(self) -> None:
        """Give the device back: tell the swarm, end sessions so that they continue elsewhere, free the weights.

        What sessions had computed is kept beside the device, for those whose clients find nobody else and come back.
        Returns when both the announcement is out and the memory free; neither waits for the other. The node stays, so
        that others still find the swarm by it. Events: Offline when the announcement is out, Freed.
        """
        await self._stop_moving()
        async with self._moving:
            assert self.serving is not None
            self.serving.parking.is_open = self.serving.blocks.is_restorable
            await self._stop_beating()
            await asyncio.gather(self._tell_offline(), self._free())
            gc.collect()  # caches of ended sessions in cycles; not before, it may stop the announcement for 0.2 s
            await asyncio.to_thread(trim_memory, self.serving.blocks.whole.device)

    async def restore(self) -> None:
        """Take the weights again, or load them anew, and return to the swarm. Raises PotluckError, as `start`."""
        async with self._moving:
            await self._restore()

    async def _restore(self) -> None:
        assert self.serving is not None
        span, checkpoint = self.serving.blocks.span, self._checkpoint
        assert checkpoint is not None
        take = self.service.take_back if self.serving.blocks.is_restorable else lambda: self._load(checkpoint, span)
        assert self._announcements is not None
        await self._come_back(self._announcements.target or span, take)

    async def _reload(self, target: Span, order: Sequence[int], patience_s: float) -> None:
        """Give up what is served, after everybody went on elsewhere, and begin to serve `target`."""
        checkpoint = self._checkpoint
        assert checkpoint is not None
        async with self._moving:
            assert self.serving is not None
            before = self.serving.blocks.span
            await self._stop_beating()
            await self._tell_offline()
            await self.serving.sessions.wait_gone(timeout_s=patience_s)
            await self.service.give_up(closes_all=True)
            first = self._first_of(target, order)
            try:
                await self._come_back(target, lambda: self._load(checkpoint, first))
            except PotluckError as error:
                log.error("blocks %s cannot be served: %s; going back to %s", target, error.message, before)
                await self.service.stop_threads()
                try:
                    await self._come_back(before, lambda: self._load(checkpoint, before))
                except PotluckError as worse:
                    self._broken.put_nowait(worse)
                    raise

    async def _come_back(self, target: Span, take: Callable[[], BlockSpan]) -> None:
        """With the same host, and what `take` returns."""
        begin, checkpoint = time.monotonic(), self._checkpoint
        assert checkpoint is not None
        assert self._announcements is not None
        self.service.start_threads_anew()
        self._announcements.join(target)
        await self._join(asyncio.create_task(in_thread(lambda: (checkpoint, take()))))
        await self._go_online(begin)

    def _first_of(self, target: Span, order: Sequence[int]) -> Span:
        """What is loaded before anything answers."""
        return Span(order[0], order[0] + 1) if self._grows else target

    @property
    def serving(self) -> Serving | None:
        """What answers now; None before anything does, and after the end."""
        return self.service.serving

    @property
    def is_offloaded(self) -> bool:
        return self.serving is not None and self.serving.admission.leaving

    @property
    def done_tokens(self) -> int:
        """Tokens that have gone through blocks since the process started or was restored."""
        return self.metrics().done_tokens

    def throttle(self, duty: float) -> None:
        """Compute in this share of the time until the weights are freed."""
        self.service.throttle(duty)

    def metrics(self) -> EngineMetrics:
        """What it counts; all zero before it serves."""
        return EngineMetrics() if self.serving is None else self.serving.metrics()

    async def wait_lost(self) -> None:
        """Return when the peer-to-peer process ended by itself: then nobody can reach this engine any more.

        Raises:
            PotluckError: a further device failed, and does not come back; or no blocks could be loaded any more.
        """
        lost, broken = asyncio.create_task(self.node.host.wait_lost()), asyncio.create_task(self._broken.get())
        try:
            await asyncio.wait({lost, broken, self._watching or lost}, return_when=asyncio.FIRST_COMPLETED)
            if broken.done():
                raise broken.result()
            if self._watching is not None and self._watching.done() and not self._watching.cancelled():
                self._watching.result()
        finally:
            lost.cancel()
            broken.cancel()

    async def _start(self) -> None:
        begin = time.monotonic()
        config = self.config
        self._on_event(Starting(config.swarm.model))
        self.service.start_threads()
        await self._start_ranks()
        opening = asyncio.create_task(in_thread(self._open_and_maybe_load))
        try:
            await self.node.start()
            self._announcements = announcements = Announcements(config, self.node)
            announcements.speed = self._speeds.find(speed_key(config)) or announcements.speed
            if config.span is not None:
                announcements.window = len(config.span)
                announcements.join(config.span)
                loaded = opening
            else:
                checkpoint, _ = await opening
                first = await self._choose(announcements, checkpoint)
                loaded = asyncio.create_task(in_thread(lambda: (checkpoint, self._load(checkpoint, first))))
            await self._join(loaded)
        finally:
            opening.cancel()
        await self._go_online(begin)

    async def _others(self) -> tuple[Sequence[LiveServer], Span | None]:
        """Who is there to be measured with; nobody while the device is given back."""
        if self.serving is None or self.is_offloaded:
            return (), None
        return (await self.node.directory.fetch()).servers, self.serving.blocks.span

    async def _choose(self, announcements: Announcements, checkpoint: Checkpoint) -> Span:
        """Decide how many and which blocks, and be ready to change them; returns those to load first."""
        config = self.config
        announcements.window = await in_thread(lambda: window(checkpoint, config))
        self._grows = await in_thread(lambda: can_grow(checkpoint, config, announcements.window))
        files = await in_thread(lambda: BlockFiles.of(checkpoint, block_stack(checkpoint)))
        announcements.stored = await in_thread(files.stored)
        model = ModelSize(checkpoint.num_blocks, files.block_bytes, token_bits=16 * checkpoint.hidden_size)
        neighbours = Neighbours(self.node.host, self.node.peer_id, lambda peer: rebalancer.note_loss(peer))
        looking = Looking(announcements, neighbours, model)
        rng = random.Random()
        self._live = LiveSpan(
            announcements, lambda span: self._load(checkpoint, span), lambda span: self._tell_reshaped(span)
        )
        self._rebalancer = rebalancer = Rebalancer(
            self._live,
            looking,
            announcements,
            files,
            Prefetching(announcements, files, config.disk_mb << 20),
            self._reload,
            self._on_event,
            rng,
        )
        target, order = await join(looking, announcements, rng)
        self._watching_neighbours = asyncio.create_task(neighbours.watch())
        return self._first_of(target, order)

    def _tell_reshaped(self, span: Span) -> None:
        assert self._announcements is not None
        self._on_event(Reshaped(span, self._announcements.target or span))

    async def _stop_moving(self) -> None:
        if self._rebalancer is not None:
            await self._rebalancer.stop()

    async def _go_online(self, begin: float) -> None:
        assert self.serving is not None
        assert self._announcements is not None
        self._announcements.start_beating()
        self.node.measure(self._others)
        if self.ranks is not None and self._watching is None:
            self._watching = asyncio.create_task(self._watch_ranks())
        span, seconds = self.serving.blocks.span, time.monotonic() - begin
        log.info("online with blocks %s after %.2f s", span, seconds)
        self._on_event(Online(self.node.peer_id, await self.node.host.addresses(), span, seconds))
        if self._rebalancer is not None and self._live is not None:
            self._live.serving = self.serving
            self._rebalancer.start()

    async def _start_ranks(self) -> None:
        if len(self.config.devices) > 1:
            self.ranks = await RankProcesses.start(self.config)

    async def _watch_ranks(self) -> None:
        """Take the span down when a rank is lost and up again with new ones. Raises PotluckError if that fails."""
        back_at = -_STABLE_S
        while self.ranks is not None:
            await self.ranks.wait_lost()
            if time.monotonic() - back_at < _STABLE_S:
                raise PotluckError("a device failed again and again", hint="serve on one device alone")
            async with self._moving:
                assert self.serving is not None
                log.error("a device failed; the blocks are loaded again")
                was_serving = not self.is_offloaded
                await self._stop_moving()
                if was_serving:
                    self.serving.admission.back_in_s = BACK_S
                    await self._stop_beating()
                    await asyncio.gather(self._tell_offline(), self.service.give_up())
                await self.ranks.close()
                await self._start_ranks()
                if was_serving:
                    await self._restore()
            back_at = time.monotonic()

    async def _unless_lost(self, work: asyncio.Task[T]) -> T:
        """What `work` returns. Raises PotluckError soon if a rank ends meanwhile, for which it might wait long."""
        if self.ranks is None:
            return await work
        lost = asyncio.create_task(self.ranks.wait_lost())
        try:
            await asyncio.wait((work, lost), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait((work,), timeout=_REASON_S)  # what failed here as well says more
            if not work.done():
                raise PotluckError("the process of a further device ended", hint="the log has its last words")
            return work.result()
        finally:
            lost.cancel()

    async def _stop_beating(self) -> None:
        if self.serving is not None:
            self.serving.admission.leaving = True
        if self._announcements is not None:
            await self._announcements.stop_beating()

    async def _free(self) -> None:
        await self.service.offload()
        self._on_event(Freed())

    async def _tell_offline(self) -> None:
        await self._announce_offline()
        self._on_event(Offline())

    async def _join(self, loaded: asyncio.Task[tuple[Checkpoint, BlockSpan | None]]) -> None:
        """JOINING while the blocks are loaded and checked, then ONLINE."""
        assert self._announcements is not None
        assert self._announcements.target is not None
        self._on_event(Joining(self.node.peer_id, self._announcements.target))
        try:
            self._checkpoint, blocks = checkpoint, _ = await self._unless_lost(loaded)
        finally:
            loaded.cancel()
        assert blocks is not None
        num_bytes = sum(parameter.nbytes for parameter in blocks.decoder.parameters())
        log.info("loaded blocks %s, %.1f MiB", blocks.span, num_bytes / 2**20)
        self._on_event(Loading(num_bytes, num_bytes))
        self._tell_placement(blocks)
        max_blocks = self._announcements.window if self._grows else len(blocks.span)
        speed = await self.service.serve(blocks, checkpoint, max_blocks=max_blocks)
        self._speeds.remember(speed_key(self.config), speed)
        self._on_event(Measured(speed.inference_tps, speed.forward_tps))
        assert self.serving is not None
        await self._announcements.go_online(self.serving, speed)

    def _tell_placement(self, blocks: BlockSpan) -> None:
        placement = blocks.weights.placement
        log.info("weights: %s", placement)
        streamed = placement.num_streamed
        resident = len(placement.homes) - streamed
        config, sizes = self.config, (placement.device_bytes, placement.streamed_bytes)
        self._on_event(
            Placed(config.device, config.dtype, config.quantization, resident, streamed, *sizes, summary=str(placement))
        )

    async def _announce_offline(self) -> None:
        if self._announcements is not None:
            await self._announcements.leave()

    def _open_and_maybe_load(self) -> tuple[Checkpoint, BlockSpan | None]:
        checkpoint = open_for_swarm(self.config)
        span = self.config.span
        return checkpoint, None if span is None else self._load(checkpoint, span)

    def _load(self, checkpoint: Checkpoint, span: Span) -> BlockSpan:
        if self.ranks is None:
            return load(checkpoint, span, self.config)
        return RankedSpan(self.ranks.load(checkpoint, span), self.ranks)
