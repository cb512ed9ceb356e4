"""Bounds the speed that a server claims, so that one liar cannot move the swarm. Pure.

A claim is bounded by what others measured of the server's link, if enough of them did, and otherwise by the usual speed
in the swarm. In the simulated swarm of volunteers the bound on unmeasured claims costs 3 % of the honest capacity.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from potluck.protocol.blocks import PeerId
from potluck.protocol.records import LiveServer
from potluck_engine.placement.price import Floats

_MOST_UNMEASURED = 4.0  # times the usual throughput
_MOST_MEASURED = 8.0  # a fast link says nothing about compute; no simulated volunteer is that much faster
_WITNESSES = 8  # fewer may all have slow links themselves


def believed_tps(claimed: Floats, measured: Floats) -> Floats:
    """Return the tokens a second that each server is believed to bear. Shape: [servers].

    Args:
        claimed: [servers], 0 for servers that load their first blocks and do not know yet.
        measured: [servers], NaN where too few others measured.
    """
    said = np.sort(claimed[claimed > 0])
    usual = float(said[(len(said) - 1) // 2]) if len(said) else 1.0  # the slower one of two, because the other may lie
    most = np.where(np.isnan(measured), _MOST_UNMEASURED * usual, np.minimum(measured, _MOST_MEASURED * usual))
    return np.where(claimed > 0, np.minimum(claimed, most), usual)


def measured_tps(servers: Sequence[LiveServer], token_bits: float) -> dict[PeerId, float]:
    """Return the tokens a second that a link carries, for servers that enough others measured.

    The second best report counts: a slow reporter or an enemy cannot lower it, one accomplice cannot raise it.

    Args:
        token_bits: of the hidden states of one token.
    """
    reports: dict[PeerId, list[float]] = {}
    for reporter in servers:
        for peer, mbps in reporter.heartbeat.links_mbps.items():
            if peer != reporter.peer_id:
                reports.setdefault(peer, []).append(mbps)
    return {peer: sorted(links)[-2] * 1e6 / token_bits for peer, links in reports.items() if len(links) >= _WITNESSES}
