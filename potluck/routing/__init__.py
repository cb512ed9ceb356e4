"""Chooses routes through the servers of a swarm. Pure: no clock, no network."""

from potluck.routing.affinity import STICKINESS, Affinity, Parts
from potluck.routing.candidates import UNKNOWN_RTT_S, exclusion
from potluck.routing.latency import estimate_rtts
from potluck.routing.pace import Pace, Patience, Slowness, opening_silence_s
from potluck.routing.route import Needs, NoRouteError, Route, RouteHop, Vantage, Variant
from potluck.routing.search import (
    DRAWS,
    MOST_ASKED,
    choose_adapter,
    draw_routes,
    find_route,
    link_delays,
    reprice,
    shortlist,
)
from potluck.routing.servers import ServerColumns

__all__ = [
    "DRAWS",
    "MOST_ASKED",
    "STICKINESS",
    "UNKNOWN_RTT_S",
    "Affinity",
    "Needs",
    "NoRouteError",
    "Pace",
    "Parts",
    "Patience",
    "Route",
    "RouteHop",
    "ServerColumns",
    "Slowness",
    "Vantage",
    "Variant",
    "choose_adapter",
    "draw_routes",
    "estimate_rtts",
    "exclusion",
    "find_route",
    "link_delays",
    "opening_silence_s",
    "reprice",
    "shortlist",
]
