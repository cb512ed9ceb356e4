"""Chooses the servers whose heartbeats a client follows when there are thousands. Pure."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable

from potluck.directory.fairness import in_turns
from potluck.directory.fields import Links
from potluck.protocol.blocks import PeerId, PersonOf
from potluck.protocol.records import Heartbeat, ServerRecord

MAX_CANDIDATES = 300  # routes among so many are as cheap as among ten thousand (reference: algorithms, 2)
_PER_BLOCK = 8
_MIN_WEIGHT = 1e-3


def choose_candidates(
    records: Iterable[ServerRecord | Heartbeat | Links], taste: bytes, num_blocks: int, person_of: PersonOf
) -> list[PeerId]:
    """Return up to `MAX_CANDIDATES` servers: the best `_PER_BLOCK` for each block, then the best of all.

    The client's `taste` draws a rank for each server, and fast servers are more likely in front (weighted rendezvous
    hashing). One client always follows the same servers, and all clients together use every server. The best of each
    person come before anybody's second best.
    """
    servers = [record for record in records if isinstance(record, ServerRecord)]
    if len(servers) <= MAX_CANDIDATES:
        return [server.peer_id for server in servers]
    by_peer = {server.peer_id: server for server in servers}
    best_first = sorted(by_peer, key=lambda peer: _rank(by_peer[peer], taste))
    ranked = [by_peer[peer] for peer in in_turns(best_first, person_of)]
    lacking = dict.fromkeys(range(num_blocks), _PER_BLOCK)
    chosen: dict[PeerId, None] = {}
    for server in ranked:
        if any(lacking[block] > 0 for block in server.span):
            chosen[server.peer_id] = None
            for block in server.span:
                lacking[block] -= 1
    chosen.update(dict.fromkeys(server.peer_id for server in ranked[:MAX_CANDIDATES]))
    return list(chosen)[:MAX_CANDIDATES]


def _rank(server: ServerRecord, taste: bytes) -> float:
    """Return the rank of a server, exponentially distributed with its speed as the rate; lower is better."""
    drawn = int.from_bytes(hashlib.sha256(taste + server.peer_id.encode()).digest()[:8], "big")
    return -math.log((drawn + 1) / (1 << 64)) / max(server.throughput_tps, _MIN_WEIGHT)
