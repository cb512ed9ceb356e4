"""What the daemon says of updates, when it asks by itself, and what it refuses; `potluck update` is a script here."""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.own_daemon import Ask, asking, own_daemon
from potluck_control.client import ControlError
from potluck_control.methods import updates
from potluck_control.methods.setup import Problem
from potluck_control.methods.updates import UpdateProgress
from potluck_control.places import Places
from potluck_daemon.daemon import Daemon
from potluck_daemon.topics import updates as topic
from potluck_daemon.topics.updates import UpdatesTopic, is_due
from potluck_daemon.updates.freshness import KnownPublisher
from potluck_daemon.updates.notes import Notes, NotesFile
from potluck_daemon.updates.versions import Versions

from potluck.protocol.codec import encode
from potluck.sentences import NOTHING, verbatim

DAY = 86400.0
ASKS = "-P -m potluck_cli.main update --json --check"
KEY = "A" * 43 + "="
CONFIGURED = f'[updates]\nurl = "https://example.org/potluck.json"\nkey = "{KEY}"\n'
SEEN = KnownPublisher(anchor=KEY, key=KEY, issued_at=1_800_000_000, version="99.0", changes=("faster",))


@pytest.fixture
def file(places: Places) -> NotesFile:
    return NotesFile(places)


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has `potluck update` do this."""
    script = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(script))

    def write(text: str) -> None:
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)

    return write


@pytest.fixture
def calls(tmp_path: Path, python: Callable[[str], None]) -> Callable[[], list[str]]:
    """What `potluck update` was called with, a line each; it then has something newer in the notes."""
    called, notes = tmp_path / "called", tmp_path / "state" / "updates.json"
    told = encode(Notes(SEEN, asked_at=1.0, checked_at=2.0)).decode()
    python(f"echo \"$@\" >>{called}\necho '{told}' >{notes}")

    def read() -> list[str]:
        return called.read_text().splitlines() if called.exists() else []

    return read


@pytest.fixture
async def configured(places: Places, daemon: Daemon) -> None:
    """Name a publisher in the settings."""
    places.settings_file.write_text(CONFIGURED)
    daemon.configuration.reload()


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
    state = await ask(updates.STATE)
    assert (state.is_configured, state.is_allowed, state.can_install, state.offered) == (False, False, False, None)
    for method in (updates.CHECK, updates.INSTALL):
        with pytest.raises(ControlError, match="no source of updates") as caught:
            await ask(method)
        assert "updates.url" in str(caught.value.hint)
    assert calls() == []


@pytest.mark.usefixtures("configured")
async def test_a_click_is_a_permission_for_once(
    places: Places, ask: Ask, daemon: Daemon, calls: Callable[[], list[str]]
) -> None:
    state = await ask(updates.CHECK)
    assert calls() == [ASKS]
    assert state.offered is not None
    assert (state.offered.version, state.offered.changes, state.checked_at) == ("99.0", ("faster",), 2.0)
    assert "Potluck 99.0 is offered" in str(daemon.parts.status().notices[-1])
    with pytest.raises(ControlError, match="updated by the tool that installed it"):
        await ask(updates.INSTALL)
    places.settings_file.write_text(CONFIGURED.replace("AAA", "BBB"))
    daemon.configuration.reload()
    assert (await ask(updates.STATE)).offered is None, "another key signed it"


@pytest.mark.usefixtures("configured")
async def test_a_check_that_cannot_begin_comes_to_no_end_or_ends_without_a_word_is_an_error_with_a_hint(
    ask: Ask, file: NotesFile, python: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for does, text in (
        ("", "cannot check for updates"),
        ("exit 1", "the check for updates failed: exit code 1"),
        ("echo 'No module named x' >&2; exit 1", "the check for updates failed: No module named x"),
        ("exec sleep 600", "the publisher did not answer within"),
    ):
        if does:
            python(does)
        if "sleep" in does:
            monkeypatch.setattr(topic, "_CHECK_S", 0.2)
        with file.lock():
            file.write(
                Notes(step=UpdateProgress(verbatim("asking the publisher")))
            )  # as one leaves them that is killed
        state = await ask(updates.CHECK)
        assert state.error is not None
        assert text in str(state.error.text)
        assert (bool(state.error.hint), state.progress) == (True, None)
        assert (await ask(updates.STATE)).error == state.error
        assert not is_due(time.time(), file.read().asked_at, 0.0, 0.0), "not tried again at every tick"


@pytest.mark.usefixtures("configured")
async def test_what_the_check_says_itself_counts_also_when_it_says_it_again(
    places: Places, ask: Ask, file: NotesFile, python: Callable[[str], None]
) -> None:
    said = Problem(verbatim("cannot fetch updates from example.org: no route"), verbatim("is there a network?"))
    again = encode(Notes(asked_at=2.0, problem=said)).decode()
    notes = places.state / "updates.json"
    python(f"rm {notes}.copy\necho '{again}' >{notes}\necho no route >&2\nexit 1")
    with file.lock():
        file.write(Notes(asked_at=1.0, problem=said))
    assert (await ask(updates.CHECK)).error == said


async def test_the_daemon_asks_by_itself_only_if_it_may(
    places: Places, daemon: Daemon, calls: Callable[[], list[str]]
) -> None:
    for allowed, asked in (("", []), ("check = true\n", [ASKS])):
        places.settings_file.write_text(CONFIGURED + allowed)
        daemon.configuration.reload()
        looked = UpdatesTopic(daemon.parts)
        looked.tick(daemon.parts.started_at + topic._JITTER_S)
        begun = [task for task in asyncio.all_tasks() if "_ask_publisher" in repr(task.get_coro())]
        await asyncio.gather(*begun)
        assert calls() == asked
        await looked.close()


async def test_progress_is_shown_while_somebody_works_and_an_end_without_a_word_is_told(
    ask: Ask, file: NotesFile
) -> None:
    with file.lock():
        file.write(Notes(step=UpdateProgress(verbatim("fetching"), 1, 2)))
        state = await ask(updates.STATE)
        assert (state.progress, state.error) == (UpdateProgress(verbatim("fetching"), 1, 2), None)
    state = await ask(updates.STATE)  # its process was killed: it did not say how it ended
    assert state.progress is None
    assert state.error is not None
    assert "interrupted" in str(state.error.text)
    with file.lock():
        file.write(Notes(problem=Problem(verbatim("the disk is full"), verbatim("make room"))))
    assert (await ask(updates.STATE)).error == Problem(verbatim("the disk is full"), verbatim("make room"))


async def test_a_daemon_at_rest_only_looks_whether_the_notes_or_the_settings_are_others(
    places: Places, daemon: Daemon, file: NotesFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[NotesFile] = []
    real = NotesFile.is_locked
    monkeypatch.setattr(NotesFile, "is_locked", lambda file: (looks.append(file), real(file))[1])
    looked = UpdatesTopic(daemon.parts)
    looked.tick(daemon.parts.started_at)
    looks.clear()
    looked.tick(daemon.parts.started_at)
    assert looks == []
    with file.lock():
        file.write(Notes(SEEN))
    looked.tick(daemon.parts.started_at)
    assert looks
    assert looked.notice == NOTHING  # nobody named that publisher
    places.settings_file.write_text(CONFIGURED)
    daemon.configuration.reload()
    looked.tick(daemon.parts.started_at)
    assert looked.notice is not None
    await looked.close()


async def test_an_update_that_runs_already_is_not_started_again(
    tmp_path: Path, places: Places, file: NotesFile, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "root").mkdir()
    monkeypatch.setattr(topic, "own_versions", lambda: Versions(tmp_path / "root"))
    places.settings_file.write_text(CONFIGURED)
    async with own_daemon(places, environment) as daemon:
        ask = asking(daemon)
        assert (await ask(updates.STATE)).can_install
        with file.lock(), pytest.raises(ControlError, match="already running"):
            await ask(updates.INSTALL)
