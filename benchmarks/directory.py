"""What it costs to know a swarm: bytes and time of a reader, first and then again and again while servers come and go.

Large swarms are simulated: real announcements with real signatures in the tables of a few servers, which answer a real
reader on a network in memory; time is made up. How often servers come, go and change is what `scenarios` and the
reference say: sessions of four hours, half of them ending without a word; a rank of other blocks while they load.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field

from msgspec.structs import replace

from benchmarks.figures import Measured
from potluck.directory.directory import Directory
from potluck.directory.exchange import COMPARE, FETCH
from potluck.directory.fields import links_of
from potluck.directory.gossip import Gossip
from potluck.directory.seal import MAX_STRETCH, Announcement, Kind, Value, seal, unseal
from potluck.directory.suspicion import Attempts
from potluck.directory.table import Table
from potluck.membership.identity import Identity
from potluck.protocol.blocks import PeerId, Span, each_peer_a_person
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord, ServerState
from potluck.protocol.swarm import new_swarm
from tests.helpers.fake_network import FakeNetwork

_NUM_BLOCKS = 80
_SWARM = new_swarm("figures", "llama-70b", _NUM_BLOCKS, "0123456789abcdef0123456789abcdef01234567")
_DIGESTS = tuple(f"{random.Random(block).getrandbits(64):016x}" for block in range(_NUM_BLOCKS))
_REFRESH_S = 15.0  # a client's refresh_period_s
_SESSION_S = 4 * 3600.0
_RECORDS_A_SESSION = 4  # while it loads: where it goes, and how far it is
_CHANGES_A_SESSION = 9  # later: what it keeps on disk, and speeds that are other ones
_NUM_LINKS = 16
_SOURCES = 3  # servers that answer; all know the same
_MAX_INITIAL_BYTES = 2_000_000


def state_10000(soak: bool) -> Measured:
    """Kilobytes a second that are fetched after the first reading; the first has a bound of its own."""
    measured = asyncio.run(_read(10_000, refreshes=60 if soak else 20))
    return Measured(
        measured.received_a_second / 1000,
        {
            "first_mb": round(measured.first_bytes / 1e6, 3),
            "first_s": round(measured.first_s, 2),
            "both_directions_kb_s": round(measured.bytes_a_second / 1000, 3),
            "refresh_ms": round(measured.refresh_ms, 1),
            "known": measured.known,
            "followed": measured.followed,
        },
        holds=measured.first_bytes <= _MAX_INITIAL_BYTES and measured.known > 9_900,
    )


def refresh_10(soak: bool) -> Measured:
    return _refresh(10, soak)


def refresh_100(soak: bool) -> Measured:
    return _refresh(100, soak)


def refresh_1000(soak: bool) -> Measured:
    return _refresh(1000, soak)


def _refresh(num_servers: int, soak: bool) -> Measured:
    """Kilobytes of one reading of a reader that read 15 s before."""
    measured = asyncio.run(_read(num_servers, refreshes=60 if soak else 20))
    return Measured(
        measured.bytes_a_second * _REFRESH_S / 1000,
        {
            "first_kb": round(measured.first_bytes / 1000, 1),
            "first_ms": round(measured.first_s * 1000, 1),
            "refresh_ms": round(measured.refresh_ms, 2),
            "known": measured.known,
        },
        holds=measured.known >= 0.95 * num_servers,
    )


@dataclass(frozen=True, slots=True)
class _Measurement:
    """`known`: servers in the reader's table at the end; `followed`: those with a valid heartbeat."""

    first_bytes: int
    first_s: float
    bytes_a_second: float
    received_a_second: float
    refresh_ms: float
    known: int
    followed: int


async def _read(num_servers: int, *, refreshes: int) -> _Measurement:
    clock = _Clock()
    made = _MadeSwarm(num_servers, clock)
    network = FakeNetwork(clock=clock)
    for identity in made.sources:
        attempts = Attempts(each_peer_a_person)
        gossip = Gossip(network.start(identity), _SWARM, made.table, clock, attempts, look_up=_nothing)
        await network.nodes[identity.peer_id].serve_unary(COMPARE, gossip._answer_compare)
        await network.nodes[identity.peer_id].serve_unary(FETCH, gossip._answer_fetch)
    directory = Directory(network.start(), _SWARM, clock=clock)
    reader = directory.reader
    await reader.check_and_add([announcement.sealed for announcement in made.known_of_dht()])
    began = time.perf_counter()
    await reader.read_from(made.sources[0].peer_id)
    first_s, received, sent = time.perf_counter() - began, reader.received_bytes, reader.sent_bytes
    spent_s = 0.0
    for _ in range(refreshes):
        made.pass_time(_REFRESH_S)
        began = time.process_time()
        await reader.read_from(made.rng.choice(made.sources).peer_id)
        directory.table.expire(clock(), beatless=False)
        spent_s += time.process_time() - began
    total_s = refreshes * _REFRESH_S
    return _Measurement(
        first_bytes=sent + received,
        first_s=first_s,
        bytes_a_second=(reader.sent_bytes + reader.received_bytes - sent - received) / total_s,
        received_a_second=(reader.received_bytes - received) / total_s,
        refresh_ms=spent_s / refreshes * 1000,
        known=sum(peer in made.servers for peer in directory.table.all(Kind.RECORD)),
        followed=len(directory.table.live(clock())),
    )


