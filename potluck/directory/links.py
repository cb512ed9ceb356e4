"""What a server measured to other servers, announced apart from its heartbeat: it changes rarely and is not small.

Peers are named by tags of eight bytes; a reader that does not know a tag's peer has no use for the measurement either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from potluck.protocol.blocks import PeerId

TAG_BYTES = 8


@dataclass(frozen=True, slots=True)
class Links:
    """By tag: round trips in seconds, bandwidths in Mbit/s."""

    peer_id: PeerId
    pings_s: Mapping[bytes, float]
    links_mbps: Mapping[bytes, float]


@lru_cache(maxsize=1 << 15)
def tag_of(peer: PeerId) -> bytes:
    """Short, and still nobody makes 2^64 keys to find one with the tag of another peer."""
    return hashlib.sha256(peer.encode()).digest()[:TAG_BYTES]
