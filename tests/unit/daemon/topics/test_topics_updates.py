"""What the daemon says of updates, when it asks by itself, and what it refuses; its child is a script here."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.own_daemon import Ask, ask_until, asking, own_daemon
from potluck_control.api.client import ControlError
from potluck_control.methods import installation as updates
from potluck_control.methods.installation import Problem, WorkProgress
from potluck_control.places import Places
from potluck_daemon.child_process import WorkLine
from potluck_daemon.daemon import Daemon
from potluck_daemon.topics import updates as topic
from potluck_daemon.topics.updates import UpdatesTopic, is_due
from potluck_daemon.updates.publisher import KnownPublisher, NotesFile, UpdateNotes
from potluck_daemon.updates.versions import MAX_STARTS, Trial, Versions

from potluck.protocol.codec import encode
from potluck.sentences import sentence, verbatim

DAY = 86400.0
ASKS = "-P -m potluck_daemon.updates"
KEY = "A" * 43 + "="
CONFIGURED = f'[updates]\nurl = "https://example.org/potluck.json"\nkey = "{KEY}"\n'
SEEN = KnownPublisher(anchor=KEY, key=KEY, issued_at=1_800_000_000, version="99.0", changes=("faster",))


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has the child do this."""
    script = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(script))

    def write(text: str) -> None:
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)

    return write


@pytest.fixture
def calls(tmp_path: Path, python: Callable[[str], None]) -> Callable[[], list[str]]:
    """What the child was called with, a line each; it then has something newer in the notes."""
    called, notes = tmp_path / "called", tmp_path / "state" / "updates.json"
    told = encode(UpdateNotes(SEEN, asked_at=1.0, checked_at=2.0)).decode()
    python(f"echo \"$@\" >>{called}\necho '{told}' >{notes}")

    def read() -> list[str]:
        return called.read_text().splitlines() if called.exists() else []

    return read


@pytest.fixture
async def configured(places: Places, daemon: Daemon) -> None:
    """Name a publisher in the settings."""
    places.settings_file.write_text(CONFIGURED)
    daemon.parts.configuration.reload()


def test_the_publisher_is_asked_once_a_day_and_not_in_the_same_minute() -> None:
    for now, asked_at, due in (
        (10 * DAY, 0.0, True),
        (DAY + 50, 0.0, False),  # the daemon has just been started
        (10 * DAY, 9 * DAY - 101, True),
        (10 * DAY, 9 * DAY - 99, False),  # a day is over, the jitter is not
        (10 * DAY, 9.5 * DAY, False),
        (10 * DAY, 20 * DAY, True),  # a clock that was set back
    ):
        assert is_due(now, asked_at, started_at=DAY, jitter_s=100) is due


async def test_without_a_publisher_nothing_is_asked_and_what_is_missing_is_said(
    ask: Ask, calls: Callable[[], list[str]]
) -> None:
    state = await ask(updates.UPDATES_STATE)
    assert (state.is_configured, state.is_allowed, state.can_install, state.offered) == (False, False, False, None)
    for method in (updates.CHECK_FOR_UPDATE, updates.INSTALL_UPDATE):
        with pytest.raises(ControlError, match="no source of updates") as caught:
            await ask(method)
        assert "updates.url" in str(caught.value.hint)
    assert calls() == []


@pytest.mark.usefixtures("configured")
async def test_a_click_is_a_permission_for_once(
    places: Places, ask: Ask, daemon: Daemon, calls: Callable[[], list[str]]
) -> None:
    state = await ask(updates.CHECK_FOR_UPDATE)
    assert calls() == [ASKS]
    assert state.offered is not None
    assert (state.offered.version, state.offered.changes, state.checked_at) == ("99.0", ("faster",), 2.0)
    assert "Potluck 99.0 is offered" in str(daemon.parts.status().notices[-1])
    with pytest.raises(ControlError, match="updated by the tool that installed it"):
        await ask(updates.INSTALL_UPDATE)
    places.settings_file.write_text(CONFIGURED.replace("AAA", "BBB"))
    daemon.parts.configuration.reload()
    assert (await ask(updates.UPDATES_STATE)).offered is None, "another key signed it"


