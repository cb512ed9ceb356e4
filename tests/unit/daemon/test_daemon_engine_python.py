"""The interpreter of an engine is a part of what it was started for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from potluck_daemon.policy import Order, Phase
from potluck_daemon.settings.places import Places
from potluck_daemon.settings.schema import Settings
from potluck_daemon.supervisor.messages import Launch
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.wanted import _launch

from potluck.protocol.invite import new_swarm
from potluck.protocol.swarm import Swarm


def program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    swarm: Swarm = new_swarm("home", "demo-model", 4, "local")
    return _launch(Settings(), swarm, Places(tmp_path, tmp_path, tmp_path, tmp_path), 0)


async def test_another_interpreter_ends_the_engine_and_does_not_wait_for_what_failed_in_the_old_one(
    tmp_path: Path, launch: Launch
) -> None:
    changed = asyncio.Event()
    supervisor = Supervisor(changed.set, lambda message: None)
    old, new = program(tmp_path / "old", "read line"), program(tmp_path / "new", "exit 1")
    supervisor.obey(Order.START, launch, old, {})
    assert not supervisor.view("m", launch, old).is_outdated
    assert supervisor.view("m", launch, new).is_outdated
    await supervisor.close()
    supervisor.obey(Order.START, launch, new, {})
    async with asyncio.timeout(60):
        while supervisor.view("m", launch, new).phase is not Phase.ENDED:
            await changed.wait()
            changed.clear()
    assert supervisor.view("m", launch, new).retry_at is not None
    assert supervisor.view("m", launch, old).retry_at is None
