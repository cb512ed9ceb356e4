"""Small swarms for the tests of placement."""

from __future__ import annotations

from collections.abc import Iterable

from potluck_engine.placement.swarm_map import ModelSize, OwnServer, SwarmMap

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, LiveServer, NumberFormat, ServerRecord, ServerState

MODEL = ModelSize(num_blocks=12, block_bytes=25e6, token_bits=131072)


def server(
    name: str,
    start: int,
    end: int,
    *,
    tps: float = 1.0,
    state: ServerState = ServerState.ONLINE,
    stored: Iterable[int] = (),
    links_mbps: dict[str, float] | None = None,
) -> LiveServer:
    span = Span(start, end)
    record = ServerRecord(
        peer_id=PeerId(name),
        span=span,
        revision="r",
        format=NumberFormat("float32"),
        block_digests=("0" * 16,) * len(span),
        max_batch_tokens=1,
        max_length=1,
        inference_tps=1.0,
        forward_tps=1.0,
        network_tps=1.0,
        throughput_tps=tps,
        version="1",
        stored=frozenset(stored),
        download_bps=200e6,
        moves=True,
    )
    links = {PeerId(peer): mbps for peer, mbps in (links_mbps or {}).items()}
    return LiveServer(record, Heartbeat(PeerId(name), state, 0, links_mbps=links))


def own(window: int, *, tps: float = 1.0, stored: Iterable[int] = (), span: Span | None = None) -> OwnServer:
    return OwnServer(PeerId("me"), window, tps, frozenset(stored), 200e6, span)


def swarm_map(
    *others: LiveServer, me: OwnServer, model: ModelSize = MODEL, links_mbps: dict[str, float] | None = None
) -> SwarmMap:
    return SwarmMap.of(others, model, me, {PeerId(peer): mbps for peer, mbps in (links_mbps or {}).items()})
