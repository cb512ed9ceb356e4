"""An update exchanges the app's files while it is open: what it does then, with a daemon that never answers."""

import sys
from pathlib import Path

import pytest
from helpers.app_answers import SERVING
from helpers.fake_link import FakeLink
from helpers.screen import press, said
from potluck_app.main import App
from potluck_app.pages.chat.page import ChatPage
from potluck_app.pages.preferences import Preferences
from potluck_app.shell.process import ProgramVersions, restart_command
from potluck_app.shell.starting import CommandStarter
from potluck_control.api.versions import Agreement, Difference
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from potluck.sentences import sentence

AGREED = Agreement(Difference.NONE, methods=("hello",))
NEWER = Agreement(
    Difference.NEWER_DAEMON,
    sentence("The daemon runs version 2"),
    sentence("start this program again"),
    methods=("hello",),
)


def install(folder: Path, version: str) -> None:
    """What an update leaves."""
    for old in folder.iterdir():
        (old / "METADATA").unlink()
        old.rmdir()
    info = folder / f"potluck-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: potluck\nVersion: {version}\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the app is installed, as version 1."""
    made = tmp_path / "packages"
    made.mkdir()
    install(made, "1")
    monkeypatch.syspath_prepend(made)
    return made


@pytest.fixture
def app(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> App:
    monkeypatch.setattr(QApplication, "quit", lambda: None)
    made = App(tmp_path / "no.sock", Preferences(str(tmp_path / "app.ini")), CommandStarter())
    qtbot.addWidget(made.window())
    return made


def test_what_a_start_would_bring_is_known_also_while_files_are_exchanged(folder: Path) -> None:
    renewal = ProgramVersions()
    assert (renewal.running, renewal.installed()) == ("1", "1")
    install(folder, "2")
    assert (renewal.running, renewal.installed()) == ("1", "2")


def test_the_next_one_is_started_as_this_one_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python3", "/opt/current/bin/potluck-app", "--hidden", "--theme", "dark"])
    ours = [sys.executable, "/opt/current/bin/potluck-app", "--theme", "dark"]
    assert restart_command(hidden=False) == ours
    assert restart_command(hidden=True) == [*ours, "--hidden"]


def test_an_app_in_the_tray_starts_again_by_itself_unless_a_conversation_is_in_its_window(
    app: App, folder: Path
) -> None:
    app.link.agreed.emit(AGREED)
    assert app.restart is None
    app.window().open("chat")
    page = app.window()._made["chat"] = ChatPage(FakeLink())
    page._field.setPlainText("half a question")
    install(folder, "2")
    app.link.agreed.emit(AGREED)
    assert app.restart is None
    page._field.clear()
    app.link.agreed.emit(AGREED)
    assert app.restart is True  # hidden again


def test_an_open_window_offers_to_start_again_instead_of_telling_to(app: App, folder: Path) -> None:
    app.window().show()
    install(folder, "2")
    app.link.agreed.emit(NEWER)
    assert app.restart is None
    app.window().show_status(SERVING)
    assert "Potluck 2 is installed, and this window still runs 1." in said(app.window())
    assert "start this program again" not in said(app.window()).lower()
    press(app.window(), "Restart")
    assert app.restart is False


def test_a_window_that_the_new_daemon_does_not_understand_is_replaced_at_once(app: App, folder: Path) -> None:
    app.window().show()
    app.link.disagreed.emit("The daemon runs version 2.")
    assert app.restart is None  # a start would bring the same
    install(folder, "2")
    app.link.disagreed.emit("The daemon runs version 2.")
    assert app.restart is False


def test_a_window_that_is_opened_later_offers_it_too_and_a_roll_back_takes_it_back(app: App, folder: Path) -> None:
    install(folder, "2")
    app.window().show_status(SERVING)
    app.window().show()
    assert "Potluck 2 is installed" in said(app.window())
    assert app.link._version == "1", "the daemon is told the version that runs, not the one that lies there"
    assert app.restart is None
    install(folder, "1")
    app.link.agreed.emit(AGREED)
    assert "is installed" not in said(app.window())