async def _nothing() -> None:
    pass


class _Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class _Server:
    identity: Identity
    record: ServerRecord
    record_sequence: float
    beats_at: float
    loading: list[float] = field(default_factory=list)  # when it is going to tell of more blocks


class _MadeSwarm:
    """Servers with their announcements in one table, as all servers of the swarm have it."""

    def __init__(self, num_servers: int, clock: _Clock) -> None:
        self.rng = random.Random(7)
        self.table = Table()
        self.servers: dict[PeerId, _Server] = {}
        self._clock = clock
        self._interval_s = 10.0 * min(max(1.0, num_servers / 250), MAX_STRETCH)
        for _ in range(num_servers):
            self._join()
        self.sources = [server.identity for server in list(self.servers.values())[:_SOURCES]]

    def known_of_dht(self) -> list[Announcement]:
        """Those of the first source: with it a reader begins."""
        found = (self.table.get(kind, self.sources[0].peer_id) for kind in (Kind.RECORD, Kind.HEARTBEAT))
        return [announcement for announcement in found if announcement is not None]

    def pass_time(self, seconds: float) -> None:
        """Servers come, go, change and beat."""
        end, num_servers = self._clock.now + seconds, len(self.servers)
        ends = self._events(num_servers * seconds / _SESSION_S)
        changes = self._events(num_servers * seconds * _CHANGES_A_SESSION / _SESSION_S)
        for server in self._some(ends):
            if self.rng.random() < 0.5:
                self._beat(server, ServerState.OFFLINE)
            del self.servers[server.identity.peer_id]
        for server in self._some(changes):
            stored = server.record.stored | {self.rng.randrange(_NUM_BLOCKS)}
            self._tell(server, replace(server.record, stored=stored, inference_tps=self.rng.uniform(50, 500)))
        while self._clock.now < end:
            self._clock.now = min(self._clock.now + 1.0, end)
            for server in self.servers.values():
                if server.loading and server.loading[0] <= self._clock.now:
                    server.loading.pop(0)
                    self._tell(server, replace(server.record, download_bps=self.rng.uniform(1e6, 1e9)))
                if server.beats_at <= self._clock.now:
                    self._beat(server, ServerState.ONLINE)
        for _ in range(ends):
            server = self._join()
            server.loading = [self._clock.now + 30.0 * step for step in range(1, _RECORDS_A_SESSION)]
        self.table.expire(self._clock.now)

    def _some(self, count: int) -> list[_Server]:
        sources = {identity.peer_id for identity in self.sources}
        return self.rng.sample([server for peer, server in self.servers.items() if peer not in sources], count)

    def _events(self, mean: float) -> int:
        """How many happened: the mean, rounded at random."""
        return int(mean + self.rng.random())

    def _join(self) -> _Server:
        identity, length = Identity.generate(), self.rng.randrange(8, 45)
        start = self.rng.randrange(_NUM_BLOCKS - length + 1)
        record = ServerRecord(
            peer_id=identity.peer_id,
            span=Span(start, start + length),
            revision=_SWARM.revision,
            format=NumberFormat("bfloat16", self.rng.choice(("none", "int4"))),
            block_digests=_DIGESTS[start : start + length],
            max_batch_tokens=8192,
            max_length=32_768,
            inference_tps=self.rng.uniform(50, 500),
            forward_tps=self.rng.uniform(1e3, 1e5),
            network_tps=self.rng.uniform(1e3, 1e5),
            throughput_tps=self.rng.lognormvariate(4.0, 1.0),
            version="0.1.0",
            public_name=f"{self.rng.choice(('tower', 'laptop', 'den', 'lab'))}-{self.rng.randrange(10**6)}",
            using_relay=self.rng.random() < 0.35,
            stored=frozenset(range(start, start + length)),
            download_bps=self.rng.lognormvariate(19.0, 0.8),
        )
        server = _Server(identity, record, 0.0, self._clock.now + self.rng.uniform(0, self._interval_s))
        self.servers[identity.peer_id] = server
        self._tell(server, record)
        self._beat(server, ServerState.ONLINE)
        server.beats_at -= self.rng.uniform(0, self._interval_s)
        peers = self.rng.sample(list(self.servers), min(_NUM_LINKS, len(self.servers)))
        rates = {peer: self.rng.uniform(0.001, 200.0) for peer in peers}
        beat = Heartbeat(identity.peer_id, ServerState.ONLINE, 0, pings_s=rates, links_mbps=rates)
        self._seal(server, links_of(beat), 300.0)
        return server

    def _tell(self, server: _Server, record: ServerRecord) -> None:
        server.record, server.record_sequence = record, self._clock.now
        self._seal(server, record, 300.0)

    def _beat(self, server: _Server, state: ServerState) -> None:
        server.beats_at = self._clock.now + self._interval_s
        tokens, load = self.rng.randrange(100_000), self.rng.uniform(1, 50)
        beat = Heartbeat(
            server.identity.peer_id, state, tokens, self.rng.randrange(512), load, batch=8, queue_ms=load / 2
        )
        self._seal(server, beat, 3 * self._interval_s)

    def _seal(self, server: _Server, value: Value, ttl_s: float) -> None:
        now, record = self._clock.now, server.record_sequence
        sealed = seal(_SWARM, server.identity, value, sequence=now, expiration=now + ttl_s, record=record)
        self.table.add(unseal(_SWARM, sealed, now=now))
