"""Finds out who can be reached: whether others can dial this node, and whether neighbouring servers still answer.

A node asks several peers to dial it back, more than once, and dials peers that ask. Answers of peers that could not try
don't count. A node that nobody can dial starts again behind relays: the nearest of its bootstrap peers and of other
peers that can be dialled. Peers that dial it have p2pd try all its relays; nobody adds up both legs of the way. The
node asks again later, and comes out from behind the relays when it can be dialled.

p2pd alone decides how generous its relay is: it allows 128 KiB a connection until its own AutoNAT has seen incoming
dials, and its flag for that loses a race within p2pd (measured, decision 0019). So a node that relays asks its callers
to dial it before it answers them; what p2pd learns from that opens its relay.

Each server also pings the next few servers of the swarm in the order of their ids, because a heartbeat takes half a
minute to run out. In this ring, every server is watched by as many as it watches, however large the swarm is, and pings
use connections that stay open.

This module imports nothing heavy, because bootstrap nodes use it as well.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from potluck_control.processes.engine_report import NetworkReport, Reach

from potluck.allowance import stretched
from potluck.errors import NetworkError, PotluckError
from potluck.p2p.network import Host, HostConfig
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.wire.message import decode_reply, decode_request, encode
from potluck.wire.protocols import DIAL_BACK, MAX_ADDRESSES, DialBack, Reachable

if TYPE_CHECKING:
    from potluck.p2p.libp2p import Libp2pHost


log = logging.getLogger(__name__)

_MAX_ASKED = 5
_ASK_TIMEOUT_S = 15.0  # longer than two failing dials and the question that may come before them; on an idle machine
_ROUNDS, _PAUSE_S = 3, 2.0  # rounds of questions before a node goes behind a relay
_VOUCH_TIMEOUT_S = 8.0
_MAX_ANSWERS = 4  # dials at a time; each needs a process for some seconds
_MAX_RELAYS, _MAX_PINGED = 4, 8
_PING_TIMEOUT_S = 2.0  # a slower relay is not worth choosing
_FIRST_CHECK_S, _LAST_CHECK_S = 60.0, 1800.0  # the first and the longest pause between two checks
NUM_NEIGHBOURS = 6
_PING_EVERY_S = 2.0
_ANSWER_S = 2.0
_PING_TRIES = 3  # a killed server refuses at once; one that computes with all it has may be slow to answer
_GONE_S = 60.0  # longer than the heartbeat of a server that is gone counts


class DialledHost(Host, Protocol):
    """A host that knows its neighbours' addresses; see `Libp2pHost`."""

    async def neighbours(self) -> Mapping[PeerId, tuple[str, ...]]: ...


def judge(answers: Iterable[bool | None]) -> NetworkReport:
    """Return the reach: direct if half of the peers reach this node, because a single one may have its own trouble."""
    known = [answer for answer in answers if answer is not None]
    if not known:
        return NetworkReport()
    return NetworkReport(Reach.DIRECT if 2 * sum(known) >= len(known) else Reach.RELAYED, len(known), sum(known))


def pauses_s() -> Iterator[float]:
    """Yield the pauses between a node's checks whether it can be dialled, without end."""
    pause_s = _FIRST_CHECK_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, _LAST_CHECK_S)


def relays_of(config: HostConfig, neighbours: Mapping[PeerId, tuple[str, ...]]) -> tuple[str, ...]:
    """Return peers that may relay for this node: the bootstrap peers, then those that it dialled itself."""
    met = [f"{addrs[0]}/p2p/{peer}" for peer, addrs in neighbours.items() if addrs and "p2p-circuit" not in addrs[0]]
    known = {addr.rpartition("/p2p/")[2] for addr in config.bootstrap_peers}
    return (*config.bootstrap_peers, *(addr for addr in met if addr.rpartition("/p2p/")[2] not in known))


def nearest_relays(relays: Sequence[str], rtts_s: Mapping[PeerId, float]) -> tuple[str, ...]:
    """Return the relays with the shortest round trips. Those that did not answer come last, in their order."""
    by_distance = sorted(relays, key=lambda addr: rtts_s.get(PeerId(addr.rpartition("/p2p/")[2]), math.inf))
    return tuple(by_distance[:_MAX_RELAYS])


