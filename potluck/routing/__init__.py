"""From the servers of a swarm to a route through them. Pure functions; no clock, no network."""

from potluck.routing.route import Hop, NoRouteError, Route, Variant
from potluck.routing.search import Needs, choose_adapter, find_route, replacement

__all__ = ["Hop", "Needs", "NoRouteError", "Route", "Variant", "choose_adapter", "find_route", "replacement"]
