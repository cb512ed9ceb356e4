"""An engine as a process, with a real p2pd on loopback: serving, leaving, losing clients, its p2pd."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import torch
from helpers.engine_peers import CHECKPOINT, hidden_states, load

from potluck.blocks.pages import PAGE_TOKENS
from potluck.directory import Directory, record_checks
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, encode_invite
from potluck.p2p.config import HostConfig
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.messages import Caller, SessionOpening, StepReply, StepRequest
from potluck.protocol.records import LiveServer, ServerState
from potluck.protocol.swarm import Swarm
from potluck.wire import protocols, sessions
from potluck.wire.questions import decode_info

WAIT_S = 120.0
SPAN = Span(0, 4)
PROGRAM = Path(__file__).parents[1] / "helpers" / "engine_process.py"


@dataclass(slots=True)
class Process:
    """A child that prints JSON lines."""

    child: asyncio.subprocess.Process
    events: list[dict[str, str]] = field(default_factory=list)

    async def event(self, *names: str) -> dict[str, str]:
        """The next event of one of these kinds; fails if the child ends without."""
        assert self.child.stdout is not None
        async with asyncio.timeout(WAIT_S):
            while line := await self.child.stdout.readline():
                self.events.append(json.loads(line))
                if self.events[-1]["event"] in names:
                    return self.events[-1]
        raise AssertionError(f"ended after {[event['event'] for event in self.events]}")

    async def ended(self) -> int:
        async with asyncio.timeout(WAIT_S):
            assert self.child.stdout is not None
            async for line in self.child.stdout:
                self.events.append(json.loads(line))
            return await self.child.wait()


class World:
    """A private swarm with one node, from which engines are started and seen."""

    def __init__(self, folder: Path) -> None:
        self.runtime_dir = folder / "engines"
        self._own_dir = folder / "nodes"
        self.swarm = Swarm("test", "test", num_blocks=4, prefix="test")

    async def start(self) -> None:
        checks = record_checks(self.swarm, time.time)
        self.host = await Libp2pHost.start(HostConfig(record_checks=checks, runtime_dir=self._own_dir))
        addrs = await self.host.addresses()
        self.swarm = Swarm("test", "test", 4, "test", bootstrap_peers=addrs)

    async def node(self) -> Libp2pHost:
        config = HostConfig(bootstrap_peers=self.swarm.bootstrap_peers, dht_client=True, runtime_dir=self._own_dir)
        return await Libp2pHost.start(config)

    async def servers(self) -> tuple[LiveServer, ...]:
        return (await Directory(self.host, self.swarm).fetch()).servers

    def options(self, **changes: object) -> str:
        options = {
            "invite": encode_invite(Invite(self.swarm)),
            "checkpoint": str(CHECKPOINT),
            "runtime_dir": str(self.runtime_dir),
            "span": str(SPAN),
        }
        return json.dumps(options | changes)

    @asynccontextmanager
    async def engine(self, *wrapper: str, **changes: object) -> AsyncIterator[Process]:
        child = await asyncio.create_subprocess_exec(
            *wrapper, sys.executable, str(PROGRAM), self.options(**changes), stdout=asyncio.subprocess.PIPE
        )
        process = Process(child)
        try:
            yield process
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()

    def leftovers(self) -> list[Path]:
        return list(self.runtime_dir.iterdir()) if self.runtime_dir.exists() else []


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path("/tmp") / f"potluck-engine-{os.getpid()}"  # pytest's own folders are too deep for Unix sockets
    path.mkdir(mode=0o700)
    yield path
    shutil.rmtree(path)


@pytest.fixture
async def world(folder: Path) -> AsyncIterator[World]:
    world = World(folder)
    await world.start()
    yield world
    await world.host.close()


class Session:
    """One inference stream of `host`."""

    def __init__(self, world: World, host: Libp2pHost, peer: PeerId, stream: Stream) -> None:
        self._opening: SessionOpening | None = SessionOpening("test", SPAN, 64, exact=True, caller=Caller())
        self._stream = stream

    @classmethod
    async def open(cls, world: World, host: Libp2pHost, peer: PeerId) -> Session:
        stream = await host.open_stream(peer, protocols.SESSION, timeout_s=WAIT_S, max_frame_bytes=1 << 20)
        return cls(world, host, peer, stream)

    async def step(self, hidden: torch.Tensor, start_from_position: int | None = None) -> StepReply:
        request = StepRequest(hidden, self._opening, start_from_position=start_from_position)
        self._opening = None
        await self._stream.send(*sessions.encode_step(request))
        body = await self._stream.receive(timeout_s=WAIT_S)
        assert body is not None
        return sessions.decode_step_reply(body, like=tuple(hidden.shape))


async def free_tokens(host: Libp2pHost, peer: PeerId) -> int:
    return decode_info(await host.call(peer, protocols.INFO, b"", timeout_s=WAIT_S)).free_tokens


async def test_engine_serves_survives_its_clients_and_leaves_nothing(world):
    async with world.engine() as engine:
        online = await engine.event("Online", "Failed")
        assert online["event"] == "Online"
        peer = PeerId(online["peer_id"])
        (server,) = await world.servers()
        assert (server.peer_id, server.heartbeat.state) == (peer, ServerState.ONLINE)
        family = psutil.Process(engine.child.pid).children(recursive=True)
        assert [process.name() for process in family] == ["p2pd"]

        hidden, token = hidden_states(1, 6), hidden_states(1, 1, seed=1)
        local, session = load(SPAN), await Session.open(world, world.host, peer)
        cache = local.new_cache()
        with torch.inference_mode():
            assert torch.equal((await session.step(hidden)).hidden, local.forward(hidden, cache))
            assert torch.equal((await session.step(token)).hidden, local.forward(token, cache))
            cache.crop(4)
            assert torch.equal((await session.step(token, start_from_position=4)).hidden, local.forward(token, cache))

        free = await free_tokens(world.host, peer)
        doomed = await world.node()
        victim = await Session.open(world, doomed, peer)
        await victim.step(hidden)
        assert await free_tokens(world.host, peer) == free - PAGE_TOKENS
        os.kill(doomed.p2pd_pid, signal.SIGKILL)
        async with asyncio.timeout(WAIT_S):
            while await free_tokens(world.host, peer) != free:  # polls by asking: no sleep
                pass
        await doomed.close()
        await session.step(token)

        engine.child.send_signal(signal.SIGTERM)
        assert await engine.ended() == 0
        assert engine.events[-1]["event"] == "Offline"
        assert await world.servers() == ()
        assert world.leftovers() == []
        assert psutil.wait_procs(family, timeout=WAIT_S)[1] == []


async def test_engine_fails_with_a_reason_when_its_p2pd_dies(world):
    async with world.engine() as engine:
        await engine.event("Online")
        (p2pd,) = psutil.Process(engine.child.pid).children(recursive=True)
        p2pd.kill()
        assert await engine.ended() == 1
        assert engine.events[-1]["event"] == "Failed"
        assert world.leftovers() == []


async def test_engine_asked_to_stop_while_it_starts_stops_at_once(world):
    async with world.engine() as engine:
        await engine.event("Starting")
        engine.child.send_signal(signal.SIGTERM)
        assert await engine.ended() == 0
        assert world.leftovers() == []


async def test_engine_without_a_bootstrap_peer_that_answers_says_so_and_keeps_trying(world):
    nobody = f"/ip4/127.0.0.1/tcp/9/p2p/{Identity.generate().peer_id}"
    world.swarm = Swarm("test", "test", 4, "test", bootstrap_peers=(nobody,))
    async with world.engine() as engine:
        waiting = await engine.event("Waiting")
        assert "bootstrap" in waiting["why"]
        engine.child.send_signal(signal.SIGTERM)
        assert await engine.ended() == 0
        assert world.leftovers() == []
