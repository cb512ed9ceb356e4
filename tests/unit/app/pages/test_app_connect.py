"""The page Connect: the address, the keys and the recipes, with a daemon that answers as the test says."""

import json

from helpers.app_answers import ANSWERS, SERVING
from helpers.fake_link import FakeLink
from helpers.screen import button, buttons, confirm, control, opened, press, shown
from msgspec import structs
from potluck_app.pages.connect.page import ConnectPage
from potluck_control.methods.gateway import GatewayState, GatewayStatus, KeyInfo, KeyList, KeyName, MadeKey, StartParams
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QPlainTextEdit

from potluck.errors import PotluckError
from potluck.sentences import sentence

STOPPED = GatewayStatus(GatewayState.STOPPED)
READY = GatewayStatus(GatewayState.READY, "http://127.0.0.1:8737/v1", "t", "friday", "demo")


def other_apps(status: GatewayStatus) -> tuple[ConnectPage, FakeLink]:
    page, link = opened(ConnectPage, ANSWERS | {"gateway.status": status})
    page.show_status(SERVING)
    return page, link


def test_the_state_of_the_address_is_said_with_what_can_be_done() -> None:
    for status, said, offered in (
        (STOPPED, "It does not run.", "Start"),
        (
            structs.replace(STOPPED, state=GatewayState.STARTING, step=sentence("Importing")),
            "Getting ready, usually within a minute: Importing…",
            "Stop",
        ),
        (READY, "Ready: demo.", "Stop"),
        (structs.replace(READY, notice=sentence("port 8737 is taken")), "Ready: demo. Port 8737 is taken.", "Stop"),
        (structs.replace(STOPPED, state=GatewayState.FAILED, problem=sentence("it ended")), "It ended.", "Start"),
    ):
        page, _ = other_apps(status)
        assert said in shown(page)
        assert offered in buttons(page)


def test_the_address_is_started_to_stay_and_copied() -> None:
    page, link = other_apps(STOPPED)
    assert not button(page, "Copy the address").isEnabled()
    link.answers["gateway.start"] = READY
    press(page, "Start")
    assert link.named("gateway.start") == [StartParams(stays=True)]
    press(page, "Copy the address")
    assert QGuiApplication.clipboard().text() == READY.url
    press(page, "Stop")
    assert link.named("gateway.stop") == [None]


def test_a_key_is_made_for_a_program_shown_once_and_filled_in() -> None:
    page, link = other_apps(READY)
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
    copied = json.loads(QGuiApplication.clipboard().text())["env"]
    assert copied["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8737"
    assert copied["ANTHROPIC_AUTH_TOKEN"] == "potluck-secret"


def test_a_key_is_shown_with_what_its_program_used_and_revoked_after_a_question() -> None:
    page, link = other_apps(READY)
    assert "Made 1 Jan 1970 · 12 answers, 3,400 tokens" in shown(page)
    press(page, "Revoke the key of blender")
    assert link.named("gateway.revoke_key") == []
    confirm(page, "Revoke")
    assert link.named("gateway.revoke_key") == [KeyName("blender")]


def test_each_recipe_has_the_address_and_the_key() -> None:
    page, _ = other_apps(READY)
    programs = page.findChild(QComboBox)
    for place in range(programs.count()):
        programs.setCurrentIndex(place)
        text = page.findChild(QPlainTextEdit).toPlainText()
        assert READY.url.removesuffix("/v1") in text
        assert "YOUR-KEY" in text
