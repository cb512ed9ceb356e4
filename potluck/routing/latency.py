"""Estimates round trips to servers that this client has not pinged, from what servers measured between each other.

A client, a landmark that it pinged and a server form a triangle: the third side is at least the difference of the
other two and at most their sum. The estimate is the middle of the tightest bounds over all landmarks. The client's own
measurements take precedence, so the first call exposes a server that lies about its distance.

Source: Guyton and Schwartz, "Locating nearby copies of replicated Internet servers", 1995.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from potluck.protocol.blocks import PeerId
from potluck.protocol.records import LiveServer


def estimate_rtts(servers: Iterable[LiveServer], measured_s: Mapping[PeerId, float]) -> dict[PeerId, float]:
    """Return the measured round trips in seconds, and an estimate for each server that shares a landmark with us."""
    bounds: dict[PeerId, tuple[float, float]] = {}
    for server in servers:
        mine_s = measured_s.get(server.peer_id)
        for other, ping_s in server.heartbeat.pings_s.items():
            if mine_s is not None and other not in measured_s:
                _tighten(bounds, other, mine_s, ping_s)
            elif mine_s is None and other in measured_s:
                _tighten(bounds, server.peer_id, measured_s[other], ping_s)
    estimates = {peer: max((least_s + most_s) / 2, 0.0) for peer, (least_s, most_s) in bounds.items()}
    return {**estimates, **measured_s}


def _tighten(bounds: dict[PeerId, tuple[float, float]], peer: PeerId, one_s: float, other_s: float) -> None:
    least_s, most_s = bounds.get(peer, (0.0, float("inf")))
    bounds[peer] = max(least_s, abs(one_s - other_s)), min(most_s, one_s + other_s)
