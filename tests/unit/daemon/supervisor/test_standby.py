"""The standby node's life, with a small program in its place."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from potluck_control.processes import engine_messages
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_daemon.supervisor.standby import Standby

from potluck.membership.membership import Membership
from potluck.protocol.swarm import Swarm

LAUNCH = LaunchSpec(Membership(Swarm("s", "m", 4, "s")), "/m", Path("/run"))
_PROGRAM = """
import json, os, socket, sys
pipe = socket.socket(fileno=int(next(a for a in sys.argv if a.startswith("--pipe=")).partition("=")[2]))
lines = pipe.makefile("rw")
def say(kind, **fields):
    lines.write(json.dumps({"kind": kind, **fields}) + "\\n")
    lines.flush()
say("Hello", pid=os.getpid(), version=int(sys.argv[1]))
for line in lines:
    message = json.loads(line)
    if message["kind"] == "Launch":
        say("Members", records=[])
        say("Reachable", peer_id="12D3", addresses=[str(os.getpid())])
    elif message["kind"] == "Members":
        sys.exit(3)
    elif message["kind"] == "Stop":
        break
"""


def command(version: int = engine_messages.PIPE_VERSION) -> list[str]:
    return [sys.executable, "-c", _PROGRAM, str(version)]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  # of another process
            await asyncio.sleep(0.01)


async def test_the_node_runs_until_it_leaves_and_is_gone_by_then() -> None:
    learned: list[object] = []
    standby = Standby(lambda launch, message: learned.append(message))
    standby.hold(LAUNCH, command(), os.environ)
    await until(lambda: standby.addresses)
    pid = int(standby.addresses[0])
    standby.hold(LAUNCH, command(), os.environ)  # nothing new
    assert learned[1:] == [engine_messages.MemberRecords(()), engine_messages.StandbyOnline("12D3", standby.addresses)]
    await standby.leave()
    assert not psutil.pid_exists(pid)
    assert standby.addresses == ()
    assert not standby.is_held


async def test_a_node_that_ended_by_itself_is_started_again() -> None:
    standby = Standby(lambda launch, message: None)
    standby.hold(LAUNCH, command(), os.environ)
    await until(lambda: standby.addresses)
    first = standby.addresses
    standby.send(engine_messages.MemberRecords(()))  # at which this program exits
    await until(lambda: standby.addresses not in ((), first))
    await standby.leave()


async def test_a_node_of_another_version_gets_no_launch(caplog: pytest.LogCaptureFixture) -> None:
    standby = Standby(lambda launch, message: None)
    standby.hold(LAUNCH, command(1), os.environ)
    await until(lambda: "of another version (pipe 1," in caplog.text)
    await standby.leave()
    assert standby.addresses == ()
