"""The engine's end of the pipe to its daemon."""

import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.engine_peers import SWARM
from potluck_control import engine_messages as messages
from potluck_control.launch_spec import LaunchSpec
from potluck_engine.daemon_pipe import DaemonPipe

from potluck.membership.membership import Membership

EARLY = (messages.Worth(()), messages.Members(()))


@pytest.mark.parametrize("before", [(), EARLY], ids=["at once", "after other messages"])
@pytest.mark.parametrize("ends", ["launched", "stopped", "gone"])
async def test_a_child_waits_for_its_launch_whatever_is_said_before(
    tmp_path: Path, before: Sequence[messages.Message], ends: str
) -> None:
    ours, theirs = socket.socketpair()
    pipe = await DaemonPipe.open(theirs.detach())
    launch = LaunchSpec(Membership(SWARM), "checkpoint", tmp_path, "0:2")
    last = {"launched": (launch,), "stopped": (messages.Stop(),), "gone": ()}[ends]
    ours.sendall(b"".join(map(messages.encode, (*before, *last))))
    ours.close()
    found = await pipe.launch()
    pipe.close()
    assert (found is None) if ends != "launched" else (found is not None and found.blocks == "0:2")
