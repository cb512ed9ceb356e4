"""The doctor and the bundle over a real socket."""

import asyncio
import zipfile
from pathlib import Path

import pytest
from helpers.own_daemon import Ask, ask_until
from potluck_control.api.client import ControlError
from potluck_control.methods import health
from potluck_control.methods.health import Finding, Severity
from potluck_daemon.daemon import Daemon
from potluck_daemon.doctor import checks
from potluck_daemon.topics.topic import Topic
from potluck_daemon.topics.updates import UpdatesTopic

from potluck.sentences import verbatim


async def test_findings_come_one_check_after_the_other(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    second, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait(_: object) -> None:
        loop.call_soon_threadsafe(second.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(60)

    fine = (Severity.OK, verbatim("fine"))
    one, two = (Finding(verbatim(question), *fine) for question in ("One?", "Two?"))
    made = ((one.check, lambda _: None, lambda *_: fine), (two.check, wait, lambda *_: fine))
    monkeypatch.setattr(checks, "CHECKS", made)
    assert await ask(health.FINDINGS) == health.Examination()
    assert (await ask(health.EXAMINE)).is_running
    await second.wait()
    now = await ask(health.EXAMINE)  # one that runs is not begun anew
    assert (now.findings, now.num_checks, now.is_running) == ((one,), 2, True)
    go_on.set()
    done = await ask_until(ask, health.FINDINGS, lambda now: not now.is_running)
    assert done.findings == (one, two)


async def test_the_bundle_is_private_and_overwrites_nothing(
    ask: Ask, daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "CHECKS", ())
    path = tmp_path / "bundle.zip"
    done = await ask(health.EXPORT, health.BundleParams(str(path)))
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as file:
        assert tuple(file.namelist()) == done.parts
        assert "status.json" in done.parts
    with pytest.raises(ControlError, match="already"):
        await ask(health.EXPORT, health.BundleParams(str(path)))
    with pytest.raises(ControlError, match="cannot use"):
        await ask(health.EXPORT, health.BundleParams(str(tmp_path / "none" / "bundle.zip")))


async def test_a_topic_that_fails_in_its_turn_does_not_take_that_of_the_others(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[str] = []

    def fail(self: Topic, now: float) -> None:
        raise OSError("no room")

    monkeypatch.setattr(Topic, "tick", fail)
    monkeypatch.setattr(UpdatesTopic, "tick", lambda self, now: turns.append("updates"))
    with pytest.raises(OSError, match="no room"):
        await daemon._tick()
    assert turns == ["updates"]
