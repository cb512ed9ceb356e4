"""An engine as a process, with a real p2pd on loopback: serving, leaving, losing clients, its p2pd."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
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
from tests.helpers.fork_server import start_python

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAIT_S = 120.0
SPAN = Span(0, 4)
PROGRAM = Path(__file__).parents[1] / "helpers" / "engine_process.py"


@dataclass(slots=True)
class Process:
    """A child that prints JSON lines."""

    child: subprocess.Popen[str]
    events: list[dict[str, str]] = field(default_factory=list)

    async def event(self, *names: str) -> dict[str, str]:
        """The next event of one of these kinds; fails if the child ends without."""
        while await self._reads_another():
            if self.events[-1]["event"] in names:
                return self.events[-1]
        raise AssertionError(f"ended after {[event['event'] for event in self.events]}")

    async def ended(self) -> int:
        while await self._reads_another():
            pass
        return self.child.wait(WAIT_S)

    async def _reads_another(self) -> bool:
        assert self.child.stdout is not None
        async with asyncio.timeout(WAIT_S):
            line = await asyncio.to_thread(self.child.stdout.readline)
        if line:
            self.events.append(json.loads(line))
        return bool(line)


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

    @contextmanager
    def engine(self, **changes: object) -> Iterator[Process]:
        child = start_python([str(PROGRAM), self.options(**changes)], stdout=subprocess.PIPE, text=True)
        with child:
            try:
                yield Process(child)
            finally:
                child.kill()

    def leftovers(self) -> list[Path]:
        return list(self.runtime_dir.iterdir()) if self.runtime_dir.exists() else []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[World]:
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:  # sockets need a short path
        world = World(Path(folder))
        await world.start()
        yield world
        await world.host.close()


class Session:
    """One inference stream."""

    def __init__(self, stream: Stream) -> None:
        self._opening: SessionOpening | None = SessionOpening("test", SPAN, 64, exact=True, caller=Caller())
        self._stream = stream

    @classmethod
    async def open(cls, host: Libp2pHost, peer: PeerId) -> Session:
        return cls(await host.open_stream(peer, protocols.SESSION, timeout_s=WAIT_S, max_frame_bytes=1 << 20))

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
    with world.engine() as engine:
        online = await engine.event("Online", "Failed")
        assert online["event"] == "Online"
        peer = PeerId(online["peer_id"])
        (server,) = await world.servers()
        assert (server.peer_id, server.heartbeat.state) == (peer, ServerState.ONLINE)
        family = psutil.Process(engine.child.pid).children(recursive=True)
        assert [process.name() for process in family] == ["p2pd"]

        hidden, token = hidden_states(1, 6), hidden_states(1, 1, seed=1)
        local, session = load(SPAN), await Session.open(world.host, peer)
        cache = local.new_cache()
        with torch.inference_mode():
            assert torch.equal((await session.step(hidden)).hidden, local.forward(hidden, cache))
            assert torch.equal((await session.step(token)).hidden, local.forward(token, cache))
            cache.crop(4)
            assert torch.equal((await session.step(token, start_from_position=4)).hidden, local.forward(token, cache))

        free = await free_tokens(world.host, peer)
        doomed = await world.node()
        victim = await Session.open(doomed, peer)
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
    with world.engine() as engine:
        await engine.event("Online")
        (p2pd,) = psutil.Process(engine.child.pid).children(recursive=True)
        p2pd.kill()
        assert await engine.ended() == 1
        assert engine.events[-1]["event"] == "Failed"
        assert world.leftovers() == []


async def test_engine_asked_to_stop_while_it_starts_or_waits_for_a_bootstrap_peer_stops_at_once(world):
    nobody = Swarm(
        "test", "test", 4, "test", bootstrap_peers=(f"/ip4/127.0.0.1/tcp/9/p2p/{Identity.generate().peer_id}",)
    )
    for swarm, event in ((world.swarm, "Starting"), (nobody, "Waiting")):
        with world.engine(invite=encode_invite(Invite(swarm))) as engine:
            found = await engine.event(event)
            assert "bootstrap" in found.get("why", "bootstrap")
            engine.child.send_signal(signal.SIGTERM)
            assert await engine.ended() == 0
            assert world.leftovers() == []
