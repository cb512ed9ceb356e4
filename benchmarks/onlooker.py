"""A further node of a swarm that only reads its directory: what it does not see is not announced."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType

from potluck.client.loop import LoopThread
from potluck.directory.directory import Directory
from potluck.directory.seal import record_checks
from potluck.membership.membership import Membership
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId

_LOOK_EVERY_S = 0.01


class Onlooker:
    """Use as a context manager."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._swarm = membership.swarm
        self._loop = LoopThread("onlooker")
        self._stack = ExitStack()

    def __enter__(self) -> Onlooker:
        self._loop.start()
        self._stack.callback(self._loop.stop)
        host = self._loop.run(self._join())
        self._stack.callback(lambda: self._loop.run(host.close()))
        self._directory = Directory(host, self._swarm)
        self._pool = self._stack.enter_context(ThreadPoolExecutor(1))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def sees(self, peer_id: PeerId, *, is_there: bool, within_s: float) -> Future[float]:
        """When (monotonic) a look at the directory first showed that the server is there, or that it is not."""
        return self._pool.submit(lambda: self._loop.run(self._look_until(peer_id, is_there, within_s)))

    async def _join(self) -> Libp2pHost:
        checks = record_checks(self._swarm, time.time)
        return await Libp2pHost.start(
            HostConfig(
                membership=self._membership,
                bootstrap_peers=self._swarm.bootstrap_peers,
                dht_client=True,
                record_checks=checks,
            )
        )

    async def _look_until(self, peer_id: PeerId, is_there: bool, within_s: float) -> float:
        async with asyncio.timeout(within_s):
            while True:
                view = await self._directory.fetch()
                if any(server.peer_id == peer_id for server in view) is is_there:
                    return time.monotonic()
                await asyncio.sleep(_LOOK_EVERY_S)
