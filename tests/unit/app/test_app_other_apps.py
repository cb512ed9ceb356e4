"""The page that brings the model into other programs."""

from dataclasses import replace

import pytest
from helpers.app_answers import ANSWERS, SERVING
from helpers.fake_link import FakeLink
from helpers.screen import button, buttons, confirm, control, opened, press, shown
from potluck_app.pages.catalogue import SIDEBAR
from potluck_app.pages.other_apps import OtherAppsPage
from potluck_app.shell.window import MainWindow
from potluck_app.widgets.segments import Segments
from potluck_app.words.recipes import RECIPES
from potluck_control.methods.gateway import GatewayState, GatewayStatus, KeyInfo, KeyList, KeyName, MadeKey, StartParams
from PySide6.QtGui import QGuiApplication, QShortcut
from PySide6.QtWidgets import QPlainTextEdit

from potluck.errors import PotluckError

STOPPED = GatewayStatus(GatewayState.STOPPED)
READY = GatewayStatus(GatewayState.READY, "http://127.0.0.1:8737/v1", "t", "friday", "demo")


def page_of(status: GatewayStatus) -> tuple[OtherAppsPage, FakeLink]:
    page, link = opened(OtherAppsPage, ANSWERS | {"gateway.status": status})
    page.show_status(SERVING)
    return page, link


@pytest.mark.parametrize(
    ("status", "said", "offered"),
    [
        (STOPPED, "It does not run.", "Start"),
        (replace(STOPPED, state=GatewayState.STARTING, step="Importing"), "Getting ready: Importing…", "Stop"),
        (READY, "Ready: demo.", "Stop"),
        (replace(READY, notice="port 8737 is taken"), "Ready: demo. Port 8737 is taken.", "Stop"),
        (replace(STOPPED, state=GatewayState.FAILED, problem="it ended"), "It ended.", "Start"),
    ],
)
def test_the_state_of_the_address_is_said_with_what_can_be_done(status: GatewayStatus, said: str, offered: str) -> None:
    page, _ = page_of(status)
    assert said in shown(page)
    assert offered in buttons(page)


def test_the_address_is_started_to_stay_and_copied() -> None:
    page, link = page_of(STOPPED)
    assert not button(page, "Copy the address").isEnabled()
    link.answers["gateway.start"] = READY
    press(page, "Start")
    assert link.named("gateway.start") == [StartParams(stays=True)]
    press(page, "Copy the address")
    assert QGuiApplication.clipboard().text() == READY.url
    press(page, "Stop")
    assert link.named("gateway.stop") == [None]


def test_a_key_is_made_for_a_program_shown_once_and_filled_in() -> None:
    page, link = page_of(READY)
    name = control(page, "Name of the program")
    press(page, "Make a key")
    assert link.named("gateway.make_key") == []  # without a name
    name.setText(" webui ")
    press(page, "Make a key")
    link.fail("gateway.make_key", PotluckError("'webui' has a key", hint="use another name"))
    assert "'webui' has a key. Use another name." in shown(page)
    link.answers["gateway.make_key"] = MadeKey("webui", "potluck-secret")
    link.answers["gateway.keys"] = KeyList((KeyInfo("webui", 10.0),))
    press(page, "Make a key")
    assert link.named("gateway.make_key") == [KeyName("webui")] * 2
    assert any(said.startswith("The key of webui.") for said in shown(page))
    press(page, "Copy the new key")
    assert QGuiApplication.clipboard().text() == "potluck-secret"
    press(page, "Copy the recipe")
    assert QGuiApplication.clipboard().text() == "URL: http://127.0.0.1:8737/v1\nKey: potluck-secret\n"


def test_a_key_is_shown_with_what_its_program_used_and_revoked_after_a_question() -> None:
    page, link = page_of(READY)
    assert "Made 1 Jan 1970 · 12 answers, 3,400 tokens" in shown(page)
    press(page, "Revoke the key of blender")
    assert link.named("gateway.revoke_key") == []
    confirm(page, "Revoke")
    assert link.named("gateway.revoke_key") == [KeyName("blender")]


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.program for recipe in RECIPES])
def test_each_recipe_has_the_address_and_the_key(recipe: object) -> None:
    page, _ = page_of(READY)
    page.findChild(Segments).choose(recipe)
    text = page.findChild(QPlainTextEdit).toPlainText()
    assert READY.url in text
    assert "YOUR-KEY" in text
    assert "{" not in text.replace('[{"role"', "")


def test_the_recipe_for_python_is_python() -> None:
    compile(RECIPES[-1].filled("http://x/v1", "k", "m"), "recipe", "exec")


def test_the_keyboard_leads_to_every_page_and_to_no_two_by_one_key() -> None:
    window = MainWindow(FakeLink(dict(ANSWERS)))
    window.show_status(SERVING)
    window.show()
    keys = [shortcut.key().toString() for shortcut in window.findChildren(QShortcut)]
    assert len(keys) == len(set(keys))
    forward = next(item for item in window.findChildren(QShortcut) if item.key().toString() == "Ctrl+PgDown")
    seen = []
    for _ in SIDEBAR:
        forward.activated.emit()
        seen.append(window._key)
    assert seen == [*(entry.key for entry in SIDEBAR[1:]), "home"]
    window.close()
