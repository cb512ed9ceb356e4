"""A model whose blocks are at real engines on the fake network, all in the client's own event loop."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from typing import Any

from helpers.client_world import PATIENT, World
from helpers.engine_peers import Server, load, serve
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.golden import CHECKPOINT
from helpers.server_records import beat_of, record_of

from potluck.client.config import ClientConfig
from potluck.directory.directory import HEARTBEAT_INTERVAL_S, Directory
from potluck.membership.membership import Membership
from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, Span, each_peer_a_person
from potluck.protocol.swarm import Swarm

SWARM = Swarm(name="golden", model="golden", num_blocks=4, prefix="golden", founder_key=bytes(32))
WATCHFUL = replace(PATIENT, silence_before_ping_s=1.0)  # for lost pushes; a busy server is rarely silent for so long


class Ringed(World):
    """A model whose blocks are at real engines."""

    servers: list[Server]  # type: ignore[assignment]

    def servers_of(self, peers: Sequence[PeerId]) -> list[Server]:  # type: ignore[override]
        by_id = {server.host.peer_id: server for server in self.servers}
        return [by_id[peer] for peer in peers]

    async def _start(self, membership: Membership, config: ClientConfig) -> Host:
        stack, self.network = AsyncExitStack(), FakeNetwork()
        self.client._parts.push_async_callback(stack.aclose)  # whoever closes the model
        for span in self._spans:
            blocks = load(span)
            server = await stack.enter_async_context(serve(self.network, blocks=blocks, swarm=SWARM))
            self.servers.append(server)
            await _announce(server.host, span, blocks.digests)
        return self.network.start()

    async def kill(self, position: int) -> None:
        """End the server that is at this place of the route."""
        self.serving()[position].host.kill()  # type: ignore[attr-defined]


async def _announce(host: FakeHost, span: Span, digests: tuple[str, ...]) -> None:
    told: dict[str, Any] = {"block_digests": digests, "inference_tps": 0.01, "packing_error": 0.008}
    directory = Directory(host, SWARM, host.identity)
    await directory.announce(record_of(host.peer_id, span.start, span.end, **told))

    async def stay_listed() -> None:
        while True:
            await directory.heartbeat(beat_of(host.peer_id, cache_tokens_left=100_000))
            await asyncio.sleep(HEARTBEAT_INTERVAL_S)

    host.spawn(stay_listed())
    await asyncio.sleep(0)


@contextmanager
def ringed(*spans: str, config: ClientConfig = PATIENT) -> Iterator[Ringed]:
    made = Ringed(CHECKPOINT, SWARM, [Span.parse(span) for span in spans], config, each_peer_a_person)
    try:
        yield made
    finally:
        made.client.close()
