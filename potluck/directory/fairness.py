"""Orders servers so that nobody gets in front of others by having more of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from potluck.protocol.blocks import PeerId, PersonId, PersonOf


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
