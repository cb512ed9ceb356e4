"""Holds the newest announcement of each kind by each server. Pure; all announcements were checked before.

A server is live while its heartbeat is valid and belongs to the record at hand or an older one, unless it failed to
answer this node after that heartbeat. What others say about it does not count.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from msgspec.structs import replace

from potluck.directory.fields import Links, tag_of
from potluck.directory.seal import Announcement, Kind
from potluck.protocol.blocks import PeerId, PersonId, PersonOf, each_peer_a_person
from potluck.protocol.records import Heartbeat, LiveServer, ServerRecord, ServerState

MAX_SERVERS = 20_000  # bounds the memory that made-up servers can fill
MAX_SERVERS_OF_A_PERSON = 64  # announcements are bounded too, so these fill less than a megabyte


class Table:
    """Announcements by kind and peer. `version` changes with records and states, not with each heartbeat.

    Of a person with too many servers, those with the lowest tags count, so that all nodes keep the same ones.
    """

    def __init__(self, person_of: PersonOf = each_peer_a_person, *, max_servers: int = MAX_SERVERS) -> None:
        self.version = 0
        self.person_of = person_of
        self._max_servers = max_servers
        self._of: dict[Kind, dict[PeerId, Announcement]] = {kind: {} for kind in Kind}
        self._early: dict[PeerId, Announcement] = {}  # heartbeats that came before their records
        self._hidden: dict[PeerId, float] = {}  # sequence number of the heartbeat after which a server fell silent
        self._owners: dict[PeerId, PersonId] = {}
        self._owned: dict[PersonId, set[PeerId]] = {}

    @property
    def num_people(self) -> int:
        """Return how many people have servers here."""
        return len(self._owned)

    def fellows(self, peer: PeerId) -> Collection[PeerId]:
        """Return the servers of the person to whom `peer` belongs."""
        person = self.person_of(peer)
        return self._owned.get(person, ()) if person is not None else ()

    def add(self, new: Announcement) -> bool:
        """Keep `new` unless a newer one is known; return whether it is news. A later expiry alone is not."""
        known = self._of[new.sealed.kind]
        old = known.get(new.peer_id)
        if old is None:
            if not self._admit(new.peer_id, new.sealed.ticket):
                return False
        elif (new.sequence, new.expiration) <= (old.sequence, old.expiration):
            return False
        if new.sealed.kind is Kind.HEARTBEAT and new.sequence > self._hidden.get(new.peer_id, math.inf):
            del self._hidden[new.peer_id]
            self.version += 1
        if old is not None and self._is_early(new):
            before = self._early.get(new.peer_id)
            if before is not None and before.sequence >= new.sequence:
                return False
            self._early[new.peer_id] = new
            return True
        known[new.peer_id] = new
        if new.sealed.kind is Kind.RECORD and (early := self._early.pop(new.peer_id, None)) is not None:
            self.add(early)
        if new.sealed.kind is Kind.RECORD or old is None or state_of(old) is not state_of(new):
            self.version += 1
        return old is None or new.sequence > old.sequence

    def get(self, kind: Kind, peer: PeerId) -> Announcement | None:
        return self._of[kind].get(peer)

    def all(self, kind: Kind) -> Mapping[PeerId, Announcement]:
        return self._of[kind]

    def drop(self, peer: PeerId) -> None:
        for known in (*self._of.values(), self._early):
            known.pop(peer, None)
        self._hidden.pop(peer, None)
        person = self._owners.pop(peer, None)
        if person is not None:
            self._owned[person].discard(peer)
            if not self._owned[person]:
                del self._owned[person]

    def hide(self, peer: PeerId, beat_sequence: float) -> None:
        """Treat a server that failed to answer this node as gone until a later heartbeat than that one arrives."""
        if peer in self._of[Kind.HEARTBEAT]:
            self._hidden[peer] = beat_sequence
            self.version += 1

    def expire(self, now: float, *, beatless: bool = True) -> None:
        """Forget servers whose record and heartbeat have both expired, and those of people who are no members any more.

        Args:
            beatless: also forget servers without a known heartbeat. A client does not follow every server.
        """
        records, beats = self._of[Kind.RECORD], self._of[Kind.HEARTBEAT]
        for peer in [peer for peer, person in self._owners.items() if self.person_of(peer) != person]:
            self.drop(peer)
            self.version += 1
        for peer in {*(records if beatless else ()), *beats}:
            if all(announcement.expiration <= now for known in (records, beats) if (announcement := known.get(peer))):
                self.drop(peer)

    def live(self, now: float) -> tuple[LiveServer, ...]:
        """Return the JOINING and ONLINE servers in the order of peer ids."""
        live = self.live_peers(now)
        peers = {tag_of(peer): peer for peer in live} if self._of[Kind.LINKS] else {}
        return tuple(self._live(peer, peers) for peer in sorted(live))

    def live_peers(self, now: float) -> list[PeerId]:
        """Return the ids of the live servers."""
        records, beats = self._of[Kind.RECORD], self._of[Kind.HEARTBEAT]
        return [
            peer
            for peer, beat in beats.items()
            if is_up(beat, now)
            and peer in records
            and beat.record <= records[peer].sequence
            and beat.sequence > self._hidden.get(peer, -1.0)
        ]

    def _admit(self, peer: PeerId, ticket: bytes) -> bool:
        """Make room for `peer` in the share of its person, unless it is there already; return whether it has some."""
        if peer in self._owners:
            return True
        person = self.person_of(peer, ticket)
        if person is None:
            return False
        mine = self._owned.get(person, set())
        if len(mine) >= MAX_SERVERS_OF_A_PERSON:
            last = max(mine, key=tag_of)
            if tag_of(last) < tag_of(peer):
                return False
            self.drop(last)
        elif len(self._owners) >= self._max_servers:
            largest = max(self._owned.values(), key=len)
            if len(largest) <= len(mine) + 1:
                return False
            self.drop(max(largest, key=tag_of))
        self._owners[peer] = person
        self._owned.setdefault(person, set()).add(peer)
        return True

    def _is_early(self, new: Announcement) -> bool:
        """Return whether a heartbeat belongs to a record that has not arrived; until then the one before counts."""
        record = self._of[Kind.RECORD].get(new.peer_id)
        return record is not None and new.record > record.sequence and state_of(new) is not ServerState.OFFLINE

    def _live(self, peer: PeerId, peers: Mapping[bytes, PeerId]) -> LiveServer:
        record, beat = self._of[Kind.RECORD][peer].value, self._of[Kind.HEARTBEAT][peer].value
        links = self._of[Kind.LINKS].get(peer)
        assert isinstance(record, ServerRecord)
        assert isinstance(beat, Heartbeat)
        if links is not None:
            assert isinstance(links.value, Links)
            named = {peers[tag]: rates for tag, rates in links.value.rates.items() if tag in peers}
            pings_s = {peer: ping_s for peer, (ping_s, _) in named.items() if ping_s is not None}
            links_mbps = {peer: mbps for peer, (_, mbps) in named.items() if mbps is not None}
            beat = replace(beat, pings_s=pings_s, links_mbps=links_mbps)
        return LiveServer(record, beat)


def is_up(beat: Announcement, now: float) -> bool:
    """Return whether a heartbeat is valid and not OFFLINE."""
    return beat.expiration > now and state_of(beat) is not ServerState.OFFLINE


def state_of(announcement: Announcement) -> ServerState | None:
    """Return the state in a heartbeat; None for another kind of announcement."""
    return announcement.value.state if isinstance(announcement.value, Heartbeat) else None
