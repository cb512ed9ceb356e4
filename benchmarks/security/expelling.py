"""How soon everybody is rid of a removed member: `expel`.

A real swarm: a meeting point, the founder's node, ten nodes of ten people, and a member whose engine is the only
server. Two of the ten are offline when the founder removes that member. All the while somebody generates on the
member's server, and the member's client calls everybody. Then the two come back, to the same addresses and with the
rosters they had; the removed member calls them from before they listen.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import torch

from benchmarks.figures import Measured, figure
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import checkpoint
from benchmarks.setup.sessions import Decoder
from potluck.client.config import ClientConfig
from potluck.client.swarm_client import SwarmClient
from potluck.directory.directory import Directory
from potluck.directory.seal import record_checks
from potluck.errors import PotluckError
from potluck.membership.identity import Identity
from potluck.membership.leadership import remove
from potluck.membership.membership import Membership
from potluck.p2p.encoding import split_peer
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import LOOPBACK, HostConfig
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError

_HIDDEN_SIZE, _NUM_BLOCKS = 512, 4
_NUM_NODES, _NUM_AWAY = 10, 2
_START_TIMEOUT_S = 60.0
_CALL_TIMEOUT_S = 5.0
_KNOCK_EVERY_S = 0.1
_GIVE_UP_S = 120.0
_QUIET_S = 10.0  # nothing more may be served or admitted for so long before it counts as over


@figure("expel", unit="s", reach=60, shown=True)
def expel(soak: bool) -> Measured:
    """Seconds until a removed member's server serves nobody and the 8 of 10 nodes that are online refuse their
    client.
    """
    torch.set_num_threads(1)
    with LocalSwarm(checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS), []) as swarm:
        return asyncio.run(_expel(swarm))


async def _expel(swarm: LocalSwarm) -> Measured:
    async with AsyncExitStack() as stack:
        founder = await stack.enter_async_context(_online(swarm.membership.for_client()))
        expelled, _ = swarm.join("Bob")
        server = swarm.add_engine_of("Bob", Span(0, _NUM_BLOCKS))
        await asyncio.to_thread(server.wait_online)
        people = [_Person.of(swarm, f"Person {number}") for number in range(_NUM_NODES)]
        for person in people:
            await person.start()
            stack.push_async_callback(person.stop)
        here, away = people[_NUM_AWAY:], people[:_NUM_AWAY]
        client = await stack.enter_async_context(_online(expelled.for_client()))
        knocks = [_Knocks(client, person) for person in people]
        for knock in knocks:
            stack.push_async_callback(knock.stop)
            knock.start()
        serving = _Serving(here[0].membership)
        stack.push_async_callback(serving.stop)
        serving.start()
        await _until(lambda: serving.last_s > 0 and all(knock.admitted for knock in knocks))
        for person in away:
            await person.stop()

        assert founder.members is not None
        members = founder.members.roster
        bob = next(person for person in members.people.values() if person.name == "Bob")
        entries = swarm.lead(remove(swarm.membership, members, bob))
        removed_s = time.monotonic()
        founder.members.publish(entry.data for entry in entries)
        gone_s = await _when_gone(here, server.peer_id) - removed_s
        await _until(lambda: time.monotonic() > max(serving.last_s, *(each.last_s for each in knocks)) + _QUIET_S)
        served_s = serving.last_s - removed_s
        refused_s = [knock.last_s - removed_s for knock in knocks[_NUM_AWAY:]]

        before = [(knock.admitted, knock.refused) for knock in knocks[:_NUM_AWAY]]
        for person in away:
            await person.start()
        await _until(lambda: all(knock.refused > refused for knock, (_, refused) in zip(knocks, before, strict=False)))
        await asyncio.sleep(_QUIET_S)
        admissions = sum(knock.admitted - admitted for knock, (admitted, _) in zip(knocks, before, strict=False))
        detail = {
            "last_step_s": round(served_s, 2),
            "out_of_directories_s": round(gone_s, 2),
            "last_admissions_s": [round(value, 2) for value in refused_s],
            "nodes_that_refuse": sum(knock.refused > 0 for knock in knocks[_NUM_AWAY:]),
            "admissions_after_return": admissions,
            "refusals_after_return": [knock.refused for knock in knocks[:_NUM_AWAY]],
        }
        holds = admissions == 0 and all(knock.refused for knock in knocks)
        return Measured(max(served_s, gone_s, *refused_s), detail, holds)


@dataclass(slots=True)
class _Person:
    """A member with one node, which keeps its address and its roster while it is away."""

    membership: Membership
    identity: Path
    listen: tuple[str, ...] = LOOPBACK
    host: Libp2pHost | None = None

    @classmethod
    def of(cls, swarm: LocalSwarm, name: str) -> Self:
        return cls(*swarm.join(name))

    @property
    def peer_id(self) -> PeerId:
        return Identity.load_or_create(self.identity).peer_id

    async def start(self) -> None:
        self.host = await Libp2pHost.start(_config(self.membership.for_node(), self.identity, self.listen))
        _, way = split_peer((await self.host.addresses())[0])
        self.listen = (way,)

    async def stop(self) -> None:
        if self.host is None:
            return
        assert self.host.members is not None
        self.membership = self.membership.knowing(self.host.members.roster)
        await self.host.close()
        self.host = None


@dataclass(slots=True)
class _Knocks:
    """The expelled member's client, which calls a node all the time."""

    client: Libp2pHost
    person: _Person
    admitted: int = 0
    refused: int = 0
    last_s: float = 0.0  # when a call was served
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        self._task = asyncio.create_task(self._knock_for_ever())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _knock_for_ever(self) -> None:
        peer = self.person.peer_id
        while True:
            with contextlib.suppress(PotluckError):
                await self.client._running().connect(peer, self.person.listen, timeout_s=_CALL_TIMEOUT_S)
            try:
                await self.client.ping(peer, timeout_s=_CALL_TIMEOUT_S)
                self.admitted, self.last_s = self.admitted + 1, time.monotonic()
            except RemoteError as error:
                self.refused += error.code is Code.NOT_A_MEMBER
            await asyncio.sleep(_KNOCK_EVERY_S)


