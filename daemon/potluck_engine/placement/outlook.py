"""Describes the swarm for people: who serves it, how fast an answer comes, and what one more server would bring. Pure.

The speed of an answer is what the servers of the best route measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from potluck_control.api.schema import OneMore
from potluck_control.methods.members import SeenServer

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer, ServerState
from potluck.routing.latency import estimate_rtts
from potluck.routing.route import NoRouteError, Vantage
from potluck.routing.search import find_route
from potluck.routing.servers import ServerColumns
from potluck_engine.placement.choose import choose_span
from potluck_engine.placement.swarm_map import KnownServer, ModelSize, SwarmMap

_MAX_GAIN = 100.0  # a server may claim any speed, and the result has to fit into a message
_MIN_STEP_S = 1e-3  # a server may claim any speed, and no step through a swarm is faster


def seen_servers(servers: Sequence[LiveServer], own: PeerId | None = None) -> tuple[SeenServer, ...]:
    """Return the servers of a swarm as people see them, this computer `own` first."""
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


def one_more(servers: Sequence[LiveServer], num_blocks: int) -> OneMore | None:
    """Return what one more server like the median one would bring; None if no server is online."""
    online = [server for server in servers if server.heartbeat.state is ServerState.ONLINE]
    if not online:
        return None
    window = min(round(median(server.record.window for server in online)), num_blocks)
    throughput_tps = median(server.record.throughput_tps for server in online)
    # The sizes of files and hidden states are not known here, so fetching and measured links don't count.
    size = ModelSize(num_blocks, block_bytes=1.0, token_bits=1.0)
    return joining_gain(SwarmMap.of(online, size, KnownServer(PeerId(""), window, throughput_tps)))


def joining_gain(swarm_map: SwarmMap) -> OneMore:
    """Return what the map's own server, which must not serve yet, would add to the live servers."""
    coverage = swarm_map.coverage(swarm_map.live)
    before = float(coverage.min())
    span = choose_span(swarm_map)
    coverage[span.start : span.end] += swarm_map.servers.throughput_tps[swarm_map.me]
    gain = min(float(coverage.min()) / before - 1, _MAX_GAIN) if before > 0 else 0.0
    return OneMore((span.start, span.end), round(gain, 3))


def expected_answer_tps(servers: Sequence[LiveServer], num_blocks: int, own: PeerId) -> float:
    """Return the tokens a second of one answer, steps and network together; 0: some blocks have no server.

    Args:
        own: the server, or standby node, beside which the answer is asked for.
    """
    measured_s = next((server.heartbeat.pings_s for server in servers if server.peer_id == own), {})
    vantage = Vantage(rtts_s=estimate_rtts(servers, {**measured_s, own: 0.0}))
    try:
        route = find_route(ServerColumns.of(servers), Span(0, num_blocks), vantage=vantage)
    except NoRouteError:
        return 0.0
    return round(1 / max(route.cost_s, _MIN_STEP_S), 3)
