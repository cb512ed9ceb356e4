"""Measures the links to other servers together with them: round trips, and bandwidth with few bytes a day.

For the bandwidth, eight frames go one way and then eight the other. The receiver reports how long the last seven took
after the first, so that neither the round trip nor the first moments of a connection count. A peer is measured again
after hours only, and both sides bound the bytes of a day. Without a measurement, the user's setting or a default
counts. Only servers of the swarm get answers.
"""

from __future__ import annotations

import asyncio
import logging
import random
import statistics
import struct
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from msgspec import structs
from potluck_control.processes.engine_report import NetworkReport

from potluck.checkpoint.fetching import FETCHING
from potluck.errors import PotluckError
from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.records import LiveServer
from potluck_engine.network.reachability import measure_round_trips

log = logging.getLogger(__name__)

BANDWIDTH: Final = "Potluck.bandwidth"  # stream
DEFAULT_MBPS = 100.0  # what stock servers assume
RELAYED_SHARE = 0.2  # how much of an unmeasured link counts through a relay; stock servers' figure
_FRAME_BYTES = 65_536
_FRAMES = 8
EXCHANGE_BYTES = 2 * _FRAMES * _FRAME_BYTES  # one exchange, in both directions
DAY_BYTES = 16 << 20  # the bound on all exchanges of a day
_DAY_S = 86_400.0
_LINK_LIFE_S = 6 * 3600.0
_MAX_PEERS = 16  # a heartbeat has no room for more
_EVERY_S = 30.0
_SOON_S = 5.0  # the pause while there is no other server
_AGAIN_S = 300.0  # the pause after an exchange that failed or was refused
_PING_TIMEOUT_S = 5.0
_EXCHANGE_TIMEOUT_S = 30.0
_SHORTEST_S = 1e-4
_NEWEST_WEIGHT = 0.5  # the weight of a link's newest measurement
_SECONDS = struct.Struct("<d")


def choose_peers(servers: Iterable[LiveServer], me: PeerId, span: Span | None, rng: random.Random) -> list[PeerId]:
    """Choose at most 16 peers: first those that serve the blocks before and after this span, then any others."""
    others = [server for server in servers if server.peer_id != me]
    rng.shuffle(others)
    ends = () if span is None else (span.start - 1, span.end)
    near = [server for server in others if any(block in server.span for block in ends)]
    return list(dict.fromkeys(server.peer_id for server in (*near, *others)))[:_MAX_PEERS]


