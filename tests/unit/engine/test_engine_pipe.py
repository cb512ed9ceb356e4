"""The engine's end of the pipe to its daemon."""

import socket
from asyncio import Event
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest
from helpers.engine_peers import SWARM
from helpers.launches import launch_of
from potluck_control.processes import engine_messages
from potluck_engine import engine_process
from potluck_engine.daemon_pipe import DaemonPipe

from potluck.membership.membership import Membership

EARLY = (engine_messages.Worth(()), engine_messages.MemberRecords(()))


@pytest.mark.parametrize("before", [(), EARLY], ids=["at once", "after other messages"])
@pytest.mark.parametrize("ends", ["launched", "stopped", "gone"])
async def test_a_child_waits_for_its_launch_whatever_is_said_before(
    tmp_path: Path, before: Sequence[engine_messages.Said], ends: str
) -> None:
    ours, theirs = socket.socketpair()
    child = await DaemonPipe.open(theirs.detach())
    launch = launch_of("checkpoint", tmp_path, Membership(SWARM), blocks="0:2")
    last = {"launched": (engine_messages.Launch(launch),), "stopped": (engine_messages.Stop(),), "gone": ()}[ends]
    ours.sendall(b"".join(map(engine_messages.encode, (*before, *last))))
    ours.close()
    found = await child.launch()
    child.close()
    assert (found is None) if ends != "launched" else (found is not None and found.serve.blocks == "0:2")


@pytest.mark.parametrize(
    ("is_idle", "has_left", "is_at_once"), [(True, True, True), (True, False, False), (False, True, False)]
)
async def test_an_idle_engine_ends_at_once_when_the_swarm_knows(
    is_idle: bool, has_left: bool, is_at_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[bool] = []
    engine = Mock(is_idle=is_idle, is_between=False, wait_lost=Event().wait, start=Event().wait)
    engine.leave, engine.stop = AsyncMock(return_value=has_left), AsyncMock()
    monkeypatch.setattr(engine_process, "exit_now", lambda: ends.append(True))
    assert await _forced(engine, tmp_path, monkeypatch) == [None]
    assert bool(ends) is is_at_once
    engine.stop.assert_awaited()  # here the process goes on


@pytest.mark.parametrize("is_between", [True, False])
async def test_an_engine_in_the_middle_of_a_load_ends_within_seconds_of_its_stop(
    is_between: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the compilation of a kernel while a game waits; sessions get more time."""
    engine = Mock(is_between=is_between, is_idle=False, wait_lost=Event().wait, start=Event().wait, stop=AsyncMock())
    assert await _forced(engine, tmp_path, monkeypatch) == ([2.0, None] if is_between else [None])
    engine.stop.assert_awaited()


async def _forced(engine: Mock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """Launch an engine and say Stop. Return the times after which it ends by force."""
    forced: list[float | None] = []
    monkeypatch.setattr(engine_process, "Engine", lambda *_, **__: engine)
    monkeypatch.setattr(engine_process, "EngineReporter", lambda *_: Mock(watch_coverage=Event().wait))
    monkeypatch.setattr(engine_process, "resolve_spec", lambda spec: spec)
    monkeypatch.setattr(engine_process, "exit_soon", lambda after_s=None: forced.append(after_s))
    ours, theirs = socket.socketpair()
    daemon = await DaemonPipe.open(theirs.detach())
    ours.sendall(engine_messages.encode(engine_messages.Launch(launch_of("checkpoint", tmp_path, Membership(SWARM)))))
    ours.sendall(engine_messages.encode(engine_messages.Stop()))
    await engine_process._Child(daemon).work()
    daemon.close()
    ours.close()
    return forced
