"""Plays a server's part in the directory: answers readers, passes on news and notices servers that are gone.

A server sends news at once to a few others drawn at random, which do the same (rumour spreading). A comparison with
one of them every few seconds finds what that misses (anti-entropy; both after Demers et al. 1987). People take turns as
partners, not servers, and each person's news are limited. A server that cannot be reached is pinged, and leaves our own
map if it does not answer (the idea of SWIM, without believing others).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from potluck.directory import exchange
from potluck.directory.answers import Answers
from potluck.directory.fairness import RateLimiter, in_turns
from potluck.directory.reader import CALL_TIMEOUT_S, Reader
from potluck.directory.seal import Announcement, Kind, Sealed
from potluck.directory.suspicion import Attempts, Complaints
from potluck.directory.table import Table, is_up
from potluck.errors import NetworkError
from potluck.membership.identity import peer_id_of
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.records import Heartbeat
from potluck.protocol.swarm import Swarm
from potluck.tasks import BackgroundTasks, keep_running, within

log = logging.getLogger(__name__)

FAN_OUT = 3  # servers that get each rumour: a server hears of it soon with probability 1 - e^-3
_SPREAD_INTERVAL_S = 3.0  # heartbeats of this interval travel together
_MIN_SPREAD_INTERVAL_S = 0.2  # pause after urgent news: other blocks, another state, or a server that is gone
_COMPARE_INTERVAL_S = 5.0  # pause up to 500 servers; larger swarms compare more rarely, because it costs more
_COMPARE_SERVERS = 500
_LOOK_UP_INTERVAL_S = 60.0
_LISTING_LIVES_S = 1.0  # one listing answers all questions of this interval
_PING_TIMEOUT_S = 5.0
_PINGS = 2  # a busy machine may pause for seconds; one that is gone refuses at once
_MAX_PINGS = 4  # limit of pings at the same time
_PAUSE_S = 300.0  # pause for a server that does not know these calls
_SHORT_PAUSE_S = 30.0  # pause for a server that answers pings but not these calls
_CALLS_A_MINUTE = 240  # limit for one person; a reader needs eight, a neighbour in a small swarm about fifty
_ANNOUNCEMENTS_A_MINUTE = 6000  # passed on by one person; each costs a signature check of 0.1 ms
_OWN_ANNOUNCEMENTS_A_MINUTE = 1000  # signed by one person and passed on to others: more than 64 servers have to say
_REPORTS_A_MINUTE = 20  # limit for one person
_MOST_HEARD = 8  # silent servers that are asked themselves at one comparison


class Gossip:
    """One server's exchange with the others; `start()` makes the host answer.

    Args:
        look_up: fills the table from the DHT; may raise NetworkError.
    """

    def __init__(
        self,
        host: Host,
        swarm: Swarm,
        table: Table,
        clock: Callable[[], float],
        attempts: Attempts,
        *,
        look_up: Callable[[], Awaitable[object]],
    ) -> None:
        self.reader = Reader(host, swarm, table, clock, attempts)
        self._complaints = Complaints()
        self._attempts = attempts
        self._host = host
        self._table = table
        self._clock = clock
        self._look_up = look_up
        self._looked_up_s = -math.inf
        self._hot: dict[tuple[Kind, PeerId], Announcement] = {}
        self._has_news = asyncio.Event()
        self._is_urgent = asyncio.Event()
        self._spread_version = 0  # version of the table that was last passed on
        self._has_compared = False
        self._passing_on = asyncio.Lock()
        self._answers: tuple[int, float, Answers] | None = None
        self._paused_until_s: dict[PeerId, float] = {}
        self._doubted: set[PeerId] = set()
        self._calls, self._pushed, self._reports, self._spread_of = (
            RateLimiter(most)
            for most in (_CALLS_A_MINUTE, _ANNOUNCEMENTS_A_MINUTE, _REPORTS_A_MINUTE, _OWN_ANNOUNCEMENTS_A_MINUTE)
        )
        self._tasks = BackgroundTasks()

    async def start(self) -> None:
        await self._host.serve_unary(exchange.COMPARE, self._answer_compare)
        await self._host.serve_unary(exchange.FETCH, self._answer_fetch)
        await self._host.serve_unary(exchange.PUSH, self._answer_push)
        await self._host.serve_unary(exchange.REPORT, self._answer_report)
        self._tasks.start(keep_running("passing on news of servers", self._spread))
        self._tasks.start(keep_running("comparing directories", self._keep_comparing))

    async def stop(self) -> None:
        await self._tasks.cancel()

    def publish(self, announcement: Announcement) -> None:
        """Pass on what this server announces."""
        self._table.add(announcement)
        self._queue([announcement])

    async def compare_once(self) -> None:
        """Compare with another server, unless that has happened already."""
        for source in self._draw(self.partners(), 0 if self._has_compared else 1):
            await self._do_with(source, partial(self._compare, source))

    def partners(self) -> list[PeerId]:
        """Return the live servers that are not known to lack these calls."""
        now = self._loop_s()
        return [
            peer
            for peer in self._table.live_peers(self._clock())
            if peer != self._host.peer_id and self._paused_until_s.get(peer, 0.0) <= now
        ]

    # -- what others ask -----------------------------------------------------------------------------------------------

    async def _answer_compare(self, body: bytes, peer: PeerId) -> bytes:
        self._count(self._calls, peer)
        return exchange.encode_answer(self._listed().compare(exchange.decode(exchange.Compare, body)))

    async def _answer_fetch(self, body: bytes, peer: PeerId) -> bytes:
        self._count(self._calls, peer)
        return exchange.encode_answer(self._listed().fetch(exchange.decode(exchange.Fetch, body)))

    async def _answer_push(self, body: bytes, peer: PeerId) -> bytes:
        self._count(self._pushed, peer)  # count the call before decoding it
        announcements = exchange.decode(exchange.Push, body).announcements
        self._count(self._pushed, peer, max(len(announcements) - 1, 0))
        self._queue(await self.reader.check_and_add(announcements))
        return b""

    async def _answer_report(self, body: bytes, peer: PeerId) -> bytes:
        person = self._count(self._reports, peer)
        suspect, num_people = peer_id_of(exchange.decode(exchange.FailureReport, body).suspect), self._table.num_people
        if self._host.is_on_probation(peer):
            return b""
        if self._is_live(suspect) and self._complaints.add(person, suspect, self._loop_s(), num_people=num_people):
            self._doubt(suspect)
        return b""

    def _count(self, limiter: RateLimiter, peer: PeerId, amount: int = 1) -> PersonId:
        """Count a call for the person it comes from, and return that person. Raises RemoteError."""
        person = self._table.person_of(peer)
        if person is None:
            raise RemoteError(Code.NOT_A_MEMBER, "this peer belongs to no member of the swarm")
        limiter.check(person, amount, self._loop_s())
        return person

    def _listed(self) -> Answers:
        """Return answers from a listing that is renewed when a record changes, and regularly as heartbeats expire."""
        now, version = self._loop_s(), self._table.version
        if self._answers is None or self._answers[0] != version or now - self._answers[1] > _LISTING_LIVES_S:
            self._answers = version, now, Answers(self._table, self._clock())
        return self._answers[2]

    # -- what is passed on ---------------------------------------------------------------------------------------------

    def _queue(self, news: Iterable[Announcement]) -> None:
        """Queue news to be passed on, and drop complaints about servers that they show to be alive."""
        for announcement in news:
            peer = announcement.peer_id
            person = self._table.person_of(peer)
            if isinstance(announcement.value, Heartbeat):
                self._complaints.clear(peer)
            if person is not None and self._spread_of.allows(person, 1, self._loop_s()):
                self._hot[announcement.sealed.kind, peer] = announcement
        if self._table.version != self._spread_version:
            self._spread_version = self._table.version
            self._is_urgent.set()
        if self._hot:
            self._has_news.set()

    async def pass_on(self) -> None:
        """Send the news to some servers and wait until they have them."""
        async with self._passing_on:
            chosen = self._draw(await self._find_partners(), FAN_OUT)
            hot, self._hot = self._hot, {}
            for part in _parts(hot, in_turns((peer for _, peer in hot), self._table.person_of)):
                await asyncio.gather(*(self._do_with(peer, partial(self._push, peer, part)) for peer in chosen))

    async def _spread(self) -> None:
        while True:
            await self._has_news.wait()
            self._has_news.clear()
            await self.pass_on()
            await asyncio.sleep(_MIN_SPREAD_INTERVAL_S)
            await within(_SPREAD_INTERVAL_S, self._is_urgent.wait())
            self._is_urgent.clear()

    async def _keep_comparing(self) -> None:
        while True:
            partners = await self._find_partners()
            for source in self._draw(partners, 1):
                await self._do_with(source, partial(self._compare, source))
            self._queue(await self.reader.refresh_silent(_MOST_HEARD))
            self._table.expire(self._clock())
            pause_s = _COMPARE_INTERVAL_S * max(1.0, len(partners) / _COMPARE_SERVERS)
            await asyncio.sleep(pause_s * random.uniform(0.8, 1.2))

    async def _find_partners(self) -> list[PeerId]:
        """Return partners. Read the DHT if there are none, and regularly, so that a split swarm meets again."""
        since_s = self._loop_s() - self._looked_up_s
        if since_s >= _LOOK_UP_INTERVAL_S or (since_s >= _COMPARE_INTERVAL_S and not self.partners()):
            self._looked_up_s = self._loop_s()
            with contextlib.suppress(NetworkError):
                await self._look_up()
        return self.partners()

    def _draw(self, partners: list[PeerId], count: int) -> list[PeerId]:
        """Draw partners of different people, if there are so many, and preferably such as answer."""
        return self._attempts.order(random.sample(partners, len(partners)), self._loop_s())[:count]

    async def _compare(self, source: PeerId) -> None:
        self._queue(await self.reader.read_from(source))
        self._has_compared = True

    async def _push(self, peer: PeerId, announcements: Sequence[Sealed]) -> None:
        """Send announcements to `peer`, except those that it made itself."""
        others = [sealed for sealed in announcements if sealed.peer_id != peer]
        if others:
            await self._host.call(peer, exchange.PUSH, exchange.encode(exchange.Push(others)), timeout_s=CALL_TIMEOUT_S)

    async def _do_with(self, peer: PeerId, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` with a peer; ping one that cannot be reached, and avoid one that does not know these calls."""
        try:
            await work()
            self._attempts.record(peer, self._loop_s(), answered=True)
        except RemoteError as error:
            self._attempts.record(peer, self._loop_s(), answered=error.code is not Code.UNREACHABLE)
            if error.code is Code.UNREACHABLE:
                self._doubt(peer)
            elif error.code is not Code.BUSY:
                log.debug("a server takes no part in gossip: %s", error)
                self._paused_until_s[peer] = self._loop_s() + _PAUSE_S

    # -- who is gone ---------------------------------------------------------------------------------------------------

    def _doubt(self, peer: PeerId) -> None:
        if peer not in self._doubted and len(self._doubted) < _MAX_PINGS:
            self._doubted.add(peer)
            self._tasks.start(self._check_alive(peer))

    async def _check_alive(self, peer: PeerId) -> None:
        """Ping a server, and hide it if it neither answers nor sends a heartbeat meanwhile."""
        beat = self._table.get(Kind.HEARTBEAT, peer)
        try:
            if await self._answers_ping(peer):
                self._paused_until_s[peer] = self._loop_s() + _SHORT_PAUSE_S
            elif beat is not None:
                log.info("a server does not answer: ...%s", peer[-8:])
                self._table.hide(peer, beat.sequence)
        finally:
            self._doubted.discard(peer)

    async def _answers_ping(self, peer: PeerId) -> bool:
        for _ in range(_PINGS):
            with contextlib.suppress(RemoteError):
                await self._host.ping(peer, timeout_s=_PING_TIMEOUT_S)
                return True
        return False

    def _is_live(self, peer: PeerId) -> bool:
        beat = self._table.get(Kind.HEARTBEAT, peer)
        return beat is not None and is_up(beat, self._clock())

    @staticmethod
    def _loop_s() -> float:
        return asyncio.get_running_loop().time()


def _parts(hot: Mapping[tuple[Kind, PeerId], Announcement], peers: Sequence[PeerId]) -> Iterator[list[Sealed]]:
    """Split announcements into messages, those of `peers` in this order."""
    part: list[Sealed] = []
    num_bytes = 0
    for peer in dict.fromkeys(peers):
        for kind in Kind:
            if (announcement := hot.get((kind, peer))) is None:
                continue
            sealed = announcement.sealed
            if len(part) == exchange.MAX_PUSHED or num_bytes + len(sealed.body) > exchange.MAX_PUSHED_BYTES:
                yield part
                part, num_bytes = [], 0
            part.append(sealed)
            num_bytes += len(sealed.body)
    if part:
        yield part
