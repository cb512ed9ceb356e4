"""Lists the records of a node, so that two nodes find out with few bytes what one of them lacks.

Records fall into buckets by the tag of their peer. The digest of a bucket is the sum of its entries, one for each
record. Nodes compare digests and then only the buckets that differ (Dynamo's Merkle trees with two levels).
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
_BUCKET_SERVERS: Final = 16  # entries sent for one changed record; an unchanged bucket costs one digest


def num_buckets_for(num_servers: int) -> int:
    """Return a power of two that suits this number of servers."""
    buckets = MIN_BUCKETS
    while buckets * _BUCKET_SERVERS < num_servers and buckets < MAX_BUCKETS:
        buckets *= 2
    return buckets


@lru_cache(maxsize=1 << 15)
def entry_of(peer: PeerId, sequence: float) -> bytes:
    """Return the entry of one record, derived from its peer and sequence number."""
    return hashlib.sha256(b"%d:%b" % (round(sequence * 1000), peer.encode())).digest()[:ENTRY_BYTES]


def bucket_of(peer: PeerId, of: int) -> int:
    """Return the number of the bucket of `peer` among `of` buckets, a power of two."""
    return int.from_bytes(tag_of(peer)[:2], "big") * of >> 16


class Listing:
    """A listing of records, given as peer and sequence number."""

    def __init__(self, records: Iterable[tuple[PeerId, float]]) -> None:
        self._buckets: list[dict[bytes, PeerId]] = [{} for _ in range(MAX_BUCKETS)]
        for peer, sequence in records:
            self._buckets[bucket_of(peer, MAX_BUCKETS)][entry_of(peer, sequence)] = peer

    def bucket(self, number: int, of: int) -> dict[bytes, PeerId]:
        """Return the peers by entry in bucket `number` of `of` buckets, a power of two."""
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
