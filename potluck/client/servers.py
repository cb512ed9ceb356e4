"""Keeps a client's knowledge of its swarm's servers, and finds routes with it.

It knows which servers are live, how far away they are and which failed lately. It reads the directory in the background
and whenever servers are missing. `potluck.routing` chooses routes, `recovery` judges failures.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import random
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import itemgetter

import numpy as np

from potluck.audit.choices import has_record
from potluck.client.calls import fetch_quote
from potluck.client.config import ClientConfig
from potluck.client.packing import NetworkPath
from potluck.client.recovery import NO_ANSWER, Action, Bans, Verdict, judge
from potluck.client.session.reports import Outages
from potluck.directory.directory import Directory
from potluck.errors import NetworkError, SwarmError, UsageError
from potluck.p2p.network import Host
from potluck.protocol.adapters import find_adapter
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, QuoteRequest
from potluck.protocol.records import LiveServer, ServerRecord, span_digest
from potluck.protocol.swarm import Swarm
from potluck.routing.candidates import UNKNOWN_RTT_S, exclusion
from potluck.routing.experience import STICKINESS, Affinity, Parts, Slowness
from potluck.routing.latency import between_servers, estimate_rtts
from potluck.routing.route import Needs, NoRouteError, Route, RouteHop, Vantage
from potluck.routing.search import DRAWS, MOST_ASKED, choose_adapter, draw_routes, find_route, reprice, shortlist
from potluck.routing.servers import Ints, ServerColumns
from potluck.sentences import sentence
from potluck.tasks import BackgroundTasks

_log = logging.getLogger(__name__)

_FIRST_PINGS_S = 0.5  # longest wait of the first route for measured distances
_MIN_MORE_PINGS_S = 0.02  # least wait for nearer servers after some have answered
_MAX_PINGS = 32  # pings at a time
_RTT_LIVES_S = 300.0
_DOUBTED_VOTE = 1e-6  # vote of a doubted server, which decides only where no other server has the blocks
_NO_NEEDS = Needs()
_LATE_S = 2.0  # lateness that a busy machine explains
_OUTDATED = 3.0  # periods without a reading of the directory: this computer was asleep
_RETRY_S = (0.2, 0.5, 1.0, 2.0)  # pauses while blocks are missing; the last one repeats


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """A session's request for servers that it stays with.

    Attributes:
        tokens: per row, sent at first.
        beginning: fingerprints of these tokens, to find servers that have cached them.
        may_stay: the session has servers already, so even a single other route is asked for quotes.
    """

    rows: int
    tokens: int
    beginning: Sequence[bytes] = ()
    may_stay: bool = False


def boot_s() -> float:
    """Return seconds of a clock that also runs while the computer sleeps, which Linux's monotonic one does not."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(slots=True, eq=False)
class Wait:
    """One wait of a step or pass for servers. It may take several searches, each after a failure.

    Attributes:
        since_s: when it began (monotonic).
        why: the error that made it necessary, if any.
        is_reported: the caller waits, too, and hears for which blocks.
    """

    max_s: float
    since_s: float = field(default_factory=time.monotonic)
    why: RemoteError | None = None
    is_reported: bool = True

    @property
    def is_refused(self) -> bool:
        """Tell whether it began because a server refuses a request that another one may take."""
        return self.why is not None and judge(self.why).for_this_session

    def left_s(self, now: float) -> float:
        return self.max_s - (now - self.since_s)

    def record_failure(self, error: RemoteError, now: float) -> None:
        """Begin to wait, unless an earlier failure did."""
        self.since_s = now if self.why is None else self.since_s
        self.why = error

    def exclude_pause(self, took_s: float, longest_s: float) -> None:
        """Leave out the time that a search took beyond its limit, because this process was suspended."""
        self.since_s += max(took_s - longest_s - _LATE_S, 0.0)