class Reachability:
    """Asks peers whether they can dial this node, and answers peers that ask the same.

    Attributes:
        finding: the result of the last check.
        wants_vouching: whether to ask callers to dial this node before it answers them, for the sake of p2pd's relay.
    """

    def __init__(self, host: DialledHost, *, relays: bool, pause_s: float = _PAUSE_S) -> None:
        self.finding = NetworkReport()
        self._host = host
        self._pause_s = pause_s
        self.wants_vouching = relays
        self._were_busy = False  # whether some peers of the last round were busy
        self._asking: set[PeerId] = set()
        self._num_answering = 0

    async def serve(self) -> None:
        """Begin to answer peers."""
        await self._host.serve_unary(DIAL_BACK, self.answer)

    async def find_out(self) -> NetworkReport:
        """Ask some connected peers, and ask again if they don't seem to reach this node or all were busy.

        No answer of a peer raises an error.
        """
        answers: dict[PeerId, bool | None] = {}
        for number in range(_ROUNDS):
            if number:
                await asyncio.sleep(self._pause_s)
            self._were_busy = False
            for peer, answer in (await self._ask_some()).items():
                answers[peer] = answers.get(peer) or (answers.get(peer) if answer is None else answer)
            self.finding = judge(answers.values())
            is_open = self.finding.reach is Reach.UNKNOWN and self._were_busy
            if self.finding.reach is not Reach.RELAYED and not is_open:
                break
        return self.finding

    async def _ask_some(self) -> dict[PeerId, bool | None]:
        try:
            peers = list(await self._host.neighbours())[:_MAX_ASKED]
        except PotluckError:
            return {}
        timeout_s = stretched(_ASK_TIMEOUT_S)
        return dict(zip(peers, await asyncio.gather(*(self._ask(peer, timeout_s) for peer in peers)), strict=True))

    async def answer(self, body: bytes, peer: PeerId) -> bytes:
        """Dial the caller anew, only at IPs from which it is connected, so that it can't direct dials at others."""
        now = asyncio.get_running_loop().time()
        if self._num_answering >= _MAX_ANSWERS or not self._host.budgets.may_dial(peer, now):
            raise RemoteError(Code.BUSY, "too many dials", retry_after_s=5.0)
        question = decode_request(body, DialBack)
        self._num_answering += 1
        try:
            if self.wants_vouching and peer not in self._asking and not question.seen_as:
                self.wants_vouching = not await self._ask(peer, stretched(_VOUCH_TIMEOUT_S), stay=True)
            seen = {ip_of(addr) for addr in (await self._host.neighbours()).get(peer, ())}
            # A peer behind a router knows only private addresses, but its port may be open at the router.
            addresses = list(dict.fromkeys(moved for addr in question.addresses for moved in _moved_to(seen, addr)))
            if not addresses:
                return encode(Reachable(False))
            return encode(Reachable(await self._host.dial_anew(peer, addresses, seen_as=question.seen_as)))
        except NetworkError as error:
            raise RemoteError(Code.BUSY, "no dial can be made now", retry_after_s=5.0) from error
        finally:
            self._num_answering -= 1

    async def _ask(self, peer: PeerId, timeout_s: float, *, stay: bool = False) -> bool | None:
        """Ask one peer to dial this node. Return whether it could; None if it doesn't answer that."""
        self._asking.add(peer)
        try:
            own = [addr.rpartition("/p2p/")[0] for addr in await self._host.addresses()]
            seen_as = next(iter((await self._host.neighbours()).get(peer, ())), "") if stay else ""
            body = encode(DialBack(tuple(addr for addr in own if ip_of(addr))[:MAX_ADDRESSES], seen_as))
            answer = await self._host.call(peer, DIAL_BACK, body, timeout_s=timeout_s)
            return decode_reply(answer, Reachable).is_reachable
        except PotluckError as error:
            self._were_busy |= isinstance(error, RemoteError) and error.code is Code.BUSY
            log.debug("a peer does not say whether it can dial us: %s", error)
            return None
        finally:
            self._asking.discard(peer)


