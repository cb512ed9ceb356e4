"""How much of what a server says of its speed is believed, so that one liar cannot move the swarm. Pure.

A claim is bounded by what others measured of its link, when enough of them did; else by what is usual in the swarm. In
the simulated swarm of volunteers the bound on what nobody measured takes 3 % of the honest capacity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from potluck.protocol.blocks import PeerId
from potluck.protocol.records import LiveServer
from potluck_daemon.placement.price import Floats

_MOST_UNMEASURED = 4.0  # times the usual throughput
_MOST_MEASURED = 8.0  # a fast link says nothing of the computing behind it; no honest volunteer is that much faster
_WITNESSES = 4
_SHARE_OF_WITNESSES = 0.75  # most of them may have slow links themselves; a quarter of them may lie


def believed_tps(
    servers: Sequence[LiveServer], own_tps: float, own_links_mbps: Mapping[PeerId, float], token_bits: float
) -> Floats:
    """[servers + 1]: tokens a second that each is taken to bear; the last is the server that decides.

    Args:
        own_tps: of the server that decides, believed as it is; 0: not known.
        own_links_mbps: what it measured itself.
        token_bits: of the hidden states of one token.
    """
    claimed = np.array([server.record.throughput_tps for server in servers])
    usual = _usual_tps([*claimed, own_tps])
    measured = _measured_tps(servers, own_links_mbps, token_bits)
    bound = [
        min(_MOST_MEASURED * usual, measured[server.peer_id])
        if server.peer_id in measured
        else _MOST_UNMEASURED * usual
        for server in servers
    ]
    believed = np.append(np.minimum(claimed, bound), own_tps)
    believed[np.append(claimed, own_tps) <= 0] = usual  # it loads its first blocks and has not measured yet
    return believed


def _usual_tps(claims: Sequence[float]) -> float:
    """The median of those who say something; of two the slower, because the other one may lie."""
    said = np.sort([claim for claim in claims if claim > 0])
    return float(said[(len(said) - 1) // 2]) if len(said) else 1.0


def _measured_tps(
    servers: Sequence[LiveServer], own_links_mbps: Mapping[PeerId, float], token_bits: float
) -> dict[PeerId, float]:
    """What the links of those carry whom enough others measured."""
    reports: dict[PeerId, list[float]] = {}
    for reporter in servers:
        for peer, mbps in reporter.heartbeat.links_mbps.items():
            if peer != reporter.peer_id:
                reports.setdefault(peer, []).append(mbps)
    for peer, mbps in own_links_mbps.items():
        reports.setdefault(peer, []).append(mbps)
    return {
        peer: float(np.quantile(links, _SHARE_OF_WITNESSES)) * 1e6 / token_bits
        for peer, links in reports.items()
        if len(links) >= _WITNESSES
    }