class Failures:
    """Counts the failures of one step of a session or one pass, and times the wait for other servers.

    It counts failures of servers that had the request, because the request itself may be their cause. Refusals and
    unreachable servers cost nobody anything, so only the caller's patience limits them.
    """

    def __init__(self, servers: Servers, config: ClientConfig) -> None:
        self.wait = Wait(config.max_wait_s)
        self.unwanted: frozenset[PeerId] = frozenset()  # servers that refuse this request alone
        self._servers = servers
        self._most_faults, self._faults = config.max_recoveries, 0

    def record(self, part: RouteHop, error: RemoteError, *, was_given: bool = True, may_end: bool = True) -> Verdict:
        """Record a failure and return its consequences.

        Raises:
            SwarmError: another attempt is pointless, and `may_end`.
        """
        _log.info("layers %s: %s (%s)", part.span.layers, error.message, error.code)
        verdict, now = judge(error), time.monotonic()
        self._servers.record_failure(part.peer_id, verdict)
        self.wait.record_failure(error, now)
        self._faults += (verdict.is_fault or verdict.is_unproven) and was_given
        is_enough = self._faults > self._most_faults or self.wait.left_s(now) <= 0
        if may_end and verdict.action is not Action.GIVE_UP and is_enough:
            raise SwarmError(f"layers {part.span.layers} failed again and again; last error: {error.message}")
        if verdict.for_this_session:
            self.unwanted |= {part.peer_id}
        return verdict

    def record_success(self, part: RouteHop) -> None:
        self._servers.record_success(part.peer_id)
        self.end()

    def end(self) -> None:
        """End the wait, because a server answered; the next failure begins a new one."""
        self.wait.why = None


