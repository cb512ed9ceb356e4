"""Defines what an engine may do with the network and what it has measured, as plain data for both ends of the pipe."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class NetworkCaps(Struct, frozen=True):
    """Caps on serving and, separately, on downloads of files; 0 means no cap."""

    upload_mbps: float = 0.0
    download_mbps: float = 0.0
    may_measure: bool = True  # exchange bytes with others to measure speed


class Reach(StrEnum):
    """The way on which others reach this node."""

    UNKNOWN = "unknown"  # no peer answered, or the network is within one machine
    DIRECT = "direct"
    RELAYED = "relayed"


class NetworkReport(Struct, frozen=True):
    """Reach, as peers reported who tried, and rates in Mbit/s; 0 means not known."""

    reach: Reach = Reach.UNKNOWN
    num_asked: int = 0  # peers that answered whether they reach this machine
    num_reached: int = 0  # peers that do reach it
    link_mbps: float = 0.0  # as announced to the swarm
    num_links: int = 0  # links to peers that were measured; 0: `link_mbps` is a setting or a guess
    ping_ms: float = 0.0  # median round trip to peers
    download_mbps: float = 0.0  # of files