async def start_reachable(config: HostConfig) -> tuple[Libp2pHost, Reachability]:
    """Start a node, behind relays if peers cannot dial it. Return it with its reachability.

    In a network within one machine, no peer is asked.

    Raises:
        NetworkError: as `Libp2pHost.start`.
    """
    from potluck.p2p.libp2p import Libp2pHost

    made: list[Reachability] = []

    async def find_relays(host: Libp2pHost) -> tuple[str, ...]:
        reachability = Reachability(host, relays=config.relays_for_others)
        made.append(reachability)
        await reachability.serve()
        if config.is_alone:
            return ()
        await reachability.find_out()
        return await needed_relays(host, config, reachability)

    return await Libp2pHost.start(config, find_relays=find_relays), made[0]


async def needed_relays(host: DialledHost, config: HostConfig, reachability: Reachability) -> tuple[str, ...]:
    """Return the relays that a node needs by the last finding; none if it can be dialled, or if nobody knows."""
    finding = reachability.finding
    is_relayed = finding.reach is Reach.RELAYED
    reachability.wants_vouching = config.relays_for_others and not is_relayed
    if not is_relayed:
        return ()
    log.warning("%d of %d peers can dial this node: it goes behind a relay", finding.num_reached, finding.num_asked)
    relays = relays_of(config, await host.neighbours())[:_MAX_PINGED]
    peers = [PeerId(addr.rpartition("/p2p/")[2]) for addr in relays]
    return nearest_relays(relays, await measure_round_trips(host, peers, timeout_s=stretched(_PING_TIMEOUT_S)))


async def measure_round_trips(host: Host, peers: Sequence[PeerId], *, timeout_s: float) -> dict[PeerId, float]:
    """Ping peers. Return the round trips in seconds to those that answer."""

    async def ping(peer: PeerId) -> float | None:
        try:
            return await host.ping(peer, timeout_s=timeout_s)
        except PotluckError:
            return None

    found = zip(peers, await asyncio.gather(*map(ping, peers)), strict=True)
    return {peer: rtt_s for peer, rtt_s in found if rtt_s is not None}


def ip_of(addr: str) -> str:
    """Return the IP address of a direct multiaddr; empty for a relayed one."""
    parts = addr.split("/")
    return parts[2] if len(parts) > 4 and parts[1] in ("ip4", "ip6") and "p2p-circuit" not in parts else ""


def _moved_to(ips: set[str], addr: str) -> list[str]:
    """Return copies of an address with each of these IPs of its kind in place of its own."""
    parts = addr.split("/")
    kinds = {ip: "ip6" if ":" in ip else "ip4" for ip in ips if ip}
    return ["/".join(("", kind, ip, *parts[3:])) for ip, kind in kinds.items() if ip_of(addr) and kind == parts[1]]


class Neighbours:
    """Pings neighbours while `watch` runs, and sets `loss` when one doesn't answer any more."""

    def __init__(self, host: Host, loss: asyncio.Event) -> None:
        self._host = host
        self._loss = loss
        self._peers: Sequence[PeerId] = ()
        self._gone: dict[PeerId, float] = {}  # the monotonic time until which a peer counts as gone

    def choose_among(self, peers: Iterable[PeerId]) -> None:
        """Watch the next few of these peers, which are all servers in the directory."""
        self._peers = next_in_ring(peers, self._host.peer_id, NUM_NEIGHBOURS)

    def gone(self) -> frozenset[PeerId]:
        """Return the peers that didn't answer lately."""
        now = time.monotonic()
        self._gone = {peer: until for peer, until in self._gone.items() if until > now}
        return frozenset(self._gone)

    async def watch(self) -> None:
        """Ping the neighbours every few seconds, for ever."""
        while True:
            await asyncio.gather(*(self._ping(peer) for peer in self._peers))
            await asyncio.sleep(_PING_EVERY_S)

    async def _ping(self, peer: PeerId) -> None:
        for _ in range(_PING_TRIES):
            try:
                await self._host.ping(peer, timeout_s=_ANSWER_S)
            except RemoteError:
                continue
            self._gone.pop(peer, None)
            return
        is_news = peer not in self.gone()
        self._gone[peer] = time.monotonic() + _GONE_S
        if is_news:
            log.info("a server does not answer any more")
            self._loss.set()


def next_in_ring(peers: Iterable[PeerId], me: PeerId, count: int) -> list[PeerId]:
    """Return the next `count` peers after `me` in the ring of all ids."""
    others = sorted(peer for peer in set(peers) if peer != me)
    first = next((index for index, peer in enumerate(others) if peer > me), 0)
    return (others[first:] + others[:first])[:count]
