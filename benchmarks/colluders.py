"""How many readers colluding members can make blind: `hide_servers`.

Ten honest servers and twenty readers of the real directory code live for a minute on a network in memory, once with two
colluders and once with ten of a hundred members. Each colluder runs as many servers as a person may. They accuse all
honest servers all the time, hold back what they know when readers ask them, sign with their clocks as far ahead as is
accepted, and answer the directory's entry point for half of the readers. The other half join during the attack.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.figures import Measured
from potluck.directory.directory import Directory
from potluck.directory.exchange import (
    COMPARE,
    ENTRY_BYTES,
    FETCH,
    MAX_PUSHED,
    PUSH,
    REPORT,
    Compare,
    Compared,
    FailureReport,
    Fetch,
    Fetched,
    Push,
    decode,
    encode,
    encode_answer,
    pack_numbers,
)
from potluck.directory.seal import MAX_SKEW_S, Kind, Sealed, seal
from potluck.directory.table import MAX_SERVERS_OF_A_PERSON
from potluck.errors import PotluckError
from potluck.membership.identity import public_key_of
from potluck.p2p.network import DhtValue
from potluck.protocol.blocks import PeerId, PersonId, Span
from potluck.protocol.codes import RemoteError
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState
from potluck.protocol.swarm import new_swarm
from tests.helpers.fake_network import FakeHost, FakeNetwork

_SWARM = new_swarm("figures", "m", 8)
_NUM_HONEST = 10
_NUM_READERS = 20  # half of them join during the attack
_MINUTE_S = 60.0
_SETTLING_S = 8.0
_REFRESH_S = 15.0  # a client's refresh_period_s
_BEAT_S = 10.0
_ACCUSE_EVERY_S = 3.0  # by each colluder, of all


def hide(soak: bool) -> Measured:
    """Return the number of readers that miss an honest server after a minute, where more do."""
    two, tenth = asyncio.run(_both(_MINUTE_S * (5 if soak else 1)))
    detail = {"two": two.told(), "tenth_of_100": tenth.told()}
    return Measured(max(two.blind, tenth.blind), detail, holds=two.known_ghosts > 0 and tenth.known_ghosts > 0)


async def _both(attack_s: float) -> tuple[_Outcome, _Outcome]:
    return await asyncio.gather(_attack(2, attack_s), _attack(10, attack_s))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What readers and honest servers knew at the end; `known_ghosts`: colluders' servers in the tables of readers."""

    blind: int
    blind_servers: int
    blind_readings: int  # of all, during the attack
    readings: int
    accusations: int
    known_ghosts: int

    def told(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


async def _attack(num_colluders: int, attack_s: float) -> _Outcome:
    there = _Swarm(num_colluders)
    honest = [await there.start_honest() for _ in range(_NUM_HONEST)]
    old = [_Reader(there, is_deceived=True) for _ in range(_NUM_READERS // 2)]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(there.keep_beating(directory)) for directory in honest]
        await asyncio.sleep(_SETTLING_S)
        for reader in old:
            await reader.look()
        await there.start_colluders()
        running += [tasks.create_task(there.collude(number)) for number in range(num_colluders)]
        there.is_lying = True
        until = time.monotonic() + attack_s
        readers = [*old, *(_Reader(there) for _ in range(_NUM_READERS - len(old)))]
        watching = [tasks.create_task(reader.keep_looking(until)) for reader in readers]
        await asyncio.wait(watching)
        servers = [{server.peer_id for server in directory.table.live(time.time())} for directory in honest]
        for task in running:
            task.cancel()
    for directory in honest:
        await directory.stop()
    return _Outcome(
        blind=sum(reader.is_blind for reader in readers),
        blind_servers=sum(not there.honest <= seen for seen in servers),
        blind_readings=sum(reader.blind_readings for reader in readers),
        readings=sum(reader.readings for reader in readers),
        accusations=there.accusations,
        known_ghosts=max(reader.known_ghosts for reader in readers),
    )


@dataclass(slots=True)
class _Swarm:
    """Everybody who is there."""

    num_colluders: int
    network: FakeNetwork = field(default_factory=FakeNetwork)
    honest: set[PeerId] = field(default_factory=set)
    ghosts: dict[PeerId, int] = field(default_factory=dict)  # the colluder of each
    hosts: list[list[FakeHost]] = field(default_factory=list)  # of each colluder
    is_lying: bool = False
    accusations: int = 0

    def person_of(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        return PersonId(f"colluder {self.ghosts[peer]}" if peer in self.ghosts else peer)

    def __post_init__(self) -> None:
        self.network.person_of = self.person_of

    async def start_honest(self) -> Directory:
        host = self.network.start()
        self.honest.add(host.peer_id)
        directory = Directory(host, _SWARM, host.identity)
        await directory.start_gossip()
        await directory.announce(_record(host.peer_id))
        await directory.heartbeat(_beat(host.peer_id))
        return directory

    async def keep_beating(self, directory: Directory) -> None:
        await asyncio.sleep(random.uniform(0, _BEAT_S))
        while True:
            await directory.heartbeat(_beat(directory._host.peer_id))
            await asyncio.sleep(_BEAT_S)

    async def start_colluders(self) -> None:
        for number in range(self.num_colluders):
            hosts = [self.network.start() for _ in range(MAX_SERVERS_OF_A_PERSON)]
            self.ghosts.update((host.peer_id, number) for host in hosts)
            self.hosts.append(hosts)
            for host in hosts:
                await host.serve_unary(COMPARE, self._hold_back_news)
                await host.serve_unary(FETCH, self._hold_back_records)
                await host.serve_unary(PUSH, _swallow)
                await host.serve_unary(REPORT, _swallow)

    async def collude(self, number: int) -> None:
        hosts = self.hosts[number]
        while True:
            announced = [self._sealed(host, kind) for host in hosts for kind in (Kind.RECORD, Kind.HEARTBEAT)]
            for host, sealed in zip((host for host in hosts for _ in range(2)), announced, strict=True):
                await host.store(sealed.kind.key(_SWARM), sealed.peer_id, sealed.to_bytes(), expiration=self._ends_at)
            for target in self.honest:
                for start in range(0, len(announced), MAX_PUSHED):
                    pushed = announced[start : start + MAX_PUSHED]
                    await _call(hosts[0], target, PUSH, encode(Push(pushed)))
                for host in random.sample(hosts, 4):
                    for suspect in self.honest:
                        self.accusations += 1
                        await _call(host, target, REPORT, encode(FailureReport(public_key_of(suspect) or b"")))
            await asyncio.sleep(_ACCUSE_EVERY_S)

    @property
    def _ends_at(self) -> float:
        return round(time.time() + 250.0, 0)

    def _sealed(self, host: FakeHost, kind: Kind) -> Sealed:
        """An announcement as fast and as late as it is accepted."""
        value = _record(host.peer_id, tps=1e9) if kind is Kind.RECORD else _beat(host.peer_id)
        sequence = time.time() + MAX_SKEW_S - 0.1
        return seal(_SWARM, host.identity, value, sequence=sequence, expiration=self._ends_at)

    async def _hold_back_news(self, body: bytes, peer: PeerId) -> bytes:
        return encode_answer(Compared(pack_numbers(range(decode(Compare, body).num_buckets))))

    async def _hold_back_records(self, body: bytes, peer: PeerId) -> bytes:
        return encode_answer(Fetched(absent=pack_numbers(range(len(decode(Fetch, body).entries) // ENTRY_BYTES))))


class _Reader:
    """A client's directory, read as a client reads it. `is_deceived`: its DHT is in the hands of the colluders."""

    def __init__(self, there: _Swarm, *, is_deceived: bool = False) -> None:
        self.is_blind = False
        self.blind_readings = self.readings = self.known_ghosts = 0
        self._there = there
        host = there.network.start()
        self._directory = Directory(
            _Deceived(host, there) if is_deceived else host,  # type: ignore[arg-type]
            _SWARM,
        )

    async def look(self) -> None:
        with contextlib.suppress(PotluckError):
            seen = {server.peer_id for server in await self._directory.fetch()}
            self.is_blind = not self._there.honest <= seen
            self.known_ghosts = len(seen - self._there.honest)
            self.readings += 1
            self.blind_readings += self.is_blind

    async def keep_looking(self, until: float) -> None:
        await asyncio.sleep(random.uniform(0, _REFRESH_S))
        while time.monotonic() < until:
            await self.look()
            await asyncio.sleep(_REFRESH_S)
        await self.look()


class _Deceived:
    """A host whose DHT knows nobody but the colluders once they lie."""

    def __init__(self, host: FakeHost, there: _Swarm) -> None:
        self._host = host
        self._there = there

    def __getattr__(self, name: str) -> object:
        return getattr(self._host, name)

    async def get(self, keys: Sequence[str]) -> Mapping[str, Mapping[str, DhtValue]]:
        found = await self._host.get(keys)
        if not self._there.is_lying:
            return found
        ghosts = self._there.ghosts
        return {key: {peer: value for peer, value in held.items() if peer in ghosts} for key, held in found.items()}


async def _call(host: FakeHost, target: PeerId, protocol: str, body: bytes) -> None:
    with contextlib.suppress(RemoteError):
        await host.call(target, protocol, body, timeout_s=60.0)


async def _swallow(body: bytes, peer: PeerId) -> bytes:
    return b""


def _beat(peer: PeerId) -> Heartbeat:
    return Heartbeat(peer, ServerState.ONLINE, cache_tokens_left=1000)


def _record(peer: PeerId, tps: float = 100.0) -> ServerRecord:
    return ServerRecord(
        peer_id=peer,
        span=Span(0, 8),
        revision=_SWARM.revision,
        format=NumberFormat("float32"),
        block_digests=tuple(f"{block:016x}" for block in range(8)),
        max_batch_tokens=1024,
        max_length=2048,
        inference_tps=tps,
        forward_tps=tps,
        network_tps=tps,
        throughput_tps=tps,
        version="0.1.0",
    )
