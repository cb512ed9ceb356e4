"""Keeps each person to a fair share: nobody gets in front by having more servers, or asks more than so often. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from potluck.protocol.blocks import PeerId, PersonId, PersonOf
from potluck.protocol.codes import Code, RemoteError

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
    """Allows each person `most` units a minute; `now` is in seconds of a steady clock."""

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