class Servers:
    """What one client knows of its swarm's servers. It lives in the client's event loop."""

    def __init__(self, host: Host, swarm: Swarm, config: ClientConfig, rng: np.random.Generator) -> None:
        """`rng` draws the noisy routes."""
        self._host = host
        self._swarm = swarm
        self._config = config
        self._directory = Directory(host, swarm)
        self._attempts = self._directory.attempts
        self._columns = ServerColumns.of(())
        self._strays: frozenset[PeerId] = frozenset()  # servers with other weights than the swarm's
        self.round_trips_s: dict[PeerId, float] = {}  # measured or estimated
        self._measured_at: dict[PeerId, float] = {}  # those that were measured, and when
        self._places: Mapping[PeerId, str] = {}  # where servers of a public swarm are
        self._pinged: set[PeerId] = set()  # servers that have not answered a ping yet
        self._examined: set[PeerId] = set()  # servers being examined after a failed call
        self._answered = asyncio.Event()  # set with each answer, and when no more are awaited
        self._bans = Bans(config)
        self.failed: set[PeerId] = set()  # servers whose last call or ping failed
        self._clean: Counter[PersonId] = Counter()  # audits
        self._withholding: set[PersonId] = set()
        self.distrusted = set(config.distrusted)  # people whose servers returned wrong results
        self._slowness = Slowness()
        self._affinity = Affinity()
        self.outages = Outages()
        self._read_at_s = boot_s()  # when the directory was read last
        self._rng = rng
        self._adapter = config.adapter  # gets its hash once a server has it
        self._pinging: asyncio.Task[None] | None = None
        self._background = BackgroundTasks()
        self._has_met_servers = False

    async def start(self) -> None:
        """Read the directory, and keep reading it in the background."""
        await self.refresh()
        self._background.start(self._watch())
        assert self._pinging is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_PINGS_S):
                await self._meet(self._pinging)

    async def _meet(self, pinging: asyncio.Task[None]) -> None:
        """Wait until servers of all blocks have answered, and as long again for nearer ones, or until all have."""
        began_s, missing = time.monotonic(), set(range(self._swarm.num_blocks))
        while missing and not pinging.done():
            await self._answered.wait()
            self._answered.clear()
            met = [server.span for server in self._columns.servers if server.peer_id in self._measured_at]
            missing.difference_update(*met)
        await asyncio.wait({pinging}, timeout=max(time.monotonic() - began_s, _MIN_MORE_PINGS_S))

    async def stop(self) -> None:
        await self._background.cancel()

    async def find_route(
        self,
        span: Span,
        needs: Needs = _NO_NEEDS,
        *,
        unwanted: Collection[PeerId] = (),
        wait: Wait | None = None,
    ) -> Route:
        """Return a route through `span` by present knowledge, or wait for missing servers.

        Args:
            unwanted: peers to avoid, besides those that failed lately.
            wait: None is a new one, as long as the configuration allows.
        Raises:
            NoRouteError: names the missing blocks.
            SwarmError: every server of some blocks refuses the request for which `wait` began.
        """
        wait = wait or Wait(self._config.max_wait_s)
        if boot_s() - self._read_at_s > _OUTDATED * self._config.refresh_period_s:
            await self.refresh()
        try:
            for attempt in itertools.count():
                try:
                    return self._draw(span, needs, unwanted, draws=1)[0]
                except NoRouteError as error:
                    if attempt:  # the directory was read again
                        self._refuse_too_long(span, needs)
                        if wait.is_refused and error.excluded and error.excluded.keys() <= set(unwanted):
                            refused = f"every server of layers {span.layers} refuses this: {wait.why}"
                            raise SwarmError(refused) from wait.why
                    began_s = time.monotonic()
                    left_s = wait.left_s(began_s)
                    if left_s <= 0:
                        if not self._has_met_servers:
                            error.advice = sentence(
                                "{advice}; if others can use this swarm, your invite is out of date",
                                advice=error.advice,
                            )
                        raise error from wait.why
                    if attempt and wait.is_reported:  # the first search mostly finds a new server
                        self.outages.update(wait, error.missing)
                pause_s = _RETRY_S[min(attempt, len(_RETRY_S) - 1)]
                await self._search_again(pause_s, left_s)
                wait.exclude_pause(time.monotonic() - began_s, pause_s + self._config.refresh_period_s)
        finally:
            self.outages.update(wait, ())
        raise AssertionError("not reached")

    def _refuse_too_long(self, span: Span, needs: Needs) -> None:
        """Raise UsageError, which names the limit, if the request exceeds every server's token limit for some block."""
        for wanted, limits, where in (
            (needs.max_length, self._columns.max_length, ""),
            (needs.call_tokens, self._columns.max_call, " in one row without a cache"),
        ):
            most, server = self._most_tokens(span, limits)
            if server is not None and most < wanted:
                record = server.record
                raise UsageError(
                    f"{wanted} tokens{where} are too many: the servers of layers {span.layers} take {most} at most, as "
                    f"{record.public_name or record.peer_id} does for layers {record.span.layers}",
                    hint="shorten the text",
                )

    async def compare_routes(
        self,
        span: Span,
        needs: Needs,
        request: RouteRequest,
        *,
        unwanted: Collection[PeerId] = (),
        wait: Wait | None = None,
    ) -> Route:
        """Return the best of several routes by the quotes of their servers.

        A route that has computed the same beginning is preferred if it costs little more. Raises: as `find_route`.
        """
        await self.find_route(span, needs, unwanted=unwanted, wait=wait)  # waits until there is a route
        routes = self._draw(span, needs, unwanted, draws=DRAWS)
        pins = {block: variant for hop in routes[0].hops for block, variant in hop.pins.items()}
        pinned = replace(needs, pins=pins)  # the variants of most servers, not of most that quote
        parts = self._affinity.find(request.beginning, time.monotonic()) or ()
        known = self._reprice(self._columns, span, parts, pinned, unwanted)
        if known is not None:
            routes.insert(0, known)
        if len({each.parts for each in routes}) == 1 and not request.may_stay:
            return routes[0]
        avoided = set(unwanted)
        asked = shortlist(routes, MOST_ASKED)
        quotes = await asyncio.gather(*(self._quoted(server, span, request, avoided) for server in asked))
        columns = ServerColumns.of([server for server in quotes if server is not None], self._columns)
        for server in columns.servers:
            if server.record.is_ours and server.peer_id not in avoided | self._measured_at.keys():
                self._background.start(self._ping(server.peer_id))
        known = self._reprice(columns, span, parts, pinned, avoided)
        best = self.best_known(span, pinned, unwanted=avoided, columns=columns)
        if best is None:
            return await self.find_route(span, needs, unwanted=unwanted, wait=wait)
        return known if known is not None and known.cost_s * STICKINESS <= best.cost_s else best

    async def _quoted(
        self, server: LiveServer, wanted: Span, request: RouteRequest, silent: set[PeerId]
    ) -> LiveServer | None:
        """Return a server with its quoted load, unchanged if it is silent or of another implementation.

        Returns None if it refuses.
        """
        record, peer, began_s = server.record, server.peer_id, time.monotonic()
        span = wanted & record.span
        if span is None or not record.is_ours:
            return server
        caller = self.introduce(record, span)
        question = QuoteRequest(self._swarm.prefix, span, request.rows, request.tokens, caller)
        try:
            server = await fetch_quote(self._host, server, question)
        except RemoteError as error:
            if error.code is Code.UNREACHABLE:
                silent.add(peer)
                self._record_silence(peer)
                return server
            self.record_failure(peer, judge(error))
            return None
        if peer not in self._measured_at:
            self.round_trips_s[peer] = time.monotonic() - began_s  # an estimate before it is measured
        return server

    def remember(self, beginning: Sequence[bytes], parts: Parts) -> None:
        """Record that the servers of `parts` computed this beginning."""
        self._affinity.remember(beginning, parts, time.monotonic())

    def record_pace(self, peer: PeerId, ratio: float) -> None:
        """Record that a server's steps take `ratio` times as long as promised."""
        self._slowness.record(peer, ratio, time.monotonic())

    def best_known(
        self, span: Span, needs: Needs, *, unwanted: Collection[PeerId], columns: ServerColumns | None = None
    ) -> Route | None:
        """Return the cheapest route through known servers, or those of `columns`, without the `unwanted`; or None."""
        columns = self._columns if columns is None else columns
        try:
            return find_route(columns, span, vantage=self._vantage(unwanted), needs=self._demands(needs))
        except NoRouteError:
            return None

    def expected_servers(self, span: Span) -> int:
        """Return how many servers a pass through `span` would visit now; 1 if some are missing."""
        route = self.best_known(span, _NO_NEEDS, unwanted=())
        return 1 if route is None else len(route.hops)

    def replicas(self, span: Span, needs: Needs) -> list[RouteHop]:
        """Return the usable servers that can each serve all of `span` alone."""
        vantage, demands = self._vantage(()), self._demands(needs)
        found = [RouteHop(server, span) for server in self._columns.servers if server.span.covers(span)]
        return [
            hop
            for hop in found
            if exclusion(hop.server, vantage, demands) is None
            and all(variant.can_replace(needs.pins.get(block, variant)) for block, variant in hop.pins.items())
        ]

    def others_for(self, part: RouteHop, needs: Needs) -> list[RouteHop]:
        """Return the servers of other people that could each take over `part` alone and are not doubted."""
        now, owner = time.monotonic(), self._host.person_of(part.peer_id)
        return [
            hop
            for hop in self.replicas(part.span, needs)
            if self._host.person_of(hop.peer_id) != owner and not self._is_doubted(hop.peer_id, now)
        ]

    def record_clean_audit(self, person: PersonId) -> None:
        """Record an audit in which a person's server was right, as the audited one or as the auditor."""
        self._clean[person] += 1
        self._withholding.discard(person)

    def record_withheld(self, person: PersonId) -> None:
        """Doubt a person's servers until a clean audit, because they withhold what is needed to check them."""
        self._withholding.add(person)

    def distrust(self, person: PersonId) -> None:
        """Never use the servers of a person again."""
        self.distrusted.add(person)

    def is_distrusted(self, peer: PeerId) -> bool:
        return bool(self.distrusted) and self._host.person_of(peer) in self.distrusted

    def longest(self, span: Span) -> int:
        """Return the tokens of the longest session that servers announce for every block of `span`; 0: none."""
        return self._most_tokens(span, self._columns.max_length)[0]

    def largest_call(self, span: Span) -> int:
        """Return the rows x tokens of the largest call that servers announce for every block of `span`; 0: none."""
        return self._most_tokens(span, self._columns.max_call)[0]

    def _most_tokens(self, span: Span, limits: Ints) -> tuple[int, LiveServer | None]:
        """Return the tokens that some server takes at every block, and the server that sets this limit, if any."""
        most: dict[int, tuple[int, LiveServer | None]] = dict.fromkeys(span, (0, None))
        for server, limit in zip(self._columns.servers, limits.tolist(), strict=True):
            for block in most.keys() & set(server.span):
                most[block] = max(most[block], (limit, server), key=itemgetter(0))
        return min(most.values(), key=itemgetter(0))

    def serves(self, peer: PeerId, span: Span) -> bool:
        """Tell whether `peer` announces all blocks of `span`."""
        return any(server.peer_id == peer and server.span.covers(span) for server in self._columns.servers)

    def record_failure(self, peer: PeerId, verdict: Verdict) -> None:
        self.failed.add(peer)
        self._bans.record(peer, verdict, time.monotonic())
        if verdict.is_unproven and peer not in self._examined:
            self._examined.add(peer)
            self._background.start(self._examine(peer))
        if verdict.is_fault:
            self._record_silence(peer)
            self._background.start(self._directory.report(peer))

    def record_success(self, peer: PeerId) -> None:
        """Forget the failures of a server that did its work. A second time in a row changes nothing."""
        self.failed.discard(peer)
        self._bans.clear(peer)
        self._attempts.record(peer, time.monotonic(), answered=True)

    def _record_silence(self, peer: PeerId) -> None:
        self.failed.add(peer)
        self._measured_at.pop(peer, None)
        self._attempts.record(peer, time.monotonic(), answered=False)

    async def _examine(self, peer: PeerId) -> None:
        """Record a fault if a server does not answer pings, over a new connection if the present one is dead."""
        try:
            if await self._ping(peer):
                return
            await self._host.disconnect(peer)
            if not await self._ping(peer):
                self.record_failure(peer, NO_ANSWER)
        finally:
            self._examined.discard(peer)

    async def _search_again(self, pause_s: float, left_s: float) -> None:
        """Read the directory, ping servers that failed or left, and pause."""
        away = self._bans.recovering(time.monotonic())
        work = asyncio.gather(self.refresh(thorough=True), *(self._ping(peer) for peer in away))
        try:
            async with asyncio.timeout(min(left_s, self._config.refresh_period_s)):
                _, *answers = await work
                self._bans.forgive(peer for peer, is_back in zip(away, answers, strict=True) if is_back)
        except TimeoutError:
            pass
        await asyncio.sleep(min(pause_s, left_s))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._config.refresh_period_s)
            await self.refresh()

    async def refresh(self, *, thorough: bool = False) -> None:
        """Read the directory and start measuring distances; keep the old servers if nobody answers."""
        self._read_at_s = boot_s()
        try:
            self._columns = ServerColumns.of(await self._directory.fetch(thorough=thorough), self._columns)
            pinned, servers = self._swarm.weights, self._columns.servers
            self._strays = frozenset(each.peer_id for each in servers if pinned and each.record.weights != pinned)
            self._has_met_servers = self._has_met_servers or bool(self._columns.servers)
        except NetworkError as error:
            _log.warning("the directory does not answer: %s", error)
        if self._pinging is None or self._pinging.done():
            self._pinging = self._background.start(self._measure_distances())
            self._pinging.add_done_callback(lambda _: self._answered.set())

    async def _measure_distances(self) -> None:
        now = time.monotonic()
        known = {peer for peer, when in self._measured_at.items() if now - when < _RTT_LIVES_S}
        unknown = sorted(self._columns.index.keys() - known - self._bans.current(now))
        ordered = self._attempts.order(random.sample(unknown, len(unknown)), now)
        await asyncio.gather(*(self._ping(peer) for peer in ordered[:_MAX_PINGS]))
        measured_s = {peer: self.round_trips_s[peer] for peer in self._measured_at}
        self.round_trips_s = estimate_rtts(self._columns.servers, measured_s)
        with contextlib.suppress(NetworkError):
            self._places = await self._host.places()

    def introduce(self, record: ServerRecord, span: Span) -> Caller:
        """Return what a server learns about this client."""
        return Caller(
            adapter=find_adapter(record.adapters, self._adapter) if self._adapter else None,
            revision_digest=span_digest(record.digests_of(span)) if record.is_ours else None,
        )

    def paths(self, servers: Sequence[LiveServer], hidden_size: int) -> list[NetworkPath]:
        """Return the network paths from here to the first server, from each to the next, and from the last one back.

        A server measures its link to the internet, and some links to other servers.
        """
        rtts_s = np.array([self.round_trips_s.get(server.peer_id, UNKNOWN_RTT_S) for server in servers])
        links = [server.record.network_tps * 16e-6 * hidden_size or math.inf for server in servers]
        places = np.arange(len(servers))
        between = between_servers(servers, rtts_s, places[:-1], places[1:])
        pairs = [
            NetworkPath(one.heartbeat.links_mbps.get(other.peer_id, min(mbps)), float(rtt_s))
            for (one, other), mbps, rtt_s in zip(pairwise(servers), pairwise(links), between, strict=True)
        ]
        return [NetworkPath(links[0], float(rtts_s[0])), *pairs, NetworkPath(links[-1], float(rtts_s[-1]))]

    async def _ping(self, peer: PeerId) -> bool:
        self._pinged.add(peer)
        try:
            rtt_s = await self._host.ping(peer, timeout_s=self._config.ping_timeout_s)
        except RemoteError:
            self._record_silence(peer)
            return False
        finally:
            self._pinged.discard(peer)
        self.round_trips_s[peer], self._measured_at[peer] = rtt_s, time.monotonic()
        self._attempts.record(peer, time.monotonic(), answered=True)
        self._answered.set()
        return True

    def _draw(self, span: Span, needs: Needs, unwanted: Collection[PeerId], *, draws: int) -> list[Route]:
        vantage, demands = self._vantage(unwanted), self._demands(needs)
        return draw_routes(self._columns, span, self._rng, draws=draws, vantage=vantage, needs=demands)

    def _reprice(
        self, columns: ServerColumns, span: Span, parts: Parts, needs: Needs, unwanted: Collection[PeerId]
    ) -> Route | None:
        """Return the route of `parts` at its present cost; None if it leads through other blocks or is not possible."""
        if not parts or (parts[0][1].start, parts[-1][1].end) != (span.start, span.end):
            return None
        return reprice(columns, parts, vantage=self._vantage(unwanted), needs=self._demands(needs))

    def _vantage(self, unwanted: Collection[PeerId]) -> Vantage:
        now = time.monotonic()
        doubted = frozenset(peer for peer in self._columns.index if self._is_doubted(peer, now))
        distrusted = {peer for peer in self._columns.index if self.is_distrusted(peer)}
        return Vantage(
            rtts_s=self.round_trips_s,
            banned=self._bans.current(now) | distrusted | set(unwanted) | self._strays,
            strays=self._strays,
            slowness=self._slowness.current(now),
            doubted=doubted,
            votes=self._votes(doubted),
            places=self._places,
        )

    def _votes(self, doubted: Collection[PeerId]) -> dict[PeerId, float]:
        """Return each server's vote on variants: a person has one vote in all, and a doubted server hardly any."""
        owners = {peer: self._host.person_of(peer) for peer in self._columns.index}
        servers = Counter(owners.values())
        return {peer: (_DOUBTED_VOTE if peer in doubted else 1.0) / servers[owner] for peer, owner in owners.items()}

    def _is_doubted(self, peer: PeerId, now: float) -> bool:
        """Tell whether a server is chosen only where there is no other.

        That holds if it or its owner's other servers failed, if it has not answered a ping yet, if its owner withholds
        what audits need, or is on probation. For this client, ten clean audits end probation.
        """
        is_silent = peer in self._pinged and peer not in self._measured_at
        person = self._host.person_of(peer)
        is_new = self._host.is_on_probation(peer) and (person is None or not has_record(self._clean[person]))
        return is_silent or self._attempts.is_doubtful(peer, now) or is_new or person in self._withholding

    def _demands(self, needs: Needs) -> Needs:
        """Add the user's demands on every server to a session's needs."""
        if self._adapter is not None:
            self._adapter = choose_adapter(self._columns.servers, self._adapter)
        config = self._config
        return replace(
            needs,
            dtype=config.compute_dtype,
            quantization=config.quantization,
            cache=config.cache_quantization,
            adapter=self._adapter,
        )
