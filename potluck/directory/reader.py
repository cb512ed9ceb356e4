"""Learns from one node after another what changed in the swarm, without trusting any single one.

Authors sign what nodes pass on. What one node holds back, another one tells, and a server whose heartbeat is about to
expire is asked itself. It is forgotten only if its heartbeat has expired and the nodes of several people don't list it.
`fairness` chooses whose heartbeats are wanted. `Sources` chooses which server to ask: each reading goes to another
person, and while one server is silent the next is tried.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct

from potluck.directory import exchange
from potluck.directory.exchange import DIGEST_BYTES, Listing, num_buckets_for
from potluck.directory.fairness import choose_candidates, in_turns, turns
from potluck.directory.fields import tag_of
from potluck.directory.seal import Announcement, BadAnnouncementError, Kind, Sealed, unseal
from potluck.directory.suspicion import Attempts, people_needed
from potluck.directory.table import Table, is_up, state_of
from potluck.membership.identity import public_key_of
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.records import ServerState
from potluck.protocol.swarm import Swarm
from potluck.tasks import cancel_and_wait

CALL_TIMEOUT_S = 5.0
_FETCH_TIMEOUT_S = 20.0  # a quarter of a megabyte from a slow link
_READING_TIMEOUT_S = 30.0  # what has come by then stays, and another node tells the rest
_MAX_PAGES = 64  # page limit of one reading: 20,000 servers take forty
_SOON_S = 5.0  # time before the end of a heartbeat at which its server is asked for a newer one
_MAX_LINKS = 16  # servers whose links are read at once: links are large and change rarely
_MAX_BAD = 10  # invalid records of an answer, besides a tenth of them: the sender should have checked them
_IN_THREAD = 50  # announcements: checking this many signatures takes 10 ms


class Reader:
    """One reader of the directory, which fills `table` from the answers of other nodes.

    Args:
        taste: draws the servers that a client prefers where there are more than it can follow; None follows all.
    """

    def __init__(
        self,
        host: Host,
        swarm: Swarm,
        table: Table,
        clock: Callable[[], float],
        attempts: Attempts,
        taste: bytes | None = None,
    ) -> None:
        self.sent_bytes = self.received_bytes = 0  # bytes of message bodies
        self.num_dropped = 0
        self._host = host
        self._swarm = swarm
        self._table = table
        self._clock = clock
        self._attempts = attempts
        self._taste = taste
        self._missing_at: dict[PeerId, set[PersonId]] = {}  # people whose nodes did not list a server lately

    async def read_from(self, source: PeerId) -> list[Announcement]:
        """Fetch changes from `source`, keep them and return them. Raises RemoteError."""
        try:
            async with asyncio.timeout(_READING_TIMEOUT_S):
                return await self._read_from(source)
        except TimeoutError as error:
            raise RemoteError(Code.BUSY, "a node takes too long to tell what it knows") from error

    async def refresh_silent(self, most: int) -> list[Announcement]:
        """Fetch newer heartbeats from up to `most` servers whose own are about to expire; return what is news."""
        now, loop_s = self._clock(), asyncio.get_running_loop().time()
        silent = [
            peer
            for peer in self.wanted()
            if (beat := self._table.get(Kind.HEARTBEAT, peer)) is not None
            and beat.expiration <= now + _SOON_S
            and state_of(beat) is not ServerState.OFFLINE
            and peer != self._host.peer_id
            and self._attempts.is_due(peer, loop_s)
        ]
        chosen = self._attempts.order(silent, loop_s)[:most]
        return [each for news in await asyncio.gather(*map(self._refresh, chosen)) for each in news]

    async def _refresh(self, peer: PeerId) -> list[Announcement]:
        """Fetch a server's own heartbeat."""
        try:
            _, news = await self._compare(peer, exchange.Compare(bytes(DIGEST_BYTES), self._known(peer)), [peer])
        except RemoteError as error:
            self._record_attempt(peer, answered=error.code is not Code.UNREACHABLE)
            return []
        self._record_attempt(peer, answered=True)
        return news

    def _record_attempt(self, peer: PeerId, *, answered: bool) -> None:
        self._attempts.record(peer, asyncio.get_running_loop().time(), answered=answered)

    async def _read_from(self, source: PeerId) -> list[Announcement]:
        news: list[Announcement] = []
        for _ in range(2):  # the second round gets the heartbeats of servers that the first one brought
            listing = self._listing()
            num_buckets = num_buckets_for(len(self._table.all(Kind.RECORD)))
            peers = self._in_turns(self.wanted())
            question = exchange.Compare(
                b"".join(listing.digests(num_buckets)),
                b"".join(map(self._known, peers)),
                _MAX_LINKS if self._taste else len(peers),
            )
            differing, beats = await self._compare(source, question, peers)
            records = await self._fetch(source, listing, num_buckets, differing)
            news += beats + records
            known, wanted = self._table.all(Kind.HEARTBEAT), self.wanted() if records else []
            if 2 * sum(peer in known for peer in wanted) >= len(wanted):
                break
        return news

    async def _compare(
        self, source: PeerId, question: exchange.Compare, peers: Sequence[PeerId]
    ) -> tuple[bytes, list[Announcement]]:
        """Fetch news of `peers`; return the numbers of the buckets that differ, and what is news."""
        answer = question.read(await self._call(source, exchange.COMPARE, question))
        keys = [public_key_of(peers[each.place]) or b"" for each in answer.news]
        sealed = [
            Sealed(key, each.kind, each.body, each.signature, each.ticket)
            for key, each in zip(keys, answer.news, strict=True)
        ]
        return answer.differing, await self.check_and_add(sealed)

    async def check_and_add(self, announcements: Sequence[Sealed]) -> list[Announcement]:
        """Check announcements, keep the valid ones and return those that are news."""
        now = self._clock()
        if len(announcements) > _IN_THREAD:
            checked = await asyncio.to_thread(self._check, announcements, now)
        else:
            checked = self._check(announcements, now)
        return [announcement for announcement in checked if self._table.add(announcement)]

    def wanted(self) -> list[PeerId]:
        """Return the servers whose heartbeats this reader follows."""
        records = self._table.all(Kind.RECORD)
        if self._taste is None:
            return list(records)
        values = (record.value for record in records.values())
        return choose_candidates(values, self._taste, self._swarm.num_blocks, self._table.person_of)

    async def _fetch(self, source: PeerId, listing: Listing, num_buckets: int, buckets: bytes) -> list[Announcement]:
        news: list[Announcement] = []
        listed: set[PeerId] = set()
        mine = {
            entry: peer
            for number in exchange.read_numbers(buckets)
            for entry, peer in listing.bucket(number, num_buckets).items()
        }
        after = b""
        for _ in range(_MAX_PAGES if buckets else 0):
            question = exchange.Fetch(num_buckets, buckets, b"".join(mine), after)
            answer = question.read(await self._call(source, exchange.FETCH, question, _FETCH_TIMEOUT_S))
            records, dropped_before = answer.records, self.num_dropped
            news += await self.check_and_add(records)
            if self.num_dropped - dropped_before > _MAX_BAD + len(records) // 10:
                raise RemoteError(Code.BAD_REPLY, "a peer passes on invalid records")
            listed.update(record.peer_id for record in records)
            missing = [tuple(mine.values())[place] for place in exchange.read_numbers(answer.absent)]
            self._count_missing(source, listed, [peer for peer in missing if peer not in listed])
            after = answer.next
            if not after:
                break
        return news

    def _count_missing(self, source: PeerId, listed: Iterable[PeerId], missing: Iterable[PeerId]) -> None:
        """Forget servers that several people's nodes in a row do not list, unless their heartbeats are valid."""
        for peer in listed:
            self._missing_at.pop(peer, None)
        now, person = self._clock(), self._table.person_of(source)
        for peer in missing:
            beat = self._table.get(Kind.HEARTBEAT, peer)
            if person is None or self._host.is_on_probation(source) or (beat is not None and beat.expiration > now):
                continue
            people = self._missing_at.setdefault(peer, set())
            people.add(person)
            if len(people) >= people_needed(self._table.num_people):
                self._table.drop(peer)
        known = self._table.all(Kind.RECORD)
        self._missing_at = {peer: people for peer, people in self._missing_at.items() if peer in known}

    def _check(self, announcements: Sequence[Sealed], now: float) -> list[Announcement]:
        checked = []
        for sealed in announcements:
            try:
                announcement = unseal(self._swarm, sealed, now=now)
            except BadAnnouncementError:
                self.num_dropped += 1
                continue
            if sealed.kind is not Kind.HEARTBEAT or announcement.expiration > now:  # others depend on it
                checked.append(announcement)
        return checked

    def _in_turns(self, peers: list[PeerId]) -> list[PeerId]:
        """Order `peers` for an answer that may end before the last one: by turns, and otherwise by chance."""
        return in_turns(random.sample(peers, len(peers)), self._table.person_of)

    def _listing(self) -> Listing:
        """List the records of all servers that may be live, including those without a known heartbeat."""
        beats, now = self._table.all(Kind.HEARTBEAT), self._clock()
        return Listing(
            (peer, record.sequence)
            for peer, record in self._table.all(Kind.RECORD).items()
            if peer not in beats or is_up(beats[peer], now)
        )

    def _known(self, peer: PeerId) -> bytes:
        """Return what a question says of a server: its tag and what is known of it."""
        found = (self._table.get(kind, peer) for kind in (Kind.HEARTBEAT, Kind.LINKS))
        return tag_of(peer) + b"".join(exchange.short(each.sequence) if each else exchange.UNKNOWN for each in found)

    async def _call(self, source: PeerId, protocol: str, question: Struct, timeout_s: float = CALL_TIMEOUT_S) -> bytes:
        body = exchange.encode(question)
        answer = await self._host.call(source, protocol, body, timeout_s=timeout_s)
        self.sent_bytes, self.received_bytes = self.sent_bytes + len(body), self.received_bytes + len(answer)
        return answer


