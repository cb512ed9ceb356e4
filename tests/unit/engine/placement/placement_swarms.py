"""Small swarms for the tests of placement."""

from collections.abc import Iterable
from typing import Any

from helpers.server_records import server_of
from potluck_engine.placement.swarm_map import KnownServer, ModelSize, SwarmMap

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer, ServerState

MODEL = ModelSize(num_blocks=12, block_bytes=25e6, token_bits=131072)


def server(
    name: str,
    start: int,
    end: int,
    tps: float = 1.0,
    state: ServerState = ServerState.ONLINE,
    *,
    stored: Iterable[int] = (),
    links_mbps: dict[str, float] | None = None,
) -> LiveServer:
    links = {PeerId(peer): mbps for peer, mbps in (links_mbps or {}).items()}
    facts: dict[str, Any] = {"throughput_tps": tps, "stored": frozenset(stored), "download_bps": 200e6, "moves": True}
    digests = ("0" * 16,) * (end - start)
    return server_of(name, start, end, beat={"state": state, "links_mbps": links}, block_digests=digests, **facts)


def own(window: int, *, tps: float = 1.0, stored: Iterable[int] = (), span: Span | None = None) -> KnownServer:
    return KnownServer(PeerId("me"), window, tps, frozenset(stored), 200e6, span)


def swarm_map(*others: LiveServer, me: KnownServer, model: ModelSize = MODEL) -> SwarmMap:
    return SwarmMap.of(others, model, me)
