"""Remembers which servers answered this node and which did not. Pure: `now` is in seconds of a steady clock.

What failed here counts, never what others say. Several silent servers of one person make the others of that person
doubtful, so that invented servers are not tried one by one.
"""

from __future__ import annotations

from collections.abc import Iterable

from potluck.directory.fairness import in_turns
from potluck.protocol.blocks import PeerId, PersonId, PersonOf

MAX_SILENT = 3  # servers of one person; a home whose link is down rarely has more
_LIVES_S = 600.0
_RETRY_S = 60.0
_SWEEP_INTERVAL_S = 60.0


class Attempts:
    """The outcomes of this node's own attempts to reach servers."""

    def __init__(self, person_of: PersonOf) -> None:
        self.person_of = person_of
        self._outcomes: dict[PersonId, dict[PeerId, tuple[float, bool]]] = {}  # when, and whether it answered
        self._sweep_due = 0.0

    def note(self, peer: PeerId, now: float, *, answered: bool) -> None:
        self._sweep(now)
        person = self.person_of(peer)
        if person is not None:
            self._outcomes.setdefault(person, {})[peer] = now, answered

    def is_doubtful(self, peer: PeerId, now: float) -> bool:
        """Tell whether `peer` failed last time, or has not answered yet while several others of its person failed."""
        person = self.person_of(peer)
        theirs = {} if person is None else self._outcomes.get(person, {})
        fresh = {each: answered for each, (when, answered) in theirs.items() if now - when < _LIVES_S}
        if peer in fresh:
            return not fresh[peer]
        return sum(not answered for answered in fresh.values()) >= MAX_SILENT

    def is_due(self, peer: PeerId, now: float) -> bool:
        """Tell whether `peer` may be tried again: its last failure, if there is one, was a while ago."""
        person = self.person_of(peer)
        when, answered = self._outcomes.get(person, {}).get(peer, (0.0, True)) if person is not None else (now, False)
        return answered or now - when >= _RETRY_S

    def order(self, peers: Iterable[PeerId], now: float) -> list[PeerId]:
        """Return `peers` in turns between people, the doubtful ones last."""
        return sorted(in_turns(peers, self.person_of), key=lambda peer: self.is_doubtful(peer, now))

    def _sweep(self, now: float) -> None:
        if now < self._sweep_due:
            return
        self._sweep_due = now + _SWEEP_INTERVAL_S
        for person, theirs in list(self._outcomes.items()):
            kept = {peer: outcome for peer, outcome in theirs.items() if now - outcome[0] < _LIVES_S}
            if kept:
                self._outcomes[person] = kept
            else:
                del self._outcomes[person]
