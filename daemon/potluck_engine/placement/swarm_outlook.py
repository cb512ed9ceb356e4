"""Computes what the swarm can do and what it lacks, for people: `potluck swarm show` and the app's status. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np
from potluck_control.methods.members import SeenServer
from potluck_control.schema import SwarmOutlook

from potluck.protocol.blocks import PeerId, runs_of
from potluck.protocol.records import LiveServer, ServerState
from potluck_engine.placement.choose import choose_span
from potluck_engine.placement.swarm_map import ModelSize, OwnServer, SwarmMap


def seen_servers(servers: Sequence[LiveServer], own: PeerId | None = None) -> tuple[SeenServer, ...]:
    """Return the servers of a swarm for the people who look at it, this computer `own` first."""
    ordered = sorted(servers, key=lambda server: (server.peer_id != own, server.span.start, server.peer_id))
    return tuple(
        SeenServer(
            server.peer_id,
            server.span.start,
            server.span.end,
            server.heartbeat.state.name.lower(),
            round(server.record.inference_tps / len(server.span), 3),
            None if own is None else server.heartbeat.pings_s.get(own),
            server.record.public_name,
            server.record.throughput_tps,
            server.heartbeat.step_ms,
            server.heartbeat.cache_tokens_left,
            server.heartbeat.queued_tokens,
            server.record.format.dtype,
            server.record.version,
            server.record.using_relay,
        )
        for server in ordered
    )


def swarm_outlook(servers: Sequence[LiveServer], num_blocks: int) -> SwarmOutlook | None:
    """Return the outlook with one more server like the median one; None if no server is online."""
    online = [server for server in servers if server.heartbeat.state is ServerState.ONLINE]
    if not online:
        return None
    window = min(round(median(server.record.window for server in online)), num_blocks)
    throughput_tps = median(server.record.throughput_tps for server in online)
    # The sizes of files and hidden states are not known here, so fetching and measured links don't count.
    size = ModelSize(num_blocks, block_bytes=1.0, token_bits=1.0)
    return outlook(SwarmMap.of(online, size, OwnServer(PeerId(""), window, throughput_tps)))


def outlook(swarm_map: SwarmMap) -> SwarmOutlook:
    """Return the outlook of the live servers; the map's own server is the additional one and must serve nothing yet."""
    coverage = swarm_map.coverage(swarm_map.live)
    lowest = float(coverage.min())
    thin = np.flatnonzero(coverage <= lowest * (1 + 1e-9))
    span = choose_span(swarm_map)
    with_it = coverage.copy()
    with_it[span.start : span.end] += swarm_map.servers.throughput_tps[swarm_map.me]
    return SwarmOutlook(
        tokens_per_s=round(lowest, 3),
        bottlenecks=tuple((run.start, run.end) for run in runs_of(thin.tolist())),
        one_more_tokens_per_s=round(float(with_it.min()), 3),
        one_more_span=(span.start, span.end),
    )
