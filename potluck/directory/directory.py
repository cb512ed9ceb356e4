"""Announces this server to its swarm and reads who else serves what.

Servers keep the whole directory and tell each other what changes (`gossip`). Readers ask one server after another what
has changed (`reader`). Both begin with the DHT and fall back to it when nobody answers. It holds one record and one
heartbeat of each server, or of some servers of a large swarm, under one key each with the peer id as subkey. Open
swarms also get the block keys that Petals peers read.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import time
from collections.abc import Callable, Mapping

from msgspec import structs

from potluck.directory.exchange import REPORT, FailureReport, encode
from potluck.directory.fields import Links, links_of, tag_of
from potluck.directory.gossip import Gossip
from potluck.directory.reader import CALL_TIMEOUT_S, Reader, Sources
from potluck.directory.seal import (
    MAX_STRETCH,
    BadAnnouncementError,
    Kind,
    Value,
    seal,
    unseal,
    unseal_stored,
)
from potluck.directory.suspicion import Attempts, watchers_of
from potluck.directory.table import Table
from potluck.errors import NetworkError
from potluck.foreign import adapter_for
from potluck.membership.identity import Identity, public_key_of
from potluck.p2p.network import DhtSubkey, DhtValue, Host
from potluck.protocol.blocks import PeerId
from potluck.protocol.records import Heartbeat, LiveServer, ServerRecord, ServerState
from potluck.protocol.swarm import Swarm
from potluck.tasks import within

log = logging.getLogger(__name__)

RECORD_INTERVAL_S = 100.0  # a third of the lifetime of a record
HEARTBEAT_INTERVAL_S = 10.0  # a third of the lifetime of a heartbeat
NUM_BEACONS = 128  # servers that are also in the DHT, where newcomers begin; in a swarm up to this size all are
_MOST_BEACONS_OF_A_PERSON = 8  # half of what DHT nodes take, as the person's servers may not know each other yet
_STRETCH_FROM = 250  # servers; larger swarms send heartbeats more rarely, so that 25 a second reach every server
_DHT_INTERVAL_S = 60.0  # pause between two readings of the DHT while servers answer
_HURRY_S = 1.0  # a client that misses blocks does not wait for silent servers
_PATIENCE_S = 20.0  # time limit of the first reading of a large swarm
_MOST_MET = 8  # nodes that this one presents itself to at a reading because it knows no member behind them
_LINKS_INTERVAL_S = 60.0  # pause between two announcements of measurements
_IN_DHT = (Kind.RECORD, Kind.HEARTBEAT)
_MOST_HEARD = 32  # silent servers that a client asks themselves at one reading
_REPORT_INTERVAL_S = 20.0  # pause between two complaints about the same server
_GOODBYE_S = 1.0  # time limit for the news to reach other servers; the DHT has it already
_MIN_STEP_S = 1e-3  # the DHT takes only a strictly later expiry


class Directory:
    """One node's access to the directory of `swarm`. Only nodes that announce need an identity.

    A server calls `start_gossip` once its host runs, and `stop` before the host closes.

    Args:
        everybody: follow all servers, not only as many as a client can use.

    Attributes:
        attempts: which servers answered this node, for those who choose among them.
    """

    def __init__(
        self,
        host: Host,
        swarm: Swarm,
        identity: Identity | None = None,
        clock: Callable[[], float] = time.time,
        *,
        everybody: bool = False,
    ) -> None:
        self.table = Table(host.person_of)
        self.attempts = Attempts(host.person_of)
        self.reader = Reader(host, swarm, self.table, clock, self.attempts, None if everybody else os.urandom(8))
        self._sources = Sources(host, self.table, self.attempts, clock)
        self._host = host
        self._swarm = swarm
        self._identity = identity
        self._clock = clock
        self._sequences: dict[Kind, float] = {}
        self._announced: dict[Kind, Value] = {}
        self._ends: dict[Kind, float] = {}
        self._foreign = adapter_for(swarm)
        self._strangers: dict[PeerId, LiveServer] = {}
        self._gossip: Gossip | None = None
        self._dht_due = 0.0
        self._links_due = 0.0
        self._reported: dict[PeerId, float] = {}

    async def start_gossip(self) -> None:
        """Answer readers and other servers, and hear from them."""
        self._gossip = Gossip(
            self._host,
            self._swarm,
            self.table,
            self._clock,
            self.attempts,
            look_up=self._read_dht,
        )
        self.reader = self._gossip.reader
        await self._gossip.start()

    async def stop(self) -> None:
        if self._gossip is not None:
            await self._gossip.stop()

    @property
    def stretch(self) -> float:
        """Return the factor by which heartbeats are rarer in a swarm of this size."""
        return min(max(1.0, len(self.table.all(Kind.HEARTBEAT)) / _STRETCH_FROM), MAX_STRETCH)

    async def announce(self, record: ServerRecord) -> None:
        """Announce this server's record to the swarm. Raises NetworkError if the DHT does not accept it."""
        await self._publish(record)
        await self._announce_to_foreign_peers()

    async def heartbeat(self, beat: Heartbeat) -> None:
        """Announce this server's heartbeat to the swarm. Raises NetworkError if the DHT does not accept it."""
        before = self._announced.get(Kind.HEARTBEAT)
        is_new_state = not isinstance(before, Heartbeat) or before.state is not beat.state
        if self._gossip is not None:
            await self._publish_links(links_of(beat))
        await self._publish(beat)
        if is_new_state:
            await self._announce_to_foreign_peers()

    async def leave(self) -> None:
        """Announce OFFLINE at once, if anything was announced. Raises NetworkError if the DHT does not accept it."""
        last = self._announced.get(Kind.HEARTBEAT)
        if isinstance(last, Heartbeat) and last.state is not ServerState.OFFLINE:
            await self.heartbeat(structs.replace(last, state=ServerState.OFFLINE, pings_s={}, links_mbps={}))
            if self._gossip is not None:
                await within(_GOODBYE_S, self._gossip.pass_on())

    async def fetch(self, *, thorough: bool = False) -> tuple[LiveServer, ...]:
        """Learn what has changed and return the JOINING and ONLINE servers, by peer id.

        Args:
            thorough: also read the DHT, which may know a server that the asked one has not heard of yet.
        Raises:
            NetworkError: neither a server nor the DHT answers.
        """
        is_heard = bool(self._gossip.partners()) if self._gossip else not thorough and await self._read_server()
        if thorough or not is_heard or self._clock() >= self._dht_due:
            try:
                await self._read_dht()
                self._dht_due = self._clock() + _DHT_INTERVAL_S
            except NetworkError:
                if not is_heard:
                    raise
            if self._gossip is None and not is_heard:
                await within(_HURRY_S if thorough else _PATIENCE_S, self._read_server())
        if self._gossip is not None:
            await within(_PATIENCE_S, self._gossip.compare_once())
        else:
            await within(_HURRY_S if thorough else CALL_TIMEOUT_S, self.reader.refresh_silent(_MOST_HEARD))
        self.table.expire(self._clock(), beatless=self._gossip is not None)
        return self._servers()

    async def report(self, suspect: PeerId) -> None:
        """Report to some servers that `suspect` failed; they check it themselves. Never raises for their answers."""
        now = self._clock()
        if now - self._reported.get(suspect, -_REPORT_INTERVAL_S) < _REPORT_INTERVAL_S:
            return
        self._reported = {peer: when for peer, when in self._reported.items() if now - when < _REPORT_INTERVAL_S}
        self._reported[suspect] = now
        online = [item.peer_id for item in self.table.live(now) if item.heartbeat.state is ServerState.ONLINE]
        message = encode(FailureReport(public_key_of(suspect) or b""))
        calls = [
            self._host.call(watcher, REPORT, message, timeout_s=CALL_TIMEOUT_S)
            for watcher in watchers_of(suspect, online, self.table.person_of)
        ]
        await asyncio.gather(*calls, return_exceptions=True)

    # -- reading -------------------------------------------------------------------------------------------------------

    async def _read_server(self) -> bool:
        """Learn changes from a server; return whether one answered."""
        return await self._sources.read_one(self.reader, unwanted=self._reported)

    async def _read_dht(self) -> None:
        """Learn what the DHT holds. Raises NetworkError."""
        keys = {kind: kind.key(self._swarm) for kind in _IN_DHT}
        wanted = [*keys.values(), *(self._foreign.dht_keys if self._foreign is not None else ())]
        found = await self._host.get(wanted)
        for kind, key in keys.items():
            self._add_stored(kind, found.get(key, {}))
        unknown = [peer for peer in map(PeerId, found.get(keys[Kind.RECORD], {})) if self._host.person_of(peer) is None]
        if unknown and await self._host.meet(random.sample(unknown, min(_MOST_MET, len(unknown)))):
            for kind, key in keys.items():
                self._add_stored(kind, found.get(key, {}))
        if self._foreign is not None:
            strangers = self._foreign.read_servers(found, now=self._clock())
            self._strangers = {server.peer_id: server for server in strangers}

    def _add_stored(self, kind: Kind, found: Mapping[DhtSubkey, DhtValue]) -> None:
        now = self._clock()
        for subkey, entry in found.items():
            try:
                new = unseal_stored(self._swarm, kind, subkey, entry.value, entry.expiration, now=now)
            except BadAnnouncementError as error:
                log.debug("dropped an announcement of %.60r: %s", subkey, error)
                continue
            self.table.add(new)

    def _servers(self) -> tuple[LiveServer, ...]:
        servers = list(self.table.live(self._clock()))
        known = self.table.all(Kind.RECORD)  # their own heartbeats count, not unsigned records
        servers += [
            server
            for peer, server in self._strangers.items()
            if peer not in known and server.heartbeat.state is not ServerState.OFFLINE
        ]
        return tuple(sorted(servers, key=lambda server: server.peer_id))

    # -- announcing ----------------------------------------------------------------------------------------------------

    async def _publish(self, value: Value) -> None:
        """Sign an announcement, pass it on to the servers and store it in the DHT for newcomers."""
        kind, now = Kind.of(value), self._clock()
        if kind is Kind.HEARTBEAT or value != self._announced.get(kind):
            self._announced[kind] = value
            self._sequences[kind] = max(now, self._sequences.get(kind, 0.0) + _MIN_STEP_S)
        ttl_s = kind.ttl_s * (self.stretch if kind is Kind.HEARTBEAT else 1.0)
        end = round(max(now + ttl_s, self._ends.get(kind, 0.0) + _MIN_STEP_S), 3)
        if self._identity is None:
            raise ValueError("announcing needs an identity")
        sealed = seal(
            self._swarm,
            self._identity,
            value,
            sequence=self._sequences[kind],
            expiration=end,
            record=self._sequences.get(Kind.RECORD, 0.0),
            ticket=self._host.ticket if kind is Kind.RECORD else b"",
        )
        if self._gossip is not None:
            self._gossip.publish(unseal(self._swarm, sealed, now=now))
        if kind in _IN_DHT and self._is_beacon:
            self._ends[kind] = end
            if not await self._host.store(kind.key(self._swarm), sealed.peer_id, sealed.to_bytes(), expiration=end):
                raise NetworkError("the swarm's directory did not take this server's announcement")

    async def _publish_links(self, links: Links) -> None:
        is_news = links.rates if Kind.LINKS not in self._announced else links != self._announced[Kind.LINKS]
        if is_news and self._clock() >= self._links_due:
            self._links_due = self._clock() + _LINKS_INTERVAL_S
            await self._publish(links)

    @property
    def _is_beacon(self) -> bool:
        """Return whether this server is in the DHT for newcomers, as about `NUM_BEACONS` of a large swarm are.

        Of one person these are those with the lowest tags.
        """
        mine = tag_of(self._host.peer_id)
        if sum(tag_of(peer) < mine for peer in self.table.fellows(self._host.peer_id)) >= _MOST_BEACONS_OF_A_PERSON:
            return False
        num_servers = len(self.table.all(Kind.RECORD))
        place = int.from_bytes(mine, "big") / (1 << 64)  # a number from 0 to 1 that never changes
        return place * num_servers < NUM_BEACONS

    async def _announce_to_foreign_peers(self) -> None:
        record, beat = self._announced.get(Kind.RECORD), self._announced.get(Kind.HEARTBEAT)
        if self._foreign is not None and isinstance(record, ServerRecord) and isinstance(beat, Heartbeat):
            await self._foreign.announce(self._host, record, beat, now=self._clock())