@pytest.mark.usefixtures("configured")
async def test_a_check_that_fails_is_an_error_with_a_hint_whatever_became_of_it(
    ask: Ask, python: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = encode(WorkLine(problem=Problem(verbatim("cannot fetch: no route"), verbatim("is there a network?"))))
    for does, text in (
        ("", "cannot run"),
        ("exit 1", "the check for updates failed: exit code 1"),
        ("echo 'No module named x' >&2; exit 1", "the check for updates failed: No module named x"),
        (f"echo nonsense; echo '{said.decode()}'; exit 1", "cannot fetch: no route"),
        ("exec sleep 600", "the publisher did not answer within"),
    ):
        if does:
            python(does)
        if "sleep" in does:
            monkeypatch.setattr(topic, "_CHECK_S", 0.2)
        state = await ask(updates.CHECK_FOR_UPDATE)
        assert state.error is not None
        assert text in str(state.error.text)
        assert (bool(state.error.hint), state.progress) == (True, None)
        assert (await ask(updates.UPDATES_STATE)).error == state.error


async def test_the_daemon_asks_by_itself_only_if_it_may(
    places: Places, daemon: Daemon, calls: Callable[[], list[str]]
) -> None:
    for allowed, asked in (("", []), ("check = true\n", [ASKS])):
        places.settings_file.write_text(CONFIGURED + allowed)
        daemon.parts.configuration.reload()
        looked = UpdatesTopic(daemon.parts)
        looked.tick(daemon.parts.started_at + topic._JITTER_S)
        if looked._work is not None:
            await looked._work
        assert calls() == asked
        await looked.close()


@pytest.fixture
def root(tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation that updates itself."""
    root = tmp_path / "root"
    (root / "versions" / "0.1.0").mkdir(parents=True)
    (root / "current").symlink_to("versions/0.1.0")
    monkeypatch.setattr(topic, "own_versions", lambda: Versions(root))
    places.settings_file.write_text(CONFIGURED)
    return root


@pytest.fixture
async def installation(places: Places, environment: dict[str, str], root: Path) -> AsyncIterator[Daemon]:
    """Run the daemon of the installation at `root`."""
    async with own_daemon(places, environment) as daemon:
        yield daemon


async def test_an_update_shows_its_progress_then_the_daemon_drains_and_becomes_the_new_version(
    tmp_path: Path, installation: Daemon, python: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, go_on, notes = asking(installation), tmp_path / "go_on", tmp_path / "state" / "updates.json"
    begun, fetching = WorkProgress(sentence("asking the publisher")), WorkProgress(verbatim("fetching"), 1, 2)
    drained = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(installation.parts.loop, "drain", lambda _seconds, successor: drained.set_result(successor))
    line = encode(WorkLine(fetching)).decode()
    staged = encode(UpdateNotes(SEEN)).decode()
    os.mkfifo(go_on)
    python(f"echo '{line}'\nread _ <{go_on}\necho '{staged}' >{notes}")
    assert (await ask(updates.INSTALL_UPDATE)).progress in (begun, fetching)
    state = await ask_until(ask, updates.UPDATES_STATE, lambda state: state.progress == fetching)
    assert (state.can_install, state.error) == (True, None)
    with pytest.raises(ControlError, match="already running"):
        await ask(updates.INSTALL_UPDATE)
    go_on.write_text("on")
    assert await drained == SEEN.version


async def test_an_update_that_finds_nothing_or_fails_leaves_the_daemon_as_it_is(
    installation: Daemon, python: Callable[[str], None]
) -> None:
    ask = asking(installation)
    for does, is_wrong in (("exit 0", False), ("exit 1", True)):
        python(does)
        await ask(updates.INSTALL_UPDATE)
        state = await ask_until(ask, updates.UPDATES_STATE, lambda state: state.progress is None)
        assert ((state.error is not None), installation.parts.loop.successor) == (is_wrong, "")


async def test_a_version_that_was_abandoned_is_named_until_a_newer_one_is_offered(
    places: Places, environment: dict[str, str], root: Path
) -> None:
    (root / "trial.json").write_bytes(encode(Trial("0.1.0", "99.0", MAX_STARTS)))
    failed = "version 99.0 failed; 0.1.0 is in use again"
    for offered, notice in (("99.0", failed), ("99.1", "Potluck 99.1 is offered")):
        with NotesFile(places).lock():
            NotesFile(places).write(UpdateNotes(replace(SEEN, version=offered)))
        async with own_daemon(places, environment) as daemon:
            error = (await asking(daemon)(updates.UPDATES_STATE)).error
            assert error is not None
            assert str(error.text) == failed
            assert notice in str(daemon.parts.status().notices[-1])


async def test_only_the_end_of_its_own_drain_makes_a_daemon_the_new_version(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = daemon.parts.loop
    monkeypatch.setattr(loop, "step", lambda: 1.0)  # sessions are open, so nothing ends
    loop.drain(600, successor="0.2.0")
    await loop.resume()
    assert loop.successor == ""
    for change in (lambda: loop.drain(600), loop.end):
        loop.drain(600, successor="0.2.0")
        change()
        assert loop.successor == ""
        loop.drain(600, successor="0.2.0")
        assert loop.successor == "", "somebody wants it to end"
        await loop.resume()


async def test_a_daemon_that_is_becoming_the_new_version_cannot_be_held_back_half_way(daemon: Daemon) -> None:
    loop = daemon.parts.loop
    loop.drain(600, successor="0.2.0")  # without an engine, it ends at once
    await loop.resume()
    assert loop.successor == "0.2.0"
