"""What an engine may do with the network, and what it found out about it. Plain data, for both ends of the pipe."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NetworkCaps:
    """For all that serving carries, and for downloads of files each; 0: no cap."""

    upload_mbps: float = 0.0
    download_mbps: float = 0.0
    may_measure: bool = True  # exchange bytes with others only to see how fast they come


@dataclass(frozen=True, slots=True)
class NetworkReport:
    """`reach`: unknown, direct or relayed, as peers said who tried; rates in Mbit/s, 0: not known."""

    reach: str = "unknown"
    num_asked: int = 0  # peers that said whether they reach this machine
    num_reached: int = 0  # of them do
    link_mbps: float = 0.0  # what the record counts with
    num_links: int = 0  # links to peers that were measured; 0: `link_mbps` is a setting or a guess
    ping_ms: float = 0.0  # median round trip to peers
    download_mbps: float = 0.0  # of files
