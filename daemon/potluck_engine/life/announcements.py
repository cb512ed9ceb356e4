"""Announces this engine to its swarm: one record and one heartbeat, both kept up to date.

join:       JOINING, with the blocks that the engine is going to serve
go_online:  ONLINE, with heartbeats
announce:   again whenever the served span changes
leave:      OFFLINE
"""

from __future__ import annotations

import asyncio
import math
import time
from importlib.metadata import version

from potluck_control.processes.launch_spec import LaunchSpec

from potluck.allowance import stretched
from potluck.checkpoint.fetching import FETCHING
from potluck.directory.announcer import Announcer
from potluck.p2p.joining import TryAgainError, with_retries
from potluck.protocol.blocks import Span
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState
from potluck.sentences import sentence
from potluck.tasks import cancel_and_wait, keep_running, start_task
from potluck_engine.compute.speed import Speed, speed_of_steps, throughput_tps
from potluck_engine.network.node import Node
from potluck_engine.serving.service import Service

_UNKNOWN_DIGEST = "0" * 16  # stands for blocks that are still loading; no client uses a server that is JOINING
_NOT_MEASURED = Speed(0.0, 0.0)
_ANNOUNCE_TIMEOUT_S = 30.0


class Announcements:
    """The announcements of one engine. `announce` publishes the attributes and what is served.

    Attributes:
        target: the blocks that the engine is going to serve; a placeholder before `join`.
        window: how many blocks the engine can hold.
        stored: blocks whose files are on the disk.
    """

    def __init__(self, config: LaunchSpec, node: Node) -> None:
        self.target = Span(0, 1)
        self.window = 1
        self.stored: frozenset[int] = frozenset()
        self.speed = _NOT_MEASURED
        self.node = node
        self._config = config
        self._service: Service | None = None
        self._announcer: Announcer | None = None
        self._beating: asyncio.Task[None] | None = None
        self._leaving: asyncio.Task[None] | None = None

    @property
    def throughput_tps(self) -> float:
        """The tokens a second through the target; 0 if they were never measured, or nothing is announced yet."""
        return self._record().throughput_tps if self.speed.forward_tps and self._announcer is not None else 0.0

    def join(self, span: Span) -> None:
        """Announce that `span` is being loaded. It may be called again with another span."""
        self.target, self._service = span, None
        if self._announcer is None:
            self._announcer = Announcer(
                self.node.directory, self._record(), self._heartbeat(), heartbeat_interval_s=self._config.heartbeat_s
            )
            self._announcer.start()
        else:
            self._update()

    async def go_online(self, service: Service, speed: Speed) -> None:
        """Announce that `service` has begun, however long that takes, and send heartbeats from then on."""
        self._service, self.speed = service, speed
        if not self.target.covers(service.blocks.span):
            self.target = service.blocks.span
        self._update()
        await with_retries(self.wait_announced, patience_s=math.inf, on_waiting=self.node.on_waiting)
        await self.stop_beating()
        self._beating = start_task(keep_running("sending heartbeats", self._beat))

    async def announce(self) -> None:
        """Announce the present state. Raises NetworkError if nobody stores it."""
        self._update()
        await self.wait_announced()

    async def wait_announced(self) -> None:
        """Wait until an announcement is stored in the directory. Raises NetworkError if nobody stores it."""
        if self._announcer is None:
            return
        try:
            async with asyncio.timeout(stretched(_ANNOUNCE_TIMEOUT_S)):
                await self._announcer.wait_announced()
        except TimeoutError:
            raise TryAgainError(
                sentence("no member has stored this server's announcement"), hint="check that other members are online"
            ) from None

    def _update(self) -> None:
        if self._announcer is not None:
            self._announcer.update(record=self._record(), heartbeat=self._heartbeat())

    async def stop_beating(self) -> None:
        await cancel_and_wait(self._beating)

    async def leave(self) -> None:
        """Announce OFFLINE, as far as the directory answers. Idempotent; `join` may follow.

        The announcement goes on if the caller is cancelled, and the next caller waits for the same one.
        """
        if self._announcer is not None:
            announcer, self._announcer = self._announcer, None
            self._leaving = start_task(announcer.stop())
        if self._leaving is not None:
            await asyncio.shield(self._leaving)

    async def _beat(self) -> None:
        """Update the heartbeat's figures; the announcer decides when to send them."""
        while True:
            await asyncio.sleep(self._config.heartbeat_s)
            service = self._service
            if service is not None:
                self.speed = speed_of_steps(self.speed, service.compute.cost, len(service.blocks.span))
                self._update()

    def _heartbeat(self) -> Heartbeat:
        service = self._service
        if service is None:
            return Heartbeat(self.node.peer_id, ServerState.JOINING, cache_tokens_left=0)
        load = service.load(time.monotonic())
        return Heartbeat(
            peer_id=self.node.peer_id,
            state=ServerState.ONLINE,
            cache_tokens_left=service.compute.free_tokens,
            queued_tokens=service.compute.queued_tokens,
            step_ms=load.step_ms,
            batch=load.batch,
            queue_ms=load.queue_ms,
            pings_s=dict(self.node.speed.pings_s),
            links_mbps=self.node.speed.links_mbps,
        )

    def _record(self) -> ServerRecord:
        config, service, network = self._config, self._service, self.node.speed
        limits, serve = config.limits, config.serve
        form = NumberFormat(serve.dtype, serve.quantization, serve.cache_quantization)
        span, digests, private_bytes = self.target, (_UNKNOWN_DIGEST,) * len(self.target), 0
        adapters: tuple[str, ...] = ()
        network_tps = network.link_mbps * 1e6 / 16  # sixteen bits a number; divided by their number below
        if service is not None:
            whole, span, limits, form = service.blocks.whole, service.admission.kept, service.limits, service.format
            private_bytes = service.private.largest_bytes
            digests, adapters = whole.digests_of(span), whole.adapters.ids
            network_tps /= whole.hidden_size
            service.meter.network_tps = network_tps
        return ServerRecord(
            peer_id=self.node.peer_id,
            span=span,
            revision=config.swarm.revision,
            format=form,
            block_digests=digests,
            weights=config.swarm.weights,
            max_batch_tokens=limits.max_batch_tokens,
            max_length=limits.max_length,
            inference_tps=self.speed.inference_tps,
            forward_tps=self.speed.forward_tps,
            network_tps=network_tps,
            throughput_tps=throughput_tps(self.speed, len(self.target), network_tps),
            version=version("potluck"),
            public_name=serve.name or None,
            adapters=adapters,
            using_relay=network.is_relayed,
            download_bps=8 * FETCHING.bytes_s,
            target=self.target,
            window=self.window,
            stored=self.stored,
            moves=config.span is None,
            private_adapter_bytes=private_bytes,
            packing_error=self.speed.packing_error,
        )
