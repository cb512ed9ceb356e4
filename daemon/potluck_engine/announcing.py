"""Announces this engine to its swarm: one record and one heartbeat, both kept up to date.

join -> JOINING, with the target | go_online -> ONLINE, beating | tell, whenever the span changes | leave
"""

from __future__ import annotations

import asyncio
import math
import time
from importlib.metadata import version

from potluck_control.launch_spec import LaunchSpec

from potluck.checkpoint.fetching import FETCHING
from potluck.directory import Announcer
from potluck.p2p.contention import stretched
from potluck.p2p.joining import TryAgainError, patiently
from potluck.protocol.blocks import Span
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState
from potluck.tasks import cancel_and_wait
from potluck_engine.measure import Speed, is_news, refreshed, throughput_tps
from potluck_engine.node import Node
from potluck_engine.span_state import SpanState

_UNKNOWN_DIGEST = "0" * 16  # of blocks that are still loading; no client uses a server that is JOINING
_NOT_MEASURED = Speed(0.0, 0.0)
_ANNOUNCE_TIMEOUT_S = 30.0


class Announcements:
    """The announcements of one engine. `tell` announces the attributes besides the blocks that are served.

    Attributes:
        target: the blocks that the engine is going to serve.
        window: how many blocks the engine can hold.
        stored: blocks whose files are on the disk.
    """

    def __init__(self, config: LaunchSpec, node: Node) -> None:
        self.target = config.span or Span(0, 1)  # chosen before `join`, unless pinned
        self.window = len(self.target)
        self.stored: frozenset[int] = frozenset()
        self.speed = _NOT_MEASURED
        self.network = node.speed
        self._told: ServerRecord | None = None
        self.directory = node.directory
        self.peer_id = node.peer_id
        self._on_waiting = node.on_waiting
        self._config = config
        self._state: SpanState | None = None
        self._announcer: Announcer | None = None
        self._beating: asyncio.Task[None] | None = None

    @property
    def throughput_tps(self) -> float:
        """Tokens a second through the target; 0 if it was never measured, or nothing is announced yet."""
        return self._record().throughput_tps if self.speed.forward_tps and self._announcer is not None else 0.0

    def join(self, span: Span) -> None:
        """Announce that `span` is being loaded. Call it again if the choice changes meanwhile."""
        self.target, self._state = span, None
        beat = Heartbeat(self.peer_id, ServerState.JOINING, cache_tokens_left=0)
        if self._announcer is None:
            self._announcer = Announcer(
                self.directory, self._record(), beat, heartbeat_interval_s=self._config.heartbeat_s
            )
            self._announcer.start()
        else:
            self._announcer.update(record=self._record(), heartbeat=beat)

    async def go_online(self, state: SpanState, speed: Speed) -> None:
        """Announce that `state` is served, however long that takes, and keep the heartbeat fresh."""
        self._state, self.speed = state, speed
        if not self.target.covers(state.blocks.span):
            self.target = state.blocks.span
        self._update()
        await patiently(self.wait_announced, patience_s=math.inf, on_waiting=self._on_waiting)
        self._beating = asyncio.create_task(self._beat())

    async def tell(self) -> None:
        """Announce the present state. Raises NetworkError if nobody stores it."""
        self._update()
        await self.wait_announced()

    async def wait_announced(self) -> None:
        """Return when an announcement is stored in the directory. Raises NetworkError if nobody stores it."""
        if self._announcer is None:
            return
        try:
            async with asyncio.timeout(stretched(_ANNOUNCE_TIMEOUT_S)):
                await self._announcer.wait_announced()
        except TimeoutError:
            raise TryAgainError(
                "no member has stored this server's announcement", hint="check that other members are online"
            ) from None

    def _update(self) -> None:
        if self._announcer is not None:
            beat = None if self._state is None else self._heartbeat(self._state)
            self._announcer.update(record=self._record(), heartbeat=beat)

    async def stop_beating(self) -> None:
        await cancel_and_wait(self._beating)

    async def leave(self) -> None:
        """Announce OFFLINE, as far as the directory answers. Idempotent; `join` may follow."""
        if self._announcer is not None:
            announcer, self._announcer = self._announcer, None
            await announcer.stop()

    async def _beat(self) -> None:
        """Keep the heartbeat's figures fresh; the announcer decides when they go out."""
        while True:
            await asyncio.sleep(self._config.heartbeat_s)
            state = self._state
            if state is None or self._announcer is None:
                continue
            self._announcer.update(record=self._news(state), heartbeat=self._heartbeat(state))
            for session in state.parking.expire(time.monotonic()):
                state.compute.close(session.memory, None)

    def _news(self, state: SpanState) -> ServerRecord | None:
        """Return the record if real steps or the network have changed its rates noticeably."""
        self.speed = refreshed(self.speed, state.compute.cost, len(state.blocks.span))
        before, now = self._told, self._record()
        rates = ("inference_tps", "forward_tps", "throughput_tps", "network_tps", "download_bps")
        if before is None or any(is_news(getattr(before, rate), getattr(now, rate)) for rate in rates):
            self._told = now
            return now
        return None

    def _heartbeat(self, state: SpanState) -> Heartbeat:
        load = state.load(time.monotonic())
        return Heartbeat(
            peer_id=self.peer_id,
            state=ServerState.ONLINE,
            cache_tokens_left=state.free_tokens,
            queued_tokens=state.compute.queued_tokens + state.calls.queued_tokens,
            step_ms=load.step_ms,
            batch=load.batch,
            queue_ms=load.queue_ms,
            pings_s=dict(self.network.pings_s),
            links_mbps=self.network.links_mbps,
        )

    def _record(self) -> ServerRecord:
        config, state = self._config, self._state
        limits = config.limits if state is None else state.limits
        span, digests, hidden_size = self.target, (_UNKNOWN_DIGEST,) * len(self.target), 1
        adapters: tuple[str, ...] = ()
        private_bytes = 0
        form = NumberFormat(config.dtype, config.quantization, config.cache_quantization)
        if state is not None:
            whole, span = state.blocks.whole, state.admission.kept
            form = state.format
            private_bytes = state.private.largest_bytes
            digests, adapters, hidden_size = whole.digests_of(span), whole.adapters.ids, whole.hidden_size
        network_tps = self.network.link_mbps * 1e6 / (16 * hidden_size)
        if state is not None:
            state.meter.network_tps = network_tps
        return ServerRecord(
            peer_id=self.peer_id,
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
            public_name=config.public_name or None,
            adapters=adapters,
            using_relay=self.network.is_relayed,
            download_bps=8 * FETCHING.bytes_s,
            target=self.target,
            window=self.window,
            stored=self.stored,
            moves=config.span is None,
            private_adapter_bytes=private_bytes,
            packing_error=self.speed.packing_error,
        )
