"""Everything that an open swarm needs of this package."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from potluck.p2p.network import DhtKey, DhtSubkey, DhtValue, Host
from potluck.petals import names
from potluck.petals.records import TTL_S, block_keys, read_stock_servers, stock_server_value
from potluck.protocol.blocks import PeerId
from potluck.protocol.records import Heartbeat, LiveServer, ServerRecord
from potluck.protocol.swarm import Swarm

if TYPE_CHECKING:  # torch, which a reader of the directory does without
    from potluck.petals.server import EngineCalls
    from potluck.protocol.messages import TensorReply
    from potluck.wire.calls import CallRequest
    from potluck.wire.sessions import SessionCoding

_MIN_STEP_S = 1e-3  # the DHT takes only a strictly later end


class PetalsPeers:
    """The peers of one open swarm that run Petals."""

    session_protocol = names.INFERENCE

    def __init__(self, swarm: Swarm) -> None:
        self.dht_keys = block_keys(swarm)
        self._swarm = swarm
        self._announced_until = 0.0

    @property
    def session_coding(self) -> SessionCoding:
        from potluck.petals import sessions

        return sessions

    def read_servers(self, found: Mapping[DhtKey, Mapping[DhtSubkey, DhtValue]], *, now: float) -> list[LiveServer]:
        return read_stock_servers(self._swarm, found, now=now)

    async def announce(self, host: Host, record: ServerRecord, heartbeat: Heartbeat, *, now: float) -> None:
        """Write the keys of the blocks that one of our servers holds."""
        value = stock_server_value(record, heartbeat)
        self._announced_until = max(now + TTL_S, self._announced_until + _MIN_STEP_S)
        keys = (f"{self._swarm.prefix}.{block}" for block in record.span)
        end = self._announced_until
        await asyncio.gather(*(host.store(key, record.peer_id, value, expiration=end) for key in keys))

    async def call(self, host: Host, peer: PeerId, request: CallRequest, *, timeout_s: float) -> TensorReply:
        """Compute at a server that runs Petals. Raises RemoteError."""
        from potluck.petals.calls import call

        return await call(host, peer, request, timeout_s=timeout_s)

    async def serve(self, host: Host, engine: EngineCalls) -> None:
        """Answer Petals' calls with what `engine` computes."""
        from potluck.petals.server import PetalsHandlers

        await PetalsHandlers(host, engine).register()
