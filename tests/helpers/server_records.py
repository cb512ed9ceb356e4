"""Records and heartbeats for tests, plausible unless told otherwise."""

from typing import Any

from msgspec.structs import replace

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, LiveServer, NumberFormat, ServerRecord, ServerState


def record_of(peer: str, start: int, end: int, **changes: Any) -> ServerRecord:
    record = ServerRecord(
        peer_id=PeerId(peer),
        span=Span(start, end),
        revision="main",
        format=NumberFormat("float32"),
        block_digests=tuple(f"{block:016x}" for block in range(start, end)),
        max_batch_tokens=1024,
        max_length=2048,
        inference_tps=100.0,
        forward_tps=10_000.0,
        network_tps=5000.0,
        throughput_tps=50.0,
        version="0.1.0",
    )
    return replace(record, **changes)


def beat_of(peer: str, state: ServerState = ServerState.ONLINE, **changes: Any) -> Heartbeat:
    return replace(Heartbeat(PeerId(peer), state, cache_tokens_left=10_000), **changes)


def server_of(peer: str, start: int, end: int, *, beat: dict[str, Any] | None = None, **changes: Any) -> LiveServer:
    return LiveServer(record_of(peer, start, end, **changes), beat_of(peer, **(beat or {})))