log = logging.getLogger(__name__)

_MOST_TRIED = 6  # servers tried at one reading, each of another person if there are so many
_MOST_ASKED = 2
_NEXT_AFTER_S = 0.25  # silence after which the next server is pinged
_PAUSE_S = 300.0  # pause for a server that did not answer


class Sources:
    """The servers that a reader asks."""

    def __init__(self, host: Host, table: Table, attempts: Attempts, clock: Callable[[], float]) -> None:
        self._host = host
        self._table = table
        self._attempts = attempts
        self._clock = clock
        self._paused_until: dict[PeerId, float] = {}
        self._asked_at: dict[PersonId | None, float] = {}

    async def read_one(self, reader: Reader, *, unwanted: Collection[PeerId] = ()) -> bool:
        """Learn changes from a server that answers; return whether there was one."""
        candidates = self._candidates(unwanted)[:_MOST_TRIED]
        for _ in range(_MOST_ASKED):
            source = await self._first_to_answer(candidates)
            if source is None:
                return False
            candidates = [peer for peer in candidates if peer != source]
            try:
                await reader.read_from(source)
            except RemoteError as error:
                log.debug("a server did not answer a question about the swarm: %s", error)
                self._paused_until[source] = self._clock() + (error.retry_after_s or _PAUSE_S)
                continue
            return True
        return False

    def _candidates(self, unwanted: Collection[PeerId]) -> list[PeerId]:
        """Return the live servers, first those of people who were not asked for the longest time."""
        now, loop_s = self._clock(), asyncio.get_running_loop().time()
        self._paused_until = {peer: until for peer, until in self._paused_until.items() if until > now}
        live = [
            peer
            for peer in self._table.live_peers(now)
            if peer != self._host.peer_id and peer not in unwanted and peer not in self._paused_until
        ]
        person_of, asked_at = self._attempts.person_of, self._asked_at
        self._asked_at = {person: asked_at[person] for person in map(person_of, live) if person in asked_at}

        def rank(turn: tuple[int, PeerId]) -> tuple[bool, int, float]:
            number, peer = turn
            return self._attempts.is_doubtful(peer, loop_s), number, asked_at.get(person_of(peer), 0.0)

        return [peer for _, peer in sorted(turns(random.sample(live, len(live)), person_of), key=rank)]

    async def _first_to_answer(self, peers: Sequence[PeerId]) -> PeerId | None:
        """Return the first of `peers` that answers a ping; the next one is pinged when the others are silent."""
        left = list(reversed(peers))
        pings: dict[asyncio.Task[float], PeerId] = {}
        try:
            while left or pings:
                if left:
                    peer = left.pop()
                    self._asked_at[self._attempts.person_of(peer)] = self._clock()
                    pings[asyncio.create_task(self._host.ping(peer, timeout_s=CALL_TIMEOUT_S))] = peer
                timeout_s = _NEXT_AFTER_S if left else None
                done, _ = await asyncio.wait(pings, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
                for ping in done:
                    peer, error = pings.pop(ping), ping.exception()
                    self._attempts.record(peer, asyncio.get_running_loop().time(), answered=error is None)
                    if error is None:
                        return peer
                    if not isinstance(error, RemoteError):
                        raise error
            return None
        finally:
            await cancel_and_wait(*pings)
