"""An engine's life on the fake network: what the swarm sees, in which order, and how it fails."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.engine_peers import SWARM
from helpers.lone_engine import SPAN, Machine
from potluck_control.processes.engine_messages import Joining, Measured, Offline, Online, Placed, Starting
from potluck_control.processes.launch_spec import ServingLimits

from potluck.directory.directory import Directory
from potluck.errors import CheckpointError, PotluckError, UsageError
from potluck.membership.membership import Membership
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.records import LiveServer, ServerState


async def seen(machine: Machine) -> tuple[LiveServer, ...]:
    """Return the servers that others find in the directory."""
    return await Directory(machine.network.start(), SWARM).fetch()


async def test_engine_is_announced_while_it_serves_and_gone_afterwards(tmp_path: Path) -> None:
    machine = Machine(tmp_path, name="me")
    async with machine.engine as engine:
        (server,) = await seen(machine)
        assert (server.span, server.heartbeat.state) == (SPAN, ServerState.ONLINE)
        assert server.record.public_name == "me"
        assert server.record.block_digests == engine.service.blocks.whole.digests
        assert server.record.inference_tps > 0
        assert 0.001 < (server.record.packing_error or 0) < 0.02  # measured on its own blocks
        assert server.heartbeat.cache_tokens_left >= ServingLimits().cache_tokens
    assert not await seen(machine)
    assert [type(event) for event in machine.events] == [Starting, Joining, Placed, Measured, Online, Offline]
    assert machine.host.is_dead


async def test_engine_answers_as_soon_as_it_says_online_and_tells_sessions_that_it_stops(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with machine.engine as engine:
        client = await machine.begin(tokens=2)
        assert machine.output.shape == (2, 2, 64)
        await engine.stop()
        with pytest.raises(RemoteError) as told:
            await client.stream.receive(timeout_s=60)
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
async def test_engine_that_cannot_start_says_why_and_leaves_nothing(
    tmp_path: Path, change: dict[str, Any], error: type[PotluckError]
) -> None:
    machine = Machine(tmp_path, **change)
    with pytest.raises(error) as failed:
        await machine.engine.start()
    assert failed.value.message
    assert list(machine.network.nodes.values()) == [machine.client]
    assert not await seen(machine)
