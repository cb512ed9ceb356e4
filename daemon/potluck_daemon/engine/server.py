"""An engine from its start to its end, and the order of both.

    start: host and DHT | checkpoint and blocks, side by side -> JOINING -> handlers, self-check -> ONLINE
    stop:  refuse new work -> OFFLINE | sessions end after their step -> compute thread -> host
    offload:  as stop, but the weights are freed as soon as no step runs, sessions are kept beside the device, and the
              host stays in the network
    restore:  as start, with the same host and span
    a rank is lost: as offload, then new ranks and restore

With a span still to be chosen, loading waits for a look at the directory. Nothing here decides: the parts do.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Protocol, TypeVar

import torch

from potluck import wire
from potluck.blocks import BlockSpan
from potluck.checkpoint import Checkpoint
from potluck.directory import Announcer, Directory, record_checks
from potluck.errors import NetworkError, PotluckError, UsageError
from potluck.p2p.config import HostConfig
from potluck.p2p.identity import Identity
from potluck.p2p.network import Host
from potluck.protocol.blocks import Span
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState
from potluck_daemon.engine.blocks import trim_memory
from potluck_daemon.engine.compute.threads import Threads
from potluck_daemon.engine.config import EngineConfig
from potluck_daemon.engine.events import Freed, Joining, Loading, Offline, OnEvent, Online, Placed, Starting
from potluck_daemon.engine.fitting import cache_tokens
from potluck_daemon.engine.handlers import Handlers
from potluck_daemon.engine.loading import check_and_measure, load, open_for_swarm
from potluck_daemon.engine.measure import Speed, combine
from potluck_daemon.engine.memory.spilling import default_folder
from potluck_daemon.engine.metrics import EngineMetrics
from potluck_daemon.engine.ranks.processes import BACK_S, RankProcesses
from potluck_daemon.engine.ranks.ranked import RankedSpan
from potluck_daemon.engine.serving import Serving
from potluck_daemon.placement.choose import choose_span
from potluck_daemon.placement.swarm_map import ModelSize, Own, SwarmMap

log = logging.getLogger(__name__)

T = TypeVar("T")

_UNKNOWN_DIGEST = "0" * 16  # of blocks that are still being loaded; nobody is sent to a server that is JOINING
_NOT_MEASURED = Speed(0.0, 0.0)
_ANNOUNCE_TIMEOUT_S = 30.0
_OFFLOAD_TIMEOUT_S = 0.5  # for running steps, when somebody waits for the memory; clients go on elsewhere anyway
_STABLE_S = 60.0  # a device that fails sooner after it came back is not worth another try
_REASON_S = 5.0
_CHECK_TIMEOUT_S = 600.0  # the first token through blocks that may have to be read from a slow disk


class ServingHost(Host, Protocol):
    """What an engine needs of its node; both implementations of Host have it."""

    identity: Identity

    async def wait_lost(self) -> None: ...


StartHost = Callable[[HostConfig], Awaitable[ServingHost]]


class Engine:
    """Serves one span: `async with Engine(config)`, or `start()` and `stop()`."""

    def __init__(self, config: EngineConfig, on_event: OnEvent, *, start_host: StartHost | None = None) -> None:
        self.config = config
        self.serving: Serving | None = None
        self._on_event = on_event
        self._start_host = start_host or _start_libp2p
        self._host: ServingHost | None = None
        self._announcer: Announcer | None = None
        self._beating: asyncio.Task[None] | None = None
        self._handlers: Handlers | None = None
        self._checkpoint: Checkpoint | None = None
        self._directory: Directory | None = None
        self._threads = Threads.of(config.limits, threads=config.threads)
        self.ranks: RankProcesses | None = None  # of the further devices
        self._watching: asyncio.Task[None] | None = None
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
        await self._stop_beating()
        await asyncio.gather(self._announce_offline(), self._end_sessions(self.config.stop_timeout_s))
        await self._threads.stop()
        if self.serving is not None:
            self.serving.stage.paging.close_all()
        if self.ranks is not None:
            await self.ranks.close()
        if self._host is not None:
            await self._host.close()
            self._host, self.serving = None, None
            log.info("stopped")
            self._on_event(Offline())

    async def drain(self) -> None:
        """Leave the swarm's directory and refuse what is new; open sessions go on until `stop`. Event: Offline."""
        await self._stop_beating()
        await self._tell_offline()

    async def offload(self) -> None:
        """Give the device back: tell the swarm, end sessions so that they continue elsewhere, free the weights.

        What sessions had computed is kept beside the device, for those whose clients find nobody else and come back.
        Returns when both the announcement is out and the memory free; neither waits for the other. The node stays, so
        that others still find the swarm by it. Events: Offline when the announcement is out, Freed.
        """
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
        assert self._directory is not None
        begin, span, checkpoint = time.monotonic(), self.serving.blocks.span, self._checkpoint
        assert checkpoint is not None
        self._threads = Threads.of(self.config.limits, threads=self.config.threads)
        self._threads.start()
        take = self._take_back if self.serving.blocks.is_restorable else lambda: self._load(checkpoint, span)
        loaded = asyncio.create_task(_in_thread(lambda: (checkpoint, take())))
        await self._join(self._directory, span, loaded)
        await self._go_online(begin)

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

    def throttle(self, duty: float) -> None:
        """Compute in this share of the time until the weights are freed."""
        self._threads.throttle(duty)

    def metrics(self) -> EngineMetrics:
        """What it counts; all zero before it serves."""
        return EngineMetrics() if self.serving is None else self.serving.metrics()

    async def wait_lost(self) -> None:
        """Return when the peer-to-peer process ended by itself: then nobody can reach this engine any more.

        Raises:
            PotluckError: a further device failed, and does not come back.
        """
        assert self._host is not None
        lost = asyncio.create_task(self._host.wait_lost())
        try:
            await asyncio.wait({lost, self._watching or lost}, return_when=asyncio.FIRST_COMPLETED)
            if self._watching is not None and self._watching.done() and not self._watching.cancelled():
                self._watching.result()
        finally:
            lost.cancel()

    async def _start(self) -> None:
        begin = time.monotonic()
        config = self.config
        self._on_event(Starting(config.swarm.model))
        self._threads.start()
        await self._start_ranks()
        opening = asyncio.create_task(_in_thread(lambda: self._open_and_maybe_load()))
        try:
            self._host = host = await self._start_host(self._host_config())
            log.info("joined the network")
            self._directory = directory = Directory(host, config.swarm, host.identity)
            if config.span is not None:
                span, loaded = config.span, opening
            else:
                checkpoint, _ = await opening
                span = await self._choose_span(directory)
                loaded = asyncio.create_task(_in_thread(lambda: (checkpoint, self._load(checkpoint, span))))
            await self._join(directory, span, loaded)
        finally:
            opening.cancel()
        await self._go_online(begin)

    async def _go_online(self, begin: float) -> None:
        assert self.serving is not None
        assert self._host is not None
        self._beating = asyncio.create_task(self._beat())
        if self.ranks is not None and self._watching is None:
            self._watching = asyncio.create_task(self._watch_ranks())
        span, seconds = self.serving.blocks.span, time.monotonic() - begin
        log.info("online with blocks %s after %.2f s", span, seconds)
        self._on_event(Online(self._host.peer_id, await self._host.addresses(), span, seconds))

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
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)

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

    async def _join(
        self, directory: Directory, span: Span, loaded: asyncio.Task[tuple[Checkpoint, BlockSpan | None]]
    ) -> None:
        """JOINING while the blocks are loaded and checked, then ONLINE."""
        assert self._host is not None
        record = self._record(span, (_UNKNOWN_DIGEST,) * len(span), _NOT_MEASURED, hidden_size=1)
        beat = Heartbeat(self._host.peer_id, ServerState.JOINING, cache_tokens_left=0)
        self._announcer = Announcer(directory, record, beat, heartbeat_interval_s=self.config.heartbeat_s)
        self._announcer.start()
        self._on_event(Joining(self._host.peer_id, span))
        try:
            self._checkpoint, blocks = await self._unless_lost(loaded)
        finally:
            loaded.cancel()
        assert blocks is not None
        num_bytes = sum(parameter.nbytes for parameter in blocks.decoder.parameters())
        log.info("loaded blocks %s, %.1f MiB", span, num_bytes / 2**20)
        self._on_event(Loading(num_bytes, num_bytes))
        self._tell_placement(blocks)
        speed = await self._serve(blocks)
        await self._announced()
        record = self._record(span, blocks.digests, speed, hidden_size=blocks.hidden_size, adapters=blocks.adapters.ids)
        self._announcer.update(record=record, heartbeat=self._heartbeat())
        await self._announced()

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
        config, compute = self.config, self._threads.compute
        async with asyncio.timeout(_CHECK_TIMEOUT_S):
            speed = await compute.run(lambda: check_and_measure(blocks))
        for tokens, seconds in speed.steps:
            compute.learn(tokens, seconds)
        if self.serving is not None and self.serving.blocks.whole is blocks:
            serving = self.serving.again(config.swarm, self._host.peer_id, self._threads)
        else:
            limits = replace(config.limits, cache_tokens=await asyncio.to_thread(cache_tokens, blocks, config))
            serving = Serving.of(
                blocks, config.swarm, self._host.peer_id, limits, self._threads, spill_folder=default_folder()
            )
        await compute.perform(serving.stage)
        handlers = await self._handlers_of(serving)
        uid = wire.block_uids(self.config.swarm.prefix, blocks.span)
        info = wire.decode_info(await handlers.info(wire.encode_info_request(uid), self._host.peer_id))
        if info.hidden_size != blocks.hidden_size:
            raise PotluckError("the engine's self-check failed: it does not describe its own blocks")
        log.info("self-check passed: %.0f steps a second through one block", speed.inference_tps)
        self.serving = serving
        return speed

    async def _handlers_of(self, serving: Serving) -> Handlers:
        """The handlers, answering with `serving` from now on; they are registered once in the life of a host."""
        assert self._host is not None
        if self._handlers is None:
            self._handlers = Handlers(serving, self._host, version=version("potluck"))
            await self._handlers.register()
        self._handlers.serving = serving
        return self._handlers

    async def _announced(self) -> None:
        assert self._announcer is not None
        try:
            async with asyncio.timeout(_ANNOUNCE_TIMEOUT_S):
                await self._announcer.wait_announced()
        except TimeoutError:
            raise NetworkError(
                "the swarm's directory does not take this server's announcement",
                hint="check that this computer's clock is right and that a bootstrap peer runs",
            ) from None

    async def _announce_offline(self) -> None:
        if self._announcer is not None:
            await self._announcer.stop()

    async def _end_sessions(self, timeout_s: float) -> None:
        if self.serving is None:
            return
        if not await self.serving.sessions.end_all(self.serving.admission.refusal(), timeout_s=timeout_s):
            log.warning("%d sessions were cut off", len(self.serving.sessions))

    async def _beat(self) -> None:
        """Keep the heartbeat's figures fresh; the announcer decides when they go out."""
        assert self._announcer is not None
        assert self.serving is not None
        while True:
            await asyncio.sleep(self.config.heartbeat_s)
            self._announcer.update(heartbeat=self._heartbeat())
            for session in self.serving.parking.expire(time.monotonic()):
                self.serving.compute.close(session.memory, None)

    async def _choose_span(self, directory: Directory) -> Span:
        if self.config.num_blocks is None:
            raise UsageError("which blocks to serve is not said", hint="give a span, or a number of blocks")
        view = await directory.fetch()
        assert self._host is not None
        model = ModelSize(self.config.swarm.num_blocks, block_bytes=0, token_bits=1)
        own = Own(self._host.peer_id, self.config.num_blocks, throughput_tps=0)
        return choose_span(SwarmMap.of(view.servers, model, own))

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
        )

    def _heartbeat(self) -> Heartbeat:
        assert self._host is not None
        serving = self.serving
        assert serving is not None
        load = serving.load(time.monotonic())
        return Heartbeat(
            peer_id=self._host.peer_id,
            state=ServerState.ONLINE,
            cache_tokens_left=serving.free_tokens,
            queued_tokens=serving.compute.queued_tokens + serving.calls.queued_tokens,
            step_ms=load.step_ms,
            batch=load.batch,
            queue_ms=load.queue_ms,
        )

    def _record(
        self,
        span: Span,
        digests: tuple[str, ...],
        speed: Speed,
        *,
        hidden_size: int,
        adapters: tuple[str, ...] = (),
    ) -> ServerRecord:
        assert self._host is not None
        config = self.config
        rates = combine(speed, num_blocks=len(span), hidden_size=hidden_size, link_mbps=config.link_mbps)
        if self.serving is not None:
            self.serving.meter.network_tps = rates.network_tps
        return ServerRecord(
            peer_id=self._host.peer_id,
            span=span,
            revision=config.swarm.revision,
            format=NumberFormat(config.dtype, config.quantization),
            block_digests=digests,
            max_batch_tokens=config.limits.max_batch_tokens,
            max_length=config.limits.max_length,
            inference_tps=speed.inference_tps,
            forward_tps=speed.forward_tps,
            network_tps=rates.network_tps,
            throughput_tps=rates.throughput_tps,
            version=version("potluck"),
            public_name=config.public_name,
            adapters=adapters,
        )


async def _start_libp2p(config: HostConfig) -> ServingHost:
    from potluck.p2p.libp2p import Libp2pHost

    return await Libp2pHost.start(config)


async def _in_thread(work: Callable[[], T]) -> T:
    """Run blocking work in a thread that cannot keep the process alive: a download may take hours, leaving may not."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(outcome: Callable[[], None]) -> None:
        if not future.done():
            outcome()

    def run() -> None:
        try:
            outcome = partial(future.set_result, work())
        except BaseException as error:  # whatever it is, it belongs to whoever waits
            outcome = partial(future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the engine left while this was at work
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name="load", daemon=True).start()
    return await future
