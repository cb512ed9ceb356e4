"""Servers of a swarm that have nothing but a directory, on a network in memory."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from helpers.fake_network import FakeHost, FakeNetwork
from helpers.server_records import beat_of, record_of

from potluck.directory.directory import Directory
from potluck.membership.identity import Identity
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.swarm import new_swarm

SWARM = new_swarm("home", "m", 8)
PATIENCE_S = 60.0  # only ends a hang


@dataclass(frozen=True, slots=True)
class Member:
    """A server that announces itself and takes part in gossip."""

    host: FakeHost
    directory: Directory

    @property
    def peer_id(self) -> PeerId:
        return self.host.peer_id

    def sees(self) -> dict[PeerId, Span]:
        return {server.peer_id: server.span for server in self.directory.table.live(time.time())}

    async def announce(self, start: int, end: int, **load: Any) -> None:
        await self.directory.announce(record_of(self.peer_id, start, end))
        await self.directory.heartbeat(beat_of(self.peer_id, **load))


async def start_members(network: FakeNetwork, count: int) -> list[Member]:
    members = []
    for _ in range(count):
        identity = Identity.generate()
        host = network.start(identity)
        directory = Directory(host, SWARM, identity)
        await directory.start_gossip()
        members.append(Member(host, directory))
        await members[-1].announce(0, 4)
    return members


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what other tasks bring about."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 (the conditions are of several nodes)
            await asyncio.sleep(0.01)
