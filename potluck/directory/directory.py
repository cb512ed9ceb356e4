"""The swarm's directory: announce this server, read who else serves what.

One signed record a server and one heartbeat, each under one DHT key a swarm with the peer id as subkey: one store and
one read for any number of blocks. Open swarms also get the block keys that stock peers read. Loops are the caller's.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from potluck.directory.fields import heartbeat_to_fields, record_to_fields
from potluck.directory.seal import Announcement, BadAnnouncementError, Kind, seal, unseal
from potluck.directory.stock import STOCK_TTL_S, read_stock_servers, stock_keys
from potluck.errors import NetworkError
from potluck.p2p.identity import Identity
from potluck.p2p.network import DhtSubkey, DhtValue, Host
from potluck.protocol.blocks import PeerId
from potluck.protocol.records import Heartbeat, LiveServer, ServerRecord, ServerState
from potluck.protocol.swarm import Swarm
from potluck.wire.stock_records import stock_server_value

log = logging.getLogger(__name__)

RECORD_INTERVAL_S = 100.0  # a third of a record's life
HEARTBEAT_INTERVAL_S = 10.0  # a third of a heartbeat's life
_MIN_STEP_S = 1e-3  # the DHT takes only a strictly later end

Announced = TypeVar("Announced", ServerRecord, Heartbeat)


@dataclass(frozen=True, slots=True)
class SwarmView:
    """Who is there, as of `fetched_at` (Unix seconds of the directory's clock); JOINING and ONLINE, by peer id."""

    servers: tuple[LiveServer, ...]
    fetched_at: float
    num_dropped: int = 0  # announcements that were refused at this reading

    def age_s(self, now: float) -> float:
        return now - self.fetched_at


class Directory:
    """One node's access to the directory of `swarm`; only readers may do without an identity."""

    def __init__(
        self, host: Host, swarm: Swarm, identity: Identity | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._host = host
        self._swarm = swarm
        self._identity = identity
        self._clock = clock
        self._record: ServerRecord | None = None
        self._heartbeat: Heartbeat | None = None
        self._ends: dict[Kind, float] = {}
        self._stock_end = 0.0
        self._seen: dict[Kind, dict[PeerId, Announcement]] = {kind: {} for kind in Kind}

    async def announce(self, record: ServerRecord) -> None:
        """Store this server's record. Raises NetworkError if nobody takes it."""
        self._record = record
        await self._store(Kind.RECORD, record_to_fields(record))
        await self._store_stock()

    async def heartbeat(self, beat: Heartbeat) -> None:
        """Store this server's heartbeat. Raises NetworkError if nobody takes it."""
        is_new_state = self._heartbeat is None or self._heartbeat.state is not beat.state
        self._heartbeat = beat
        await self._store(Kind.HEARTBEAT, heartbeat_to_fields(beat))
        if is_new_state:
            await self._store_stock()

    async def leave(self) -> None:
        """Say OFFLINE at once, if anything was announced. Raises NetworkError if nobody takes it."""
        if self._heartbeat is not None and self._heartbeat.state is not ServerState.OFFLINE:
            await self.heartbeat(replace(self._heartbeat, state=ServerState.OFFLINE, pings_s={}))

    async def fetch(self) -> SwarmView:
        """Read the directory. Raises NetworkError if the DHT does not answer."""
        keys = {kind: kind.key(self._swarm) for kind in Kind}
        wanted = [*keys.values(), *(stock_keys(self._swarm) if self._swarm.is_open else ())]
        found = await self._host.get(wanted)
        num_dropped = sum(self._take(kind, found.get(key, {})) for kind, key in keys.items())
        records, beats = self._newest(Kind.RECORD, ServerRecord), self._newest(Kind.HEARTBEAT, Heartbeat)
        servers = [LiveServer(record, beats[peer]) for peer, record in records.items() if peer in beats]
        if self._swarm.is_open:  # a server with a signed record needs a live heartbeat, whatever its block keys say
            stock = read_stock_servers(self._swarm, found, now=self._clock())
            servers += [server for server in stock if server.peer_id not in records]
        live = [server for server in servers if server.heartbeat.state is not ServerState.OFFLINE]
        return SwarmView(tuple(sorted(live, key=lambda server: server.peer_id)), self._clock(), num_dropped)

    def _take(self, kind: Kind, found: Mapping[DhtSubkey, DhtValue]) -> int:
        """Remember the newest valid announcement of each peer; returns how many were refused."""
        num_dropped, seen, now = 0, self._seen[kind], self._clock()
        for subkey, entry in found.items():
            try:
                new = unseal(self._swarm, kind, subkey, entry.value, entry.expiration, now=now)
            except BadAnnouncementError as error:
                log.debug("dropped an announcement of %.60r: %s", subkey, error)
                num_dropped += 1
                continue
            old = seen.get(new.value.peer_id)
            if old is not None and new.sequence < old.sequence:
                num_dropped += 1
            else:
                seen[new.value.peer_id] = new
        for peer in [peer for peer, announcement in seen.items() if announcement.expiration <= now]:
            del seen[peer]
        return num_dropped

    def _newest(self, kind: Kind, of: type[Announced]) -> dict[PeerId, Announced]:
        return {peer: seen.value for peer, seen in self._seen[kind].items() if isinstance(seen.value, of)}

    async def _store(self, kind: Kind, fields: Mapping[str, object]) -> None:
        if self._identity is None:
            raise ValueError("announcing needs an identity")
        now = self._clock()
        end = max(now + kind.ttl_s, self._ends.get(kind, 0.0) + _MIN_STEP_S)
        value = seal(self._swarm, self._identity, kind, fields, sequence=now, expiration=end)
        self._ends[kind] = end
        if not await self._host.store(kind.key(self._swarm), self._identity.peer_id, value, expiration=end):
            raise NetworkError("the swarm's directory did not take this server's announcement")

    async def _store_stock(self) -> None:
        """Write the block keys of an open swarm, for peers that know no other."""
        if not self._swarm.is_open or self._record is None or self._heartbeat is None:
            return
        value = stock_server_value(self._record, self._heartbeat)
        self._stock_end = max(self._clock() + STOCK_TTL_S, self._stock_end + _MIN_STEP_S)
        peer, span = self._record.peer_id, self._record.span
        await asyncio.gather(
            *(
                self._host.store(f"{self._swarm.prefix}.{block}", peer, value, expiration=self._stock_end)
                for block in span
            )
        )
