"""Another language is spoken at once: the window stays where it is, with what was written in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.app_answers import SERVING
from helpers.screen import button, control, shown
from potluck_app.main import App
from potluck_app.pages.chat.answer import ConversationMessage
from potluck_app.pages.preferences import Preferences
from potluck_app.shell.starting import CommandStarter
from potluck_app.words import language
from PySide6.QtCore import QCoreApplication, QEvent, QLocale
from PySide6.QtWidgets import QApplication, QFrame, QPushButton
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

TALK = [ConversationMessage("user", "Why is the sky blue?"), ConversationMessage("assistant", "It scatters.")]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot, qapp: QApplication) -> Iterator[App]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = App(tmp_path / "no.sock", Preferences(str(tmp_path / "app.ini")), CommandStarter())
    qtbot.addWidget(made.window())
    made.window().show()
    made._show_status(SERVING)
    yield made
    language.install(qapp, QLocale("en_GB"))


def choose(app: App, name: str, of: str) -> None:
    button = control(app.window().page, f"{of}: {name}")
    assert isinstance(button, QPushButton)
    button.click()
    QApplication.processEvents()


def test_another_language_is_spoken_at_once_on_the_page_where_it_was_chosen(app: App) -> None:
    window = app.window()
    window.open("chat")
    chat = window.page
    chat._show_messages(TALK)
    chat._field.setPlainText("half a question")
    window.open("settings")
    place, size = window.pos(), window.size()
    for name, of, title, send in (
        ("Español", "Language", "Ajustes", "Enviar"),
        ("English", "Idioma", "Settings", "Send"),
    ):
        choose(app, name, of)
        assert app.window() is window
        assert (window.pos(), window.size(), window._key) == (place, size, "settings")
        assert title in shown(window.page)
        assert app.restart is None
        assert Preferences().language == QLocale().name()[:2]
        tray = [action.text() for action in app.tray.menu.actions()]
        assert ("Open Potluck" in tray) is (name == "English")
        window.open("chat")
        assert window.page.conversation == TALK
        assert "It scatters." in shown(window.page)
        assert window.page._bubbles[1].findChild(QFrame).accessibleName() == "demo"
        assert window.page._field.toPlainText() == "half a question"
        assert button(window.page, send).isVisible()
        window.open("settings")


def test_nothing_of_another_language_stays_behind(app: App) -> None:
    app.window().open("settings")
    menus = []
    for name, of in (("Deutsch", "Language"), ("English", "Sprache")):
        menus.append(app.tray.menu)
        choose(app, name, of)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert not any(map(isValid, menus))


def test_the_page_keeps_its_place_and_one_with_something_unsaved_stays_as_it_is(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = app.window()
    window.resize(window.minimumSize())
    window.open("swarm")
    swarm = window.page
    monkeypatch.setattr(type(swarm), "is_unsaved", True)
    window.open("settings")
    QApplication.processEvents()
    window.page.verticalScrollBar().setValue(90)
    before = window.page
    choose(app, "Deutsch", "Language")
    QApplication.processEvents()
    assert window.page is not before
    assert window.page.verticalScrollBar().value() == 90
    window.open("swarm")
    assert window.page is swarm
    assert window.findChildren(type(swarm)) == [swarm], "the one made for it is gone"
