"""Expects how fast one answer comes through the swarm, from what the servers of the best route measured. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck.routing.latency import estimate_rtts
from potluck.routing.route import NoRouteError, Vantage
from potluck.routing.search import find_route
from potluck.routing.servers import ServerColumns

_LEAST_STEP_S = 1e-3  # servers may claim any speed; no step through a swarm is faster


def expected_tps(servers: Sequence[LiveServer], num_blocks: int, own: PeerId) -> float:
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
    return round(1 / max(route.cost_s, _LEAST_STEP_S), 3)
