"""What this engine tells the swarm about itself: one record, one heartbeat, both kept true.

join -> JOINING, with what is to be served | go_online -> ONLINE, beating | tell, whenever the span changes | leave
"""

from __future__ import annotations

import asyncio
import time
from importlib.metadata import version

from potluck_control.launch_spec import LaunchSpec

from potluck.checkpoint.fetching import FETCHING
from potluck.directory import Announcer
from potluck.errors import NetworkError
from potluck.protocol.blocks import Span
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState
from potluck_engine.measure import Speed, combine, is_news, refreshed
from potluck_engine.node import Node
from potluck_engine.serving import Serving

_UNKNOWN_DIGEST = "0" * 16  # of blocks that are still being loaded; nobody is sent to a server that is JOINING
_NOT_MEASURED = Speed(0.0, 0.0)
_ANNOUNCE_TIMEOUT_S = 30.0


class Announcements:
    """One engine's. The attributes are what `tell` announces besides what is served.

    Attributes:
        target: what it means to serve.
        window: how many blocks it can hold.
        stored: blocks whose files are on its disk.
    """

    def __init__(self, config: LaunchSpec, node: Node) -> None:
        self.target: Span | None = None
        self.window = 0
        self.stored: frozenset[int] = frozenset()
        self.speed = _NOT_MEASURED
        self.network = node.speed
        self._told: ServerRecord | None = None
        self.directory = node.directory
        self.peer_id = node.peer_id
        self._config = config
        self._serving: Serving | None = None
        self._announcer: Announcer | None = None
        self._beating: asyncio.Task[None] | None = None

    @property
    def throughput_tps(self) -> float:
        """Of the span that is meant; 0 if it was never measured."""
        return self._record().throughput_tps if self.speed.forward_tps and self.target is not None else 0.0

    def join(self, span: Span) -> None:
        """Say that `span` is being loaded; again, with another span, if the choice changes meanwhile."""
        self.target, self._serving = span, None
        beat = Heartbeat(self.peer_id, ServerState.JOINING, cache_tokens_left=0)
        if self._announcer is None:
            self._announcer = Announcer(
                self.directory, self._record(), beat, heartbeat_interval_s=self._config.heartbeat_s
            )
            self._announcer.start()
        else:
            self._announcer.update(record=self._record(), heartbeat=beat)

    async def go_online(self, serving: Serving, speed: Speed) -> None:
        """Return once the directory says so. Raises NetworkError if it takes nothing."""
        assert self._announcer is not None
        await self.wait_announced()
        self._serving, self.speed = serving, speed
        if self.target is None or not self.target.covers(serving.blocks.span):
            self.target = serving.blocks.span
        await self.tell()

    async def tell(self) -> None:
        """Announce what is so now. Raises NetworkError if the directory takes nothing."""
        if self._announcer is None:
            return
        beat = None if self._serving is None else self._heartbeat(self._serving)
        self._announcer.update(record=self._record(), heartbeat=beat)
        await self.wait_announced()

    async def wait_announced(self) -> None:
        """The first announcement is out. Raises NetworkError if the directory takes nothing."""
        assert self._announcer is not None
        try:
            async with asyncio.timeout(_ANNOUNCE_TIMEOUT_S):
                await self._announcer.wait_announced()
        except TimeoutError:
            raise NetworkError(
                "the swarm does not accept this server's announcement",
                hint="check that this computer's clock is right and that a bootstrap peer runs",
            ) from None

    def start_beating(self) -> None:
        self._beating = asyncio.create_task(self._beat())

    async def stop_beating(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)

    async def leave(self) -> None:
        """Say OFFLINE, as far as the directory answers. Idempotent; `join` may follow."""
        if self._announcer is not None:
            announcer, self._announcer = self._announcer, None
            await announcer.stop()

    async def _beat(self) -> None:
        """Keep the heartbeat's figures fresh; the announcer decides when they go out."""
        while True:
            await asyncio.sleep(self._config.heartbeat_s)
            serving = self._serving
            if serving is None or self._announcer is None:
                continue
            self._announcer.update(record=self._news(serving), heartbeat=self._heartbeat(serving))
            for session in serving.parking.expire(time.monotonic()):
                serving.compute.close(session.memory, None)

    def _news(self, serving: Serving) -> ServerRecord | None:
        """The record, if real steps or the network show it to be other than others were told."""
        self.speed = refreshed(self.speed, serving.compute.cost, len(serving.blocks.span))
        before, now = self._told, self._record()
        rates = ("inference_tps", "forward_tps", "throughput_tps", "network_tps", "download_bps")
        if before is None or any(is_news(getattr(before, rate), getattr(now, rate)) for rate in rates):
            self._told = now
            return now
        return None

    def _heartbeat(self, serving: Serving) -> Heartbeat:
        load = serving.load(time.monotonic())
        return Heartbeat(
            peer_id=self.peer_id,
            state=ServerState.ONLINE,
            cache_tokens_left=serving.free_tokens,
            queued_tokens=serving.compute.queued_tokens + serving.calls.queued_tokens,
            step_ms=load.step_ms,
            batch=load.batch,
            queue_ms=load.queue_ms,
            pings_s=dict(self.network.pings_s),
            links_mbps=self.network.links_mbps,
        )

    def _record(self) -> ServerRecord:
        config, serving = self._config, self._serving
        assert self.target is not None
        span, digests, hidden_size = self.target, (_UNKNOWN_DIGEST,) * len(self.target), 1
        adapters: tuple[str, ...] = ()
        if serving is not None:
            whole, span = serving.blocks.whole, serving.admission.kept
            digests, adapters, hidden_size = whole.digests_of(span), whole.adapters.ids, whole.hidden_size
        rates = combine(
            self.speed, num_blocks=len(self.target), hidden_size=hidden_size, link_mbps=self.network.link_mbps
        )
        if serving is not None:
            serving.meter.network_tps = rates.network_tps
        return ServerRecord(
            peer_id=self.peer_id,
            span=span,
            revision=config.swarm.revision,
            format=NumberFormat(config.dtype, config.quantization),
            block_digests=digests,
            max_batch_tokens=config.limits.max_batch_tokens,
            max_length=config.limits.max_length,
            inference_tps=self.speed.inference_tps,
            forward_tps=self.speed.forward_tps,
            network_tps=rates.network_tps,
            throughput_tps=rates.throughput_tps,
            version=version("potluck"),
            public_name=config.public_name or None,
            adapters=adapters,
            using_relay=self.network.is_relayed,
            download_bps=8 * FETCHING.bytes_s,
            target=self.target,
            window=self.window,
            stored=self.stored,
            moves=config.span is None,
        )
