"""What an engine counts and measures, and its caps on the network: plain data for both ends of the pipe."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

STEP_TIME_BOUNDS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the buckets of `EngineMetrics.step_times`; one more bucket counts longer steps."""


class PageCounts(Struct, frozen=True):
    """Pages of the KV cache; `free` ones include kept prefixes, `spilled` ones are in RAM or on disk."""

    total: int = 0
    used: int = 0
    free: int = 0
    spilled: int = 0
    kept: int = 0  # pages of prefixes that no session uses; counted as free


class EngineMetrics(Struct, frozen=True):
    """Counts since the engine started or came back, and some figures of the present moment ("now")."""

    decode_tokens: int = 0
    prefill_tokens: int = 0  # excludes tokens of kept prefixes
    shared_tokens: int = 0  # tokens of kept prefixes, which needed no computing
    forward_tokens: int = 0
    backward_tokens: int = 0
    steps: int = 0
    step_rows: int = 0  # summed over the steps
    step_seconds: float = 0.0
    step_times: tuple[int, ...] = (0,) * (len(STEP_TIME_BOUNDS_S) + 1)
    refused_busy: int = 0
    refused_memory: int = 0
    spills: int = 0  # sessions whose pages moved to RAM or disk
    returns: int = 0  # sessions whose pages moved back
    sessions: int = 0  # now
    queued_steps: int = 0  # now; steps and calls
    queued_tokens: int = 0  # now; tokens of steps and calls
    waiting_for_pages: int = 0  # now
    pages: PageCounts = PageCounts()  # now


class NetworkCaps(Struct, frozen=True):
    """Caps on serving and, separately, on downloads of files; 0 means no cap."""

    upload_mbps: float = 0.0
    download_mbps: float = 0.0
    may_measure: bool = True  # exchange bytes with others to measure speed


class Reach(StrEnum):
    """The way in which others reach this node."""

    UNKNOWN = "unknown"  # no peer answered, or the network is within one machine
    DIRECT = "direct"
    RELAYED = "relayed"


class NetworkReport(Struct, frozen=True):
    """This node's reach, as reported by peers that tried, and rates in Mbit/s; 0: not known."""

    reach: Reach = Reach.UNKNOWN
    num_asked: int = 0  # peers that answered whether they reach this machine
    num_reached: int = 0  # peers that do reach it
    link_mbps: float = 0.0  # the rate that the swarm is told
    num_links: int = 0  # links to peers that were measured; 0: `link_mbps` is a setting or a guess
    ping_ms: float = 0.0  # median round trip to peers
    download_mbps: float = 0.0  # rate of file downloads
