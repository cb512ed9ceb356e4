"""The directory between real nodes: what one server announces all know, and one that dies is gone before its time."""

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from helpers.directory_swarm import PATIENCE_S, SWARM, until
from helpers.server_records import beat_of, record_of

from potluck.directory import Directory, record_checks
from potluck.directory.seal import Kind
from potluck.p2p.config import HostConfig
from potluck.p2p.libp2p import Libp2pHost
from potluck.protocol.blocks import Span

pytestmark = pytest.mark.asyncio(loop_scope="module")
Server = tuple[Libp2pHost, Directory]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def nodes() -> AsyncIterator[tuple[list[Server], Libp2pHost]]:
    """Three servers with blocks 0:4, and a client."""
    with tempfile.TemporaryDirectory(prefix="pl-") as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kind.HEARTBEAT, "ttl_s", 250.0)  # longer than anything here may take
        checks, folder = record_checks(SWARM, time.time), Path(name)  # sockets need a short path
        first = await Libp2pHost.start(HostConfig(record_checks=checks, runtime_dir=folder))
        known = HostConfig(bootstrap_peers=await first.addresses(), record_checks=checks, runtime_dir=folder)
        hosts = [first, *await asyncio.gather(*(Libp2pHost.start(known) for _ in range(2)))]
        stranger = HostConfig(bootstrap_peers=known.bootstrap_peers, dht_client=True, runtime_dir=folder)
        client = await Libp2pHost.start(stranger)
        servers = [(host, Directory(host, SWARM, host.identity)) for host in hosts]
        for host, directory in servers:
            await directory.start_gossip()
            await directory.announce(record_of(host.peer_id, 0, 4))
            await directory.heartbeat(beat_of(host.peer_id))
        yield servers, client
        for _, directory in servers:
            await directory.stop()
        for host in (client, *reversed(hosts)):
            await host.close()


def spans(directory: Directory) -> dict[str, Span]:
    return {server.peer_id: server.span for server in directory.table.live(time.time())}


async def test_news_and_failures_reach_servers_and_readers(nodes: tuple[list[Server], Libp2pHost]) -> None:
    servers, client = nodes
    reader = Directory(client, SWARM)
    await until(lambda: all(len(spans(directory)) == 3 for _, directory in servers))
    assert len((await reader.fetch()).servers) == 3

    host, directory = servers[1]
    await directory.announce(record_of(host.peer_id, 4, 8))
    await directory.heartbeat(beat_of(host.peer_id, links_mbps={client.peer_id: 5.0}))
    await until(lambda: all(spans(other)[host.peer_id] == Span(4, 8) for _, other in servers))
    assert {item.peer_id: item.span for item in (await reader.fetch()).servers}[host.peer_id] == Span(4, 8)

    victim, dying = servers.pop()
    await dying.stop()
    assert victim.p2pd_pid is not None
    os.kill(victim.p2pd_pid, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE_S):
        while any(victim.peer_id in spans(other) for _, other in servers):
            for host, other in servers:  # as servers do: their news reach all of a small swarm, and find who is gone
                await other.heartbeat(beat_of(host.peer_id))
            await asyncio.sleep(0.5)
    beats = [other.table.get(Kind.HEARTBEAT, victim.peer_id) for _, other in servers]
    assert all(beat is not None and beat.expiration > time.time() for beat in beats), "it was its time"
    seen = {item.peer_id for item in (await reader.fetch()).servers}
    assert victim.peer_id in seen, "a reader believes nobody about another"
