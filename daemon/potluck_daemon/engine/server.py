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
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Protocol, TypeVar

import torch

from potluck import wire
from potluck.blocks import BlockSpan
from potluck.checkpoint import Checkpoint
from potluck.checkpoint.block_files import BlockFiles
from potluck.checkpoint.fetching import FETCHING
from potluck.checkpoint.parameters import block_parameters
from potluck.directory import Directory, record_checks
from potluck.errors import PotluckError, UsageError
from potluck.p2p.config import HostConfig
from potluck.p2p.identity import Identity
from potluck.p2p.network import Host
from potluck.p2p.pacing import Pacer
from potluck.protocol.blocks import Span
from potluck.protocol.records import LiveServer
from potluck_daemon.engine.announcing import Announcements
from potluck_daemon.engine.blocks import trim_memory
from potluck_daemon.engine.compute.threads import Threads
from potluck_daemon.engine.compute.turns import equal_shares
from potluck_daemon.engine.config import EngineConfig
from potluck_daemon.engine.events import (
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
from potluck_daemon.engine.fitting import block_stack, cache_tokens, can_grow, window
from potluck_daemon.engine.handlers import Handlers
from potluck_daemon.engine.in_thread import in_thread
from potluck_daemon.engine.live_span import LiveSpan
from potluck_daemon.engine.loading import check_and_measure, load, open_for_swarm
from potluck_daemon.engine.measure import Speed
from potluck_daemon.engine.memory.spilling import default_folder
from potluck_daemon.engine.metrics import EngineMetrics
from potluck_daemon.engine.neighbours import Neighbours
from potluck_daemon.engine.network_report import NetworkCaps, NetworkReport
from potluck_daemon.engine.network_speed import NetworkSpeed
from potluck_daemon.engine.prefetching import Prefetching
from potluck_daemon.engine.ranks.processes import BACK_S, RankProcesses
from potluck_daemon.engine.ranks.ranked import RankedSpan
from potluck_daemon.engine.reachability import Finding, Reach, is_local, start_reachable
from potluck_daemon.engine.rebalancing import Looking, Rebalancer, join
from potluck_daemon.engine.receipts import Tabs
from potluck_daemon.engine.serving import Serving
from potluck_daemon.engine.speed_cache import SpeedCache, speed_key
from potluck_daemon.placement.swarm_map import ModelSize
from potluck_daemon.settings.places import user_places

log = logging.getLogger(__name__)

T = TypeVar("T")

_OFFLOAD_TIMEOUT_S = 0.5  # for running steps, when somebody waits for the memory; clients go on elsewhere anyway
_STABLE_S = 60.0  # a device that fails sooner after it came back is not worth another try
_REASON_S = 5.0
_BYTES_OF_MEGABIT = 125_000
_CHECK_TIMEOUT_S = 600.0  # the first token through blocks that may have to be read from a slow disk


class ServingHost(Host, Protocol):
    """What an engine needs of its node; both implementations of Host have it."""

    identity: Identity
    uploads: Pacer
    downloads: Pacer

    async def wait_lost(self) -> None: ...


StartHost = Callable[[HostConfig], Awaitable[ServingHost]]


class Engine:
    """Serves one span: `async with Engine(config)`, or `start()` and `stop()`."""

    def __init__(
        self,
        config: EngineConfig,
        on_event: OnEvent,
        *,
        start_host: StartHost | None = None,
        tabs: Tabs | None = None,
    ) -> None:
        """`tabs`: of what clients sign for; None: nobody would book it."""
        self.config = config
        self.tabs = tabs
        self.serving: Serving | None = None
        self._on_event = on_event
        self._start_host = start_host or self._start_libp2p
        self._speeds = SpeedCache(user_places().cache / "speeds.json")
        self._reach = Finding()
        self._caps = NetworkCaps()
        self.network: NetworkSpeed | None = None  # None until the network is joined
        self._measuring: asyncio.Task[None] | None = None
        self._host: ServingHost | None = None
        self._announcements: Announcements | None = None
        self._rebalancer: Rebalancer | None = None  # None: the span is pinned
        self._watching_neighbours: asyncio.Task[None] | None = None
        self._live: LiveSpan | None = None
        self._grows = False  # blocks can come and go while others are served
        self._handlers: Handlers | None = None
        self._checkpoint: Checkpoint | None = None
        self._directory: Directory | None = None
        self._shares = tabs.shares if tabs is not None else equal_shares
        self._threads = Threads.of(config.limits, threads=config.threads, shares=self._shares)
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
        if self._measuring is not None:
            self._measuring.cancel()
            await asyncio.gather(self._measuring, return_exceptions=True)
        if self._watching_neighbours is not None:
            self._watching_neighbours.cancel()
            await asyncio.gather(self._watching_neighbours, return_exceptions=True)
        await self._stop_beating()
        await asyncio.gather(self._announce_offline(), self._end_sessions(self.config.stop_timeout_s))
        await self._threads.stop()
        if self.serving is not None:
            self.serving.stage.paging.close_all()
        if self.tabs is not None:
            self.tabs.close()
        if self.ranks is not None:
            await self.ranks.close()
        if self._directory is not None:
            await self._directory.stop()
        if self._host is not None:
            await self._host.close()
            self._host, self.serving = None, None
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
        take = self._take_back if self.serving.blocks.is_restorable else lambda: self._load(checkpoint, span)
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
            await self._end_sessions(_OFFLOAD_TIMEOUT_S)
            await self._threads.stop()
            self.serving.stage.paging.close_all()
            await asyncio.to_thread(self.serving.blocks.free)
            first = self._first_of(target, order)
            try:
                await self._come_back(target, lambda: self._load(checkpoint, first))
            except PotluckError as error:
                log.error("blocks %s cannot be served: %s; going back to %s", target, error.message, before)
                await self._threads.stop()
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
        self._threads = Threads.of(self.config.limits, threads=self.config.threads, shares=self._shares)
        self._threads.start()
        self._announcements.join(target)
        await self._join(asyncio.create_task(in_thread(lambda: (checkpoint, take()))))
        await self._go_online(begin)

    def _first_of(self, target: Span, order: Sequence[int]) -> Span:
        """What is loaded before anything answers."""
        return Span(order[0], order[0] + 1) if self._grows else target

    @property
    def is_offloaded(self) -> bool:
        return self.serving is not None and self.serving.admission.leaving

    @property
    def directory(self) -> Directory | None:
        """None until the network is joined."""
        return self._directory

    @property
    def done_tokens(self) -> int:
        """Tokens that have gone through blocks since the process started or was restored."""
        return self.metrics().done_tokens

    def limit_network(self, caps: NetworkCaps) -> None:
        """From now on, also while it is being started."""
        self._caps = caps
        FETCHING.cap_bytes_s = caps.download_mbps * _BYTES_OF_MEGABIT
        if self._host is not None and self.network is not None:
            self._host.uploads.bytes_s = caps.upload_mbps * _BYTES_OF_MEGABIT
            self._host.downloads.bytes_s = caps.download_mbps * _BYTES_OF_MEGABIT
            self.network.cap_mbps = caps.upload_mbps
            self.network.may_exchange = caps.may_measure

    def network_report(self) -> NetworkReport:
        """What is known of the network."""
        report = NetworkReport(self._reach.reach, self._reach.num_asked, self._reach.num_reached)
        return report if self.network is None else self.network.completed(report)

    def throttle(self, duty: float) -> None:
        """Compute in this share of the time until the weights are freed."""
        self._threads.throttle(duty)

    def metrics(self) -> EngineMetrics:
        """What it counts; all zero before it serves."""
        return EngineMetrics() if self.serving is None else self.serving.metrics()

    async def wait_lost(self) -> None:
        """Return when the peer-to-peer process ended by itself: then nobody can reach this engine any more.

        Raises:
            PotluckError: a further device failed, and does not come back; or no blocks could be loaded any more.
        """
        assert self._host is not None
        lost, broken = asyncio.create_task(self._host.wait_lost()), asyncio.create_task(self._broken.get())
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
        self._threads.start()
        await self._start_ranks()
        opening = asyncio.create_task(in_thread(self._open_and_maybe_load))
        try:
            self._host = host = await self._start_host(self._host_config())
            log.info("joined the network")
            self._directory = directory = Directory(host, config.swarm, host.identity)
            await directory.start_gossip()
            await self._begin_network(host)
            assert self.network is not None
            self._announcements = announcements = Announcements(config, directory, host.peer_id, self.network)
            announcements.speed = self._speeds.find(speed_key(config)) or announcements.speed
            if config.span is not None:
                announcements.window = len(config.span)
                announcements.join(config.span)
                loaded = opening
            else:
                checkpoint, _ = await opening
                first = await self._choose(host, announcements, checkpoint)
                loaded = asyncio.create_task(in_thread(lambda: (checkpoint, self._load(checkpoint, first))))
            await self._join(loaded)
        finally:
            opening.cancel()
        await self._go_online(begin)

    async def _begin_network(self, host: ServingHost) -> None:
        """Know how fast the ways to others are; measuring begins when there is something to serve."""
        config, is_relayed = self.config, self._reach.reach is Reach.RELAYED
        is_alone = is_local(self._host_config())  # what a machine's own memory carries is no figure
        self.network = NetworkSpeed(host, given_mbps=config.link_mbps, is_relayed=is_relayed, exchanges=not is_alone)
        self.limit_network(self._caps)
        await self.network.serve()

    async def _others(self) -> tuple[Sequence[LiveServer], Span | None]:
        """Who is there to be measured with; nobody while the device is given back."""
        if self._directory is None or self.serving is None or self.is_offloaded:
            return (), None
        return (await self._directory.fetch()).servers, self.serving.blocks.span

    async def _choose(self, host: ServingHost, announcements: Announcements, checkpoint: Checkpoint) -> Span:
        """Decide how many and which blocks, and be ready to change them; returns those to load first."""
        config = self.config
        announcements.window = await in_thread(lambda: window(checkpoint, config))
        self._grows = await in_thread(lambda: can_grow(checkpoint, config, announcements.window))
        files = await in_thread(lambda: BlockFiles.of(checkpoint, block_stack(checkpoint)))
        announcements.stored = await in_thread(files.stored)
        model = ModelSize(checkpoint.num_blocks, files.block_bytes, token_bits=16 * checkpoint.hidden_size)
        neighbours = Neighbours(host, host.peer_id, lambda peer: rebalancer.note_loss(peer))
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
            Prefetching(announcements, files, config.disk_bytes),
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
        assert self._host is not None
        assert self._announcements is not None
        self._announcements.start_beating()
        if self.network is not None and self._measuring is None:
            self._measuring = asyncio.create_task(self.network.run(self._others))
        if self.ranks is not None and self._watching is None:
            self._watching = asyncio.create_task(self._watch_ranks())
        span, seconds = self.serving.blocks.span, time.monotonic() - begin
        log.info("online with blocks %s after %.2f s", span, seconds)
        self._on_event(Online(self._host.peer_id, await self._host.addresses(), span, seconds))
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
                    await asyncio.gather(self._tell_offline(), self._end_sessions(_OFFLOAD_TIMEOUT_S))
                    await self._threads.stop()
                    await asyncio.to_thread(self.serving.blocks.free)
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

    async def _tell_offline(self) -> None:
        await self._announce_offline()
        self._on_event(Offline())

    async def _free(self) -> None:
        assert self.serving is not None
        await self._end_sessions(_OFFLOAD_TIMEOUT_S)
        await self._threads.stop()  # the running piece still needs the weights
        await asyncio.to_thread(self.serving.blocks.free)
        await self._end_sessions(_OFFLOAD_TIMEOUT_S)  # those that waited for a step which will not come
        kept = {session.memory for session in self.serving.parking.sessions}
        await asyncio.to_thread(self.serving.stage.paging.spill_all, kept)
        log.info("freed the weights; %d sessions are kept", len(kept))
        self._on_event(Freed())

    def _take_back(self) -> BlockSpan:
        """Raises UsageError if others took the memory."""
        assert self.serving is not None
        try:
            self.serving.blocks.restore()
            self.serving.stage.paging.take_back()
        except torch.OutOfMemoryError as error:
            self.serving.blocks.free()
            raise UsageError("the device has no room for the blocks any more", hint="see what took it") from error
        return self.serving.blocks.whole

    async def _join(self, loaded: asyncio.Task[tuple[Checkpoint, BlockSpan | None]]) -> None:
        """JOINING while the blocks are loaded and checked, then ONLINE."""
        assert self._host is not None
        assert self._announcements is not None
        assert self._announcements.target is not None
        self._on_event(Joining(self._host.peer_id, self._announcements.target))
        try:
            self._checkpoint, blocks = await self._unless_lost(loaded)
        finally:
            loaded.cancel()
        assert blocks is not None
        num_bytes = sum(parameter.nbytes for parameter in blocks.decoder.parameters())
        log.info("loaded blocks %s, %.1f MiB", blocks.span, num_bytes / 2**20)
        self._on_event(Loading(num_bytes, num_bytes))
        self._tell_placement(blocks)
        speed = await self._serve(blocks)
        assert self.serving is not None
        await self._announcements.go_online(self.serving, speed)

    def _tell_placement(self, blocks: BlockSpan) -> None:
        placement = blocks.weights.placement
        log.info("weights: %s", placement)
        streamed = placement.num_streamed
        resident = len(placement.homes) - streamed
        self._on_event(
            Placed(resident, streamed, placement.device_bytes, placement.streamed_bytes, summary=str(placement))
        )

    async def _serve(self, blocks: BlockSpan) -> Speed:
        """Answer calls, and prove it: a real token through all blocks, and what rpc_info says."""
        assert self._host is not None
        assert self._announcements is not None
        config, compute = self.config, self._threads.compute
        async with asyncio.timeout(_CHECK_TIMEOUT_S):
            speed = await compute.run(lambda: check_and_measure(blocks))
        for tokens, seconds in speed.steps:
            compute.learn(tokens, seconds)
        self._speeds.remember(speed_key(config), speed)
        self._on_event(Measured(speed.inference_tps, speed.forward_tps))
        if self.serving is not None and self.serving.blocks.whole is blocks:
            serving = self.serving.again(config.swarm, self._host.peer_id, self._threads)
        else:
            max_blocks = self._announcements.window if self._grows else len(blocks.span)
            tokens = await asyncio.to_thread(lambda: cache_tokens(blocks, config, max_blocks=max_blocks))
            serving = Serving.of(
                blocks,
                config.swarm,
                self._host.peer_id,
                replace(config.limits, cache_tokens=tokens),
                self._threads,
                spill_folder=default_folder(),
                max_blocks=max_blocks,
                tabs=self.tabs,
            )
            await self._begin_tabs()
        await compute.perform(serving.stage)
        handlers = await self._handlers_of(serving)
        uid = wire.block_uids(self.config.swarm.prefix, blocks.span)
        info = wire.decode_info(await handlers.info(wire.encode_info_request(uid), self._host.peer_id))
        if info.hidden_size != blocks.hidden_size:
            raise PotluckError("the engine's self-check failed: it does not describe its own blocks")
        log.info("self-check passed: %.0f steps a second through one block", speed.inference_tps)
        self.serving = serving
        return speed

    async def _begin_tabs(self) -> None:
        if self.tabs is None:
            return
        assert self._host is not None
        assert self._checkpoint is not None
        parameters = await asyncio.to_thread(block_parameters, self._checkpoint)
        self.tabs.begin(self._host.identity, self.config.swarm, parameters)

    async def _handlers_of(self, serving: Serving) -> Handlers:
        """The handlers, answering with `serving` from now on; they are registered once in the life of a host."""
        assert self._host is not None
        if self._handlers is None:
            self._handlers = Handlers(serving, self._host, version=version("potluck"))
            await self._handlers.register()
        self._handlers.serving = serving
        return self._handlers

    async def _announce_offline(self) -> None:
        if self._announcements is not None:
            await self._announcements.leave()

    async def _end_sessions(self, timeout_s: float) -> None:
        if self.serving is None:
            return
        if not await self.serving.sessions.end_all(self.serving.admission.refusal(), timeout_s=timeout_s):
            log.warning("%d sessions were cut off", len(self.serving.sessions))

    def _open_and_maybe_load(self) -> tuple[Checkpoint, BlockSpan | None]:
        checkpoint = open_for_swarm(self.config)
        span = self.config.span
        return checkpoint, None if span is None else self._load(checkpoint, span)

    def _load(self, checkpoint: Checkpoint, span: Span) -> BlockSpan:
        if self.ranks is None:
            return load(checkpoint, span, self.config)
        return RankedSpan(self.ranks.load(checkpoint, span), self.ranks)

    def _host_config(self) -> HostConfig:
        config = self.config
        return HostConfig(
            identity_path=config.identity_path,
            listen_addrs=config.listen,
            announce_addrs=config.announce,
            bootstrap_peers=config.swarm.bootstrap_peers,
            record_checks=record_checks(config.swarm, time.time),
            runtime_dir=config.runtime_dir,
            relays_for_others=config.relay_for_others,
        )

    async def _start_libp2p(self, config: HostConfig) -> ServingHost:
        host, self._reach = await start_reachable(config)
        return host
