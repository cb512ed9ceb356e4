"""Finds servers that hold other weights than those that the swarm pins. Pure.

Servers of this version check their files before they serve and announce by which manifest. Older ones don't, so their
blocks are compared with those of servers that did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from potluck.protocol.blocks import PeerId
from potluck.protocol.records import LiveServer, ServerRecord


def with_other_weights(servers: Sequence[LiveServer], weights: str) -> frozenset[PeerId]:
    """Return the servers that hold, or announce, other weights than the swarm's.

    Args:
        weights: digest of the swarm's manifest; empty: it pins none, so nobody is compared.
    """
    if not weights:
        return frozenset()
    right: defaultdict[int, set[str]] = defaultdict(set)
    unchecked = []
    for server in servers:
        record = server.record
        if record.weights != weights:
            unchecked.append(record)
            continue
        for block, digest in zip(record.span, record.block_digests, strict=True):
            right[block].add(digest)
    return frozenset(record.peer_id for record in unchecked if record.weights or _differs(record, right))


def _differs(record: ServerRecord, right: Mapping[int, set[str]]) -> bool:
    blocks = zip(record.span, record.block_digests, strict=True)
    return any(block in right and digest not in right[block] for block, digest in blocks)
