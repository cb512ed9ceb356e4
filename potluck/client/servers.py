"""What a client knows of the servers of its swarm: who is live, how far away, who failed lately; and routes from that.

Reads the directory in the background and whenever somebody is missing. Which route is best is `potluck.routing`'s
decision, what a failure means `recovery`'s.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from collections.abc import Collection
from dataclasses import replace

from potluck.client.config import ClientConfig
from potluck.client.recovery import Bans, Verdict
from potluck.directory import Directory
from potluck.errors import NetworkError
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import RemoteError
from potluck.protocol.records import LiveServer
from potluck.protocol.swarm import Swarm
from potluck.routing import Hop, Needs, NoRouteError, choose_adapter, find_route

_log = logging.getLogger(__name__)

_FIRST_PINGS_S = 0.5  # how long the first route waits for the distances of servers
_MAX_PINGS = 32  # at a time
_RTT_LIVES_S = 300.0
_NO_NEEDS = Needs()
_RETRY_S = (0.2, 0.5, 1.0, 2.0)  # pauses while blocks are missing; the last one repeats


class Servers:
    """Lives in the client's event loop."""

    def __init__(self, host: Host, swarm: Swarm, config: ClientConfig) -> None:
        self._host = host
        self._swarm = swarm
        self._config = config
        self._directory = Directory(host, swarm)
        self._live: tuple[LiveServer, ...] = ()
        self._rtts: dict[PeerId, tuple[float, float]] = {}  # seconds, and when measured
        self._bans = Bans(config)
        self.adapter = config.adapter  # once a server has it, with the hash of what it holds
        self._watching: asyncio.Task[None] | None = None
        self._pinging: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the directory for the first time, and from then on in the background."""
        await self.refresh()
        self._watching = asyncio.create_task(self._watch())
        assert self._pinging is not None
        await asyncio.wait({self._pinging}, timeout=_FIRST_PINGS_S)

    async def stop(self) -> None:
        for task in (self._watching, self._pinging):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def find_route(
        self,
        span: Span,
        needs: Needs = _NO_NEEDS,
        *,
        unwanted: Collection[PeerId] = (),
        why: RemoteError | None = None,
    ) -> tuple[Hop, ...]:
        """Servers for all blocks of `span`; waits for missing ones, at most `no_route_timeout_s`.

        Args:
            unwanted: peers to leave out, besides those that failed lately.
            why: what made a new route necessary.
        Raises:
            NoRouteError: names the missing blocks.
        """
        began_s = time.monotonic()
        for attempt in itertools.count():
            try:
                return self._choose(span, needs, unwanted)
            except NoRouteError as error:
                left_s = self._config.no_route_timeout_s - (time.monotonic() - began_s)
                if left_s <= 0:
                    raise error from why
                if attempt == 0:
                    _log.warning("%s; looking for others", error.message)
            await self._look_again(_RETRY_S[min(attempt, len(_RETRY_S) - 1)], left_s)
        raise AssertionError("not reached")

    def has_route(self, span: Span, needs: Needs, *, unwanted: Collection[PeerId]) -> bool:
        """Whether somebody serves `span` now, without the `unwanted` ones."""
        try:
            self._choose(span, needs, unwanted)
        except NoRouteError:
            return False
        return True

    def note_failure(self, peer: PeerId, verdict: Verdict) -> None:
        self._bans.record(peer, verdict, time.monotonic())
        if verdict.is_fault:
            self._rtts.pop(peer, None)

    def note_success(self, peer: PeerId) -> None:
        self._bans.clear(peer)

    async def _look_again(self, pause_s: float, left_s: float) -> None:
        """Read the directory and ask those who failed whether they are back; then pause."""
        faulty, left = self._bans.faulty(time.monotonic()), self._bans.left()
        work = asyncio.gather(self.refresh(), *(self._ping(peer) for peer in faulty))
        try:
            async with asyncio.timeout(min(left_s, self._config.refresh_period_s)):
                _, *answers = await work
                self._bans.forgive(peer for peer, is_back in zip(faulty, answers, strict=True) if is_back)
                self._bans.forgive(server.peer_id for server in self._live if server.peer_id in left)
        except TimeoutError:
            pass
        await asyncio.sleep(min(pause_s, left_s))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._config.refresh_period_s)
            await self.refresh()

    async def refresh(self) -> None:
        """Read the directory; keeps what was known if nobody answers. Starts measuring distances."""
        try:
            self._live = (await self._directory.fetch()).servers
        except NetworkError as error:
            _log.warning("the directory does not answer: %s", error)
        if self._pinging is None or self._pinging.done():
            self._pinging = asyncio.create_task(self._measure_distances())

    async def _measure_distances(self) -> None:
        now = time.monotonic()
        known = {peer for peer, (_, when) in self._rtts.items() if now - when < _RTT_LIVES_S}
        avoided = self._bans.current(now)
        unknown = [peer for server in self._live if (peer := server.peer_id) not in known and peer not in avoided]
        await asyncio.gather(*(self._ping(peer) for peer in random.sample(unknown, min(len(unknown), _MAX_PINGS))))

    async def _ping(self, peer: PeerId) -> bool:
        try:
            rtt_s = await self._host.ping(peer, timeout_s=self._config.ping_timeout_s)
        except RemoteError:
            self._rtts.pop(peer, None)
            return False
        self._rtts[peer] = (rtt_s, time.monotonic())
        return True

    def _choose(self, span: Span, needs: Needs, unwanted: Collection[PeerId]) -> tuple[Hop, ...]:
        if self.adapter is not None:
            self.adapter = choose_adapter(self._live, self.adapter)
        needs = replace(
            needs,
            dtype=self._config.compute_dtype,
            quantization=self._config.quantization,
            adapter=self.adapter,
        )
        route = find_route(
            self._live,
            span,
            rtts_s={peer: rtt_s for peer, (rtt_s, _) in self._rtts.items()},
            banned=self._bans.current(time.monotonic()) | set(unwanted),
            needs=needs,
        )
        return route.hops
