"""An engine's life on the fake network: what the swarm sees, in which order, and how it fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.engine_peers import CHECKPOINT, SWARM, Client, hidden_states, opening
from helpers.fake_network import FakeHost, FakeNetwork
from potluck_control.engine_messages import EngineEvent, Joining, Loading, Measured, Offline, Online, Placed, Starting
from potluck_control.launch_spec import LaunchSpec
from potluck_engine.server import Engine

from potluck.directory import Directory
from potluck.errors import CheckpointError, UsageError
from potluck.membership.membership import Membership
from potluck.p2p.config import HostConfig
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepRequest
from potluck.protocol.records import ServerState
from potluck.wire import protocols

SPAN = Span(1, 3)
CONFIG = LaunchSpec(
    membership=Membership(SWARM), checkpoint=str(CHECKPOINT), runtime_dir=Path("unused"), blocks="1:3", public_name="me"
)


class Swarm:
    """A fake network, the events of the engine under test, and a reader of the directory."""

    def __init__(self) -> None:
        self.network = FakeNetwork()
        self.events: list[EngineEvent] = []
        self.host: FakeHost | None = None

    async def start_host(self, _: HostConfig) -> FakeHost:
        self.host = self.network.start()
        return self.host

    def engine(self, config: LaunchSpec = CONFIG) -> Engine:
        return Engine(config, self.events.append, start_host=self.start_host)

    async def seen(self) -> dict[Span, ServerState]:
        view = await Directory(self.network.start(), SWARM).fetch()
        return {server.span: server.heartbeat.state for server in view.servers}


@pytest.fixture
def swarm() -> Swarm:
    return Swarm()


async def test_engine_is_announced_while_it_serves_and_gone_afterwards(swarm):
    async with swarm.engine() as engine:
        assert await swarm.seen() == {SPAN: ServerState.ONLINE}
        assert engine.state is not None
        (server,) = (await Directory(swarm.network.start(), SWARM).fetch()).servers
        assert server.record.public_name == "me"
        assert server.record.block_digests == engine.state.blocks.whole.digests
        assert server.record.inference_tps > 0
        assert 0.001 < (server.record.packing_error or 0) < 0.02  # measured on its own blocks
        assert server.heartbeat.cache_tokens_left >= CONFIG.limits.cache_tokens
    assert await swarm.seen() == {}
    assert [type(event) for event in swarm.events] == [Starting, Joining, Loading, Placed, Measured, Online, Offline]
    assert swarm.host.is_dead


async def test_engine_answers_as_soon_as_it_says_online(swarm):
    answers: list[tuple[int, ...]] = []
    async with swarm.engine() as engine:
        host = swarm.network.start()
        stream = await host.open_stream(swarm.host.peer_id, protocols.SESSION, timeout_s=120, max_frame_bytes=1 << 20)
        client = Client(stream)
        answers.append(tuple((await client.step(StepRequest(hidden_states(1, 2), opening(SPAN)))).hidden.shape))
        await engine.stop()
        with pytest.raises(RemoteError) as told:
            await stream.receive(timeout_s=60)
    assert answers == [(1, 2, 64)]
    assert told.value.code is Code.DRAINING


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"blocks": "2:9"}, UsageError),
        ({"blocks": "2-9"}, UsageError),
        ({"checkpoint": "/no/such/folder"}, CheckpointError),
        ({"membership": Membership(replace(SWARM, num_blocks=5))}, CheckpointError),
        ({"dtype": "float8"}, UsageError),
        ({"device": "cuda:77"}, UsageError),
    ],
    ids=["beyond the model", "not a span", "no checkpoint", "another model", "unknown dtype", "no such device"],
)
async def test_engine_that_cannot_start_says_why_and_leaves_nothing(swarm, change, error):
    with pytest.raises(error) as failed:
        await swarm.engine(replace(CONFIG, **change)).start()
    assert failed.value.message
    assert swarm.network.nodes == {}
    assert await swarm.seen() == {}
