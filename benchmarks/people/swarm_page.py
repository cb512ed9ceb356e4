"""The web page of a large swarm."""

from __future__ import annotations

import random

from potluck_cli.swarm.overview import overview
from potluck_cli.swarm.page_content import HOUR_S, HOURS, PageHistory, Readers, SwarmReading, draw

from benchmarks.figures import Measured, figure
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import Heartbeat, LiveServer, NumberFormat, ServerRecord, ServerState
from potluck.protocol.swarm import new_swarm

_SERVERS, _BLOCKS = 1000, 80


@figure("swarm_page", unit="KB", reach=300)
def size(_: bool) -> Measured:
    """Size of the web page of a swarm with 1,000 servers, with the longest names, in letters of three bytes."""
    return Measured(len(page_of(_SERVERS)) / 1e3, {"servers": _SERVERS})


def page_of(num_servers: int) -> bytes:
    """Return the page of a swarm whose servers have long names, after a week of readings."""
    rng, now = random.Random(20), 1_800_000_000.0
    servers = [_server(index, rng) for index in range(num_servers)]
    history = PageHistory("0" * 32)
    for hour in reversed(range(HOURS)):
        history = history.with_reading(
            now - hour * HOUR_S,
            servers=rng.randrange(num_servers),
            is_complete=rng.random() < 0.9,
            answer_tps=100 * rng.random(),
        )
    swarm = new_swarm("friends", "owner/model-of-eighty-layers", _BLOCKS)
    return draw(SwarmReading(overview(swarm, servers), now, history.hours), Readers())


def _server(index: int, rng: random.Random) -> LiveServer:
    peer, start = PeerId(f"12D3KooW{index:08}"), rng.randrange(_BLOCKS)
    span = Span(start, min(_BLOCKS, start + rng.randrange(1, 20)))
    record = ServerRecord(
        peer_id=peer,
        span=span,
        revision="main",
        format=NumberFormat("bfloat16"),
        block_digests=("0" * 16,) * len(span),
        max_batch_tokens=2048,
        max_length=8192,
        inference_tps=400 * rng.random(),
        forward_tps=1000.0,
        network_tps=1000.0,
        throughput_tps=200 * rng.random(),
        version="0.1.0",
        public_name=f"{index}" + "名" * 28,
    )
    state = ServerState.JOINING if index % 20 == 0 else ServerState.ONLINE
    return LiveServer(record, Heartbeat(peer, state, cache_tokens_left=1000, step_ms=30 * rng.random()))