class _Serving:
    """A member who generates on the server for as long as it serves, in a thread of its own."""

    def __init__(self, membership: Membership) -> None:
        self.last_s = 0.0  # when a step was answered
        self._membership = membership
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._generate_for_ever)

    def start(self) -> None:
        self._thread.start()

    async def stop(self) -> None:
        self._is_over.set()
        await asyncio.to_thread(self._thread.join)

    def _generate_for_ever(self) -> None:
        client = SwarmClient(self._membership.for_client(), ClientConfig(max_wait_s=1.0))
        client.start()
        try:
            while not self._is_over.is_set():
                decoder = Decoder(client, _HIDDEN_SIZE, torch.float32, prompt_tokens=8, seed=0)
                with contextlib.suppress(PotluckError):
                    client.run(decoder.start())
                    while not self._is_over.is_set():
                        client.run(decoder.decode(1))
                        self.last_s = time.monotonic()
        finally:
            client.close()


@contextlib.asynccontextmanager
async def _online(membership: Membership) -> AsyncIterator[Libp2pHost]:
    """A client's node, whose key is made for this run."""
    host = await Libp2pHost.start(_config(membership, None, LOOPBACK))
    try:
        yield host
    finally:
        await host.close()


def _config(membership: Membership, identity: Path | None, listen: tuple[str, ...]) -> HostConfig:
    return HostConfig(
        membership=membership,
        identity_path=identity,
        listen_addrs=listen,
        bootstrap_peers=membership.swarm.bootstrap_peers,
        record_checks=record_checks(membership.swarm, time.time),
        patience_s=_START_TIMEOUT_S,
    )


async def _when_gone(people: Sequence[_Person], server: PeerId) -> float:
    """Return the time at which no node of these people finds the server in its directory any more."""
    directories = [
        Directory(person.host, person.membership.swarm, everybody=True) for person in people if person.host is not None
    ]
    async with asyncio.timeout(_GIVE_UP_S):
        while True:
            readings = await asyncio.gather(*(directory.fetch() for directory in directories))
            if all(server not in [found.peer_id for found in reading] for reading in readings):
                return time.monotonic()
            await asyncio.sleep(_KNOCK_EVERY_S)


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(_GIVE_UP_S):
        while not is_so():  # noqa: ASYNC110 - what it waits for happens in other threads and processes
            await asyncio.sleep(_KNOCK_EVERY_S)
