"""Which records a node has, so that two nodes find out with few bytes what one of them lacks.

Records fall into buckets by their peer's tag; a bucket's digest is the sum of what stands for each record in it. Nodes
compare digests and then look only at the buckets that differ (the idea of Dynamo's Merkle trees, two levels deep).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from potluck.directory.fields import tag_of
from potluck.protocol.blocks import PeerId

ENTRY_BYTES: Final = 6
DIGEST_BYTES: Final = 4
MIN_BUCKETS: Final = 16
MAX_BUCKETS: Final = 4096
_BUCKET_SERVERS: Final = 16  # a changed record makes so many entries travel, an unchanged bucket one digest


def num_buckets_for(num_servers: int) -> int:
    """A power of two."""
    buckets = MIN_BUCKETS
    while buckets * _BUCKET_SERVERS < num_servers and buckets < MAX_BUCKETS:
        buckets *= 2
    return buckets


@lru_cache(maxsize=1 << 15)
def entry_of(peer: PeerId, sequence: float) -> bytes:
    """Stands for one record: its peer and which of its records."""
    return hashlib.sha256(b"%d:%b" % (round(sequence * 1000), peer.encode())).digest()[:ENTRY_BYTES]


class Listing:
    """Of records given as peer and sequence number."""

    def __init__(self, records: Iterable[tuple[PeerId, float]]) -> None:
        self._buckets: list[dict[bytes, PeerId]] = [{} for _ in range(MAX_BUCKETS)]
        for peer, sequence in records:
            self._buckets[int.from_bytes(tag_of(peer)[:2], "big") * MAX_BUCKETS >> 16][entry_of(peer, sequence)] = peer

    def bucket(self, number: int, of: int) -> dict[bytes, PeerId]:
        """Peers by entry in bucket `number` of `of`, which is a power of two."""
        each = MAX_BUCKETS // of
        return {
            entry: peer
            for bucket in self._buckets[number * each : (number + 1) * each]
            for entry, peer in bucket.items()
        }

    def digests(self, num_buckets: int) -> list[bytes]:
        return [_digest(self.bucket(number, num_buckets)) for number in range(num_buckets)]


def _digest(entries: Iterable[bytes]) -> bytes:
    total = sum(int.from_bytes(entry, "big") for entry in entries)
    return (total % (1 << 8 * DIGEST_BYTES)).to_bytes(DIGEST_BYTES, "big")
