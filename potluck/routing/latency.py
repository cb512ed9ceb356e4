"""Estimates round trips that a client has not measured, from what servers measured between each other.

A client, a landmark that it pinged and a server form a triangle: the third side is at least the difference of the
other two and at most their sum. The estimate is the middle of the tightest bounds over all landmarks. The client's own
measurements take precedence, so the first call exposes a server that lies about its distance.

Between two servers, of which a ring needs the round trip, the larger of their two measurements counts, within the
bounds of the triangle with the client. So no server can make a link look shorter than the one at its other end says,
or than the client can have seen.

Source: Guyton and Schwartz, "Locating nearby copies of replicated Internet servers", 1995. How it predicts beside
network coordinates is in docs/decisions/0018.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from potluck.protocol.blocks import PeerId
from potluck.protocol.records import LiveServer
from potluck.routing.servers import Floats, Ints


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


def between_servers(servers: Sequence[LiveServer], rtts_s: Floats, ones: Ints, others: Ints) -> Floats:
    """Return round trips from server to server, by their measurements or through landmarks, in seconds.

    Where neither helps, and where a server cannot push, it is the way through the client.

    Args:
        servers: those of the pairs, and landmarks.
        rtts_s: from the client to each server.
        ones, others: the pairs, as places in `servers`.
    Returns: one value for each pair, never more than the way through the client.
    """
    measured = _measured(servers)
    least, most = np.abs(rtts_s[ones] - rtts_s[others]), rtts_s[ones] + rtts_s[others]
    legs, other_legs = measured[:, ones], measured[:, others]
    with np.errstate(invalid="ignore"):  # two unknown legs
        differences = np.abs(legs - other_legs)
    differences[~np.isfinite(differences)] = 0.0
    below = np.maximum(differences.max(axis=0, initial=0.0), least)
    above = (legs + other_legs).min(axis=0, initial=np.inf)
    guessed = np.where(above < most, np.maximum((below + above) / 2, below), most)
    direct = measured[ones, others]
    found: Floats = np.clip(np.where(np.isfinite(direct), direct, guessed), least, most)
    pushes = np.array([server.record.is_ours for server in servers], np.bool_)
    return np.where(pushes[ones] & pushes[others], found, most)


def _measured(servers: Sequence[LiveServer]) -> Floats:
    """Return the larger measurement of each two servers, infinite where there is none, [servers, servers]."""
    index = {server.peer_id: row for row, server in enumerate(servers)}
    measured = np.full((len(servers), len(servers)), -np.inf)
    for row, server in enumerate(servers):
        for other, ping_s in server.heartbeat.pings_s.items():
            column = index.get(other)
            if column is not None and column != row:
                measured[row, column] = ping_s
    measured = np.maximum(measured, measured.T)
    return np.where(np.isfinite(measured), measured, np.inf)


def _tighten(bounds: dict[PeerId, tuple[float, float]], peer: PeerId, one_s: float, other_s: float) -> None:
    least_s, most_s = bounds.get(peer, (0.0, float("inf")))
    bounds[peer] = max(least_s, abs(one_s - other_s)), min(most_s, one_s + other_s)
