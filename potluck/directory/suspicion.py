"""Decides whom to doubt: servers that did not answer this node, or that others complain about. Pure bookkeeping.

What failed here counts, never what others say. Several silent servers of one person make the others of that person
doubtful, so that invented servers are not tried one by one. A complaint is worth a ping at most:

    enough people complain within a minute, or we cannot reach the server ourselves -> ping it
    it does not answer -> it leaves our own map (`Table.hide`) until its next heartbeat

Nobody else hears of our suspicion, and nobody's complaint hides a server: a liar costs others a ping. `now` is in
seconds of a steady clock.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable

from potluck.directory.fairness import in_turns
from potluck.protocol.blocks import PeerId, PersonId, PersonOf

COMPLAINT_LIVES_S = 60.0
NUM_WATCHERS = 3  # people whose servers hear of a failure; all clients that see the same swarm choose the same ones
MAX_OPEN = 16  # complaints of one person; a client that fails with more servers has a problem of its own
MAX_PEOPLE = 1024  # people whose complaints are kept


def people_needed(num_people: int) -> int:
    """Return how many people must complain: two, and one more for each tenfold swarm.

    Only a ping is at stake, so a few suffice even where a tenth of the people lie.
    """
    return 1 + len(str(num_people))


class Complaints:
    """The complaints that one server has heard. `now` is in seconds of a steady clock."""

    def __init__(self) -> None:
        self._by: OrderedDict[PersonId, OrderedDict[PeerId, float]] = OrderedDict()  # the latest last, both

    def add(self, person: PersonId, suspect: PeerId, now: float, *, num_people: int) -> bool:
        """Record a complaint; return whether it is time to ping the suspect.

        Args:
            num_people: who are known to run servers.
        """
        mine = self._by.setdefault(person, OrderedDict())
        mine[suspect] = now
        mine.move_to_end(suspect)
        self._by.move_to_end(person)
        if len(mine) > MAX_OPEN:
            mine.popitem(last=False)
        if len(self._by) > MAX_PEOPLE:
            self._by.popitem(last=False)
        for theirs in self._by.values():
            if suspect in theirs and now - theirs[suspect] > COMPLAINT_LIVES_S:
                del theirs[suspect]
        if sum(suspect in theirs for theirs in self._by.values()) < people_needed(num_people):
            return False
        self.clear(suspect)
        return True

    def clear(self, suspect: PeerId) -> None:
        """Forget complaints about a server that was heard of, or is about to be pinged."""
        for theirs in self._by.values():
            theirs.pop(suspect, None)


def watchers_of(suspect: PeerId, servers: Iterable[PeerId], person_of: PersonOf) -> list[PeerId]:
    """Return the servers to tell that `suspect` failed, each of another person and none of its own person.

    Rendezvous hashing brings all clients' complaints together.
    """
    chosen: dict[PersonId | None, PeerId] = {None: suspect, person_of(suspect): suspect}
    for peer in sorted(servers, key=lambda peer: hashlib.sha256(f"{suspect} {peer}".encode()).digest()):
        chosen.setdefault(person_of(peer), peer)
    return [peer for peer in chosen.values() if peer != suspect][:NUM_WATCHERS]


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

    def record(self, peer: PeerId, now: float, *, answered: bool) -> None:
        self._sweep(now)
        person = self.person_of(peer)
        if person is not None:
            self._outcomes.setdefault(person, {})[peer] = now, answered

    def is_doubtful(self, peer: PeerId, now: float) -> bool:
        """Return whether `peer` failed last time, or has not answered yet while several others of its person failed."""
        person = self.person_of(peer)
        theirs = {} if person is None else self._outcomes.get(person, {})
        fresh = {each: answered for each, (when, answered) in theirs.items() if now - when < _LIVES_S}
        if peer in fresh:
            return not fresh[peer]
        return sum(not answered for answered in fresh.values()) >= MAX_SILENT

    def is_due(self, peer: PeerId, now: float) -> bool:
        """Return whether `peer` may be tried again: its last failure, if there is one, was a while ago."""
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