def estimate_own_link(links: Sequence[float]) -> float:
    """Estimate this machine's own link by the third quartile, so that neither slow peers nor one liar decide."""
    ordered = sorted(links)
    return ordered[(3 * (len(ordered) - 1)) // 4] if ordered else 0.0


class NetworkSpeed:
    """Measures the links of one engine; `run` goes on until it is cancelled.

    Attributes:
        may_exchange: False while a game runs or the network is metered, when only pings are sent.
        cap_mbps: the user's cap on sending; 0: none.
    """

    def __init__(
        self,
        host: Host,
        *,
        given_mbps: float = 0.0,
        is_relayed: bool = False,
        exchanges: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.may_exchange = True
        self.cap_mbps = 0.0
        self.is_relayed = is_relayed
        self.pings_s: dict[PeerId, float] = {}
        self._host = host
        self._given_mbps = given_mbps
        self._exchanges = exchanges
        self._clock = clock
        self._links: dict[PeerId, float] = {}  # Mbit/s of the slower direction, because hidden states come and go
        self._due_at: dict[PeerId, float] = {}  # when to measure a peer again
        self._known: frozenset[PeerId] = frozenset()
        self._answered_at: dict[PeerId, float] = {}
        self._exchanged_at: list[float] = []  # the times of all exchanges of the last day

    @property
    def links_mbps(self) -> dict[PeerId, float]:
        return {peer: round(mbps, 2) for peer, mbps in self._links.items()}

    @property
    def link_mbps(self) -> float:
        """The bandwidth to announce: measured, set by the user, or a default, but never above the user's cap."""
        unmeasured = (self._given_mbps or DEFAULT_MBPS) * (RELAYED_SHARE if self.is_relayed else 1.0)
        found = estimate_own_link([*self._links.values()]) or unmeasured
        return min(found, self.cap_mbps) if self.cap_mbps > 0 else found

    def completed(self, report: NetworkReport) -> NetworkReport:
        """Return a report with the measurements added."""
        return structs.replace(
            report,
            link_mbps=round(self.link_mbps, 2),
            num_links=len(self._links),
            ping_ms=round(1000 * statistics.median(self.pings_s.values()), 2) if self.pings_s else 0.0,
            download_mbps=round(8e-6 * FETCHING.bytes_s, 2),
        )

    def set_known(self, peers: Iterable[PeerId]) -> None:
        """Answer these peers, which are the servers of the swarm, and no others."""
        self._known = frozenset(peers)

    async def serve(self) -> None:
        """Begin to answer measurements."""
        await self._host.serve_stream(BANDWIDTH, self.answer, max_frame_bytes=_FRAME_BYTES)

    async def run(self, choose: Callable[[], Awaitable[tuple[Iterable[LiveServer], Span | None]]]) -> None:
        """Ping the chosen peers, and measure the bandwidth to one of them, every half minute."""
        rng = random.Random()
        while True:
            try:
                servers, span = await choose()
            except PotluckError as error:
                log.debug("nobody to measure with: %s", error)
                servers, span = (), None
            known = list(servers)
            self.set_known(server.peer_id for server in known)
            await self.measure_round(choose_peers(known, self._host.peer_id, span, rng))
            await asyncio.sleep(_EVERY_S if len(known) > 1 else _SOON_S)

    async def measure_round(self, peers: Sequence[PeerId]) -> None:
        """Ping these peers, measure the bandwidth to one of them, and forget peers that are gone."""
        found, before = await measure_round_trips(self._host, peers, timeout_s=_PING_TIMEOUT_S), self.pings_s
        self.pings_s = {peer: _averaged(before.get(peer, seconds), seconds) for peer, seconds in found.items()}
        self._links = {peer: link for peer, link in self._links.items() if peer in self._known or peer in peers}
        now = self._clock()
        self._due_at = {peer: at for peer, at in self._due_at.items() if at > now}
        due = [peer for peer in self.pings_s if peer not in self._due_at]
        if due and self._exchanges and self.may_exchange and self._affords(now):
            await self._measure(due[0])

    async def answer(self, stream: Stream, peer: PeerId) -> None:
        """Answer an exchange that a peer began. Raises RemoteError if it is too much, or not possible now."""
        now = self._clock()
        if peer not in self._known:
            raise RemoteError(Code.NOT_A_MEMBER, "only servers of the swarm are measured with")
        if not self.may_exchange or not self._affords(now) or now - self._answered_at.get(peer, -_DAY_S) < _LINK_LIFE_S:
            raise RemoteError(Code.BUSY, "not now", retry_after_s=_LINK_LIFE_S)
        self._answered_at = {one: at for one, at in self._answered_at.items() if now - at < _LINK_LIFE_S} | {peer: now}
        self._exchanged_at.append(now)
        async with asyncio.timeout(_EXCHANGE_TIMEOUT_S):
            seconds = await _receive(stream)
            await stream.send(_SECONDS.pack(seconds))
            await _send(stream)
            await stream.receive()  # the caller closes when it has everything

    async def _measure(self, peer: PeerId) -> None:
        self._exchanged_at.append(self._clock())
        try:
            async with asyncio.timeout(_EXCHANGE_TIMEOUT_S):
                mbps = await self._exchange(peer)
        except (PotluckError, TimeoutError) as error:
            log.debug("the way to a peer was not measured: %s", error)
            self._due_at[peer] = self._clock() + _AGAIN_S
            return
        self._links[peer] = _averaged(self._links.get(peer, mbps), mbps)
        self._due_at[peer] = self._clock() + _LINK_LIFE_S

    async def _exchange(self, peer: PeerId) -> float:
        """Return the Mbit/s of the slower direction. Raises RemoteError."""
        stream = await self._host.open_stream(peer, BANDWIDTH, timeout_s=_PING_TIMEOUT_S, max_frame_bytes=_FRAME_BYTES)
        try:
            await _send(stream)
            reply = await stream.receive()
            if reply is None or len(reply) != _SECONDS.size:
                raise RemoteError(Code.BAD_REPLY, "no time was sent")
            (up_s,) = _SECONDS.unpack(reply)
            down_s = await _receive(stream)
            await stream.end()
        finally:
            await stream.close()
        if not 0 < up_s < _EXCHANGE_TIMEOUT_S:  # also NaN
            raise RemoteError(Code.BAD_REPLY, "an impossible time")
        slower_s: float = max(up_s, down_s)
        return 8e-6 * (_FRAMES - 1) * _FRAME_BYTES / slower_s

    def _affords(self, now: float) -> bool:
        self._exchanged_at = [at for at in self._exchanged_at if now - at < _DAY_S]
        return (len(self._exchanged_at) + 1) * EXCHANGE_BYTES <= DAY_BYTES


def _averaged(before: float, now: float) -> float:
    return before + _NEWEST_WEIGHT * (now - before)


async def _send(stream: Stream) -> None:
    frame = random.randbytes(_FRAME_BYTES)  # random, so that nothing on the way can compress it
    for _ in range(_FRAMES):
        await stream.send(frame)


async def _receive(stream: Stream) -> float:
    """Return the seconds from the end of the first frame to the end of the last. Raises RemoteError."""
    first = 0.0
    for number in range(_FRAMES):
        frame = await stream.receive()
        if frame is None or len(frame) != _FRAME_BYTES:
            raise RemoteError(Code.BAD_REQUEST, "frames of a fixed size are exchanged")
        if number == 0:
            first = time.perf_counter()
    return max(time.perf_counter() - first, _SHORTEST_S)
