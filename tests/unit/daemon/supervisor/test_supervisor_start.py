"""How the supervisor starts an engine: in which interpreter, and ahead of what it is to serve."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from potluck_control.places import Places
from potluck_control.processes.engine_messages import Launch, Stop, decode
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_control.settings import Settings
from potluck_daemon.policy.model import EngineOrder, Phase
from potluck_daemon.settings.configuration import launch_of
from potluck_daemon.supervisor.supervisor import STOP_TIMEOUT_S, Supervisor

from potluck.membership.membership import Membership
from potluck.protocol.swarm import new_swarm
from potluck.sentences import NOTHING

GREETS_AND_READS = """
import os, socket, sys
from pathlib import Path
from potluck_control.processes.engine_messages import Hello, encode
(pipe,) = [socket.socket(fileno=int(word[7:])) for word in sys.argv if word.startswith("--pipe=")]
pipe.sendall(encode(Hello(pid=os.getpid())))
lines = pipe.makefile("rb")
for number in range(2):
    Path(f"{sys.argv[1]}-{number}").write_bytes(lines.readline())
"""


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def launch(tmp_path: Path) -> LaunchSpec:
    membership = Membership(new_swarm("home", "demo-model", 4, "local"))
    return launch_of(Settings(), membership, Places(tmp_path, tmp_path, tmp_path, tmp_path), 0)


async def test_another_interpreter_ends_the_engine_and_does_not_wait_for_what_failed_in_the_old_one(
    tmp_path: Path, launch: LaunchSpec
) -> None:
    changed = asyncio.Event()
    supervisor = Supervisor(changed.set)
    old, new = program(tmp_path / "old", "read line"), program(tmp_path / "new", "exit 1")
    supervisor.obey(EngineOrder.START, launch, old, {})
    assert not supervisor.view(launch, old).is_outdated
    assert supervisor.view(launch, new).is_outdated
    await supervisor.close()
    supervisor.obey(EngineOrder.START, launch, new, {})
    async with asyncio.timeout(60):
        while supervisor.view(launch, new).phase is not Phase.ENDED:
            await changed.wait()
            changed.clear()
    assert supervisor.view(launch, new).retry_at is not None
    assert supervisor.view(launch, old).retry_at is None


async def test_a_prepared_engine_is_the_one_that_is_told_what_to_serve(tmp_path: Path, launch: LaunchSpec) -> None:
    changed, first, last = asyncio.Event(), tmp_path / "told-0", tmp_path / "told-1"
    supervisor = Supervisor(changed.set)
    stand_in = tmp_path / "stand_in.py"
    stand_in.write_text(GREETS_AND_READS)
    python = program(tmp_path / "python", f"exec {sys.executable} {stand_in} {tmp_path}/told $*")
    supervisor.obey(EngineOrder.PREPARE, None, python, dict(os.environ))
    supervisor.obey(EngineOrder.PREPARE, None, python, dict(os.environ))
    assert supervisor.view(None, python).phase is Phase.PREPARING
    async with asyncio.timeout(60):
        while supervisor.pid is None:  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.01)
        prepared = supervisor.pid
        supervisor.obey(EngineOrder.START, launch, python, dict(os.environ))
        assert supervisor.view(launch, python).phase is Phase.STARTING
        while not first.exists() or not first.read_text().endswith("\n"):  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.01)
    assert decode(first.read_bytes()) == Launch(launch)
    assert supervisor.pid == prepared
    await supervisor.close()
    assert decode(last.read_bytes()) == Stop()


@pytest.mark.parametrize("order", [EngineOrder.PREPARE, EngineOrder.START])
async def test_an_engine_that_still_imports_ends_at_once_and_without_a_failure(
    tmp_path: Path, launch: LaunchSpec, order: EngineOrder
) -> None:
    supervisor, python = Supervisor(lambda: None), program(tmp_path / "python", "exec sleep 600")
    supervisor.obey(order, launch, python, dict(os.environ))
    async with asyncio.timeout(60):
        while supervisor.pid is None:  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.01)
    supervisor.obey(EngineOrder.STOP, None, python, {})
    await supervisor.stop(STOP_TIMEOUT_S / 2)
    ended = supervisor.view(launch, python)
    assert (ended.phase, ended.failure, ended.retry_at) == (Phase.ENDED, NOTHING, None)
