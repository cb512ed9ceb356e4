"""Keeps each person to a fair share of the directory. Pure.

Nobody gets in front by having more servers, or asks more often than others. When there are thousands of servers, a
client follows the heartbeats of a few that it draws by its own taste, so that all clients together use every server.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable

from potluck.directory.fields import Links
from potluck.protocol.blocks import PeerId, PersonId, PersonOf
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.records import Heartbeat, ServerRecord

_WINDOW_S = 60.0


def in_turns(peers: Iterable[PeerId], person_of: PersonOf) -> list[PeerId]:
    """Return `peers` so that the first of each person comes before the second of anybody, and so on.

    Peers of the same turn keep their order; peers that belong to nobody are left out.
    """
    return [peer for _, peer in sorted(turns(peers, person_of), key=lambda turn: turn[0])]


def turns(peers: Iterable[PeerId], person_of: PersonOf) -> list[tuple[int, PeerId]]:
    """Return each peer with the number of peers of the same person before it."""
    seen: Counter[PersonId] = Counter()
    found = []
    for peer in peers:
        person = person_of(peer)
        if person is not None:
            found.append((seen[person], peer))
            seen[person] += 1
    return found


class RateLimiter:
    """A limit of units a minute for each person; `now` is in seconds of a steady clock."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._window = 0
        self._used: dict[PersonId, int] = {}

    def allows(self, person: PersonId, amount: int, now: float) -> bool:
        """Count `amount` if the person has so much left; return whether that is so."""
        window = int(now // _WINDOW_S)
        if window != self._window:  # forget all people with the window
            self._window, self._used = window, {}
        used = self._used.get(person, 0) + amount
        if used > self._most:
            return False
        self._used[person] = used
        return True

    def check(self, person: PersonId, amount: int, now: float) -> None:
        """Count `amount`. Raises RemoteError BUSY, which says when to come back."""
        if not self.allows(person, amount, now):
            after_s = round((self._window + 1) * _WINDOW_S - now, 1)
            raise RemoteError(Code.BUSY, "too many questions about the directory", retry_after_s=after_s)


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
