"""The link of a swarm, which opens the app where an invite is entered."""

from dataclasses import replace
from pathlib import Path

import pytest
from helpers.app_answers import ANSWERS, SERVING
from helpers.application import PATIENCE_MS
from helpers.fake_link import FakeLink
from helpers.screen import button, buttons, control, press, shown
from msgspec import structs
from potluck_app import main
from potluck_app.pages.destination import Destination
from potluck_app.pages.first_run.joining import JoinForm
from potluck_app.shell.process import SingleInstance
from potluck_app.shell.window import MainWindow
from potluck_control.api.schema import JoinParams
from potluck_control.methods.swarms import UserNames
from potluck_control.states import Reason, State
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from potluck.membership.invite import link_of
from potluck.protocol.swarm import new_swarm

LINK = "potluck:friends:" + "0a" * 32


def test_the_app_reads_the_links_that_swarms_have() -> None:
    swarm = replace(new_swarm("my-friends_2", "demo", 4), founder_key=bytes(range(32)))
    assert main._swarm_of(link_of(swarm)) == "my-friends_2"
    for wrong in ("potluck:friends", "potluck:a b:" + "00" * 32, "potluck4:abc", f"{LINK}/x"):
        assert main._swarm_of(wrong) == ""


def test_a_second_start_hands_its_link_to_the_first(tmp_path: Path, qtbot: QtBot) -> None:
    first, heard = SingleInstance(tmp_path), []
    first.raise_wanted.connect(heard.append)
    assert first.acquire()
    for link in ("", LINK):
        with qtbot.waitSignal(first.raise_wanted, timeout=PATIENCE_MS):
            assert not SingleInstance(tmp_path).acquire(link)
    assert heard == ["", LINK]
    first.release()


INVITED = "Enter the invite to the swarm “friends” that its members sent you."


def test_a_link_leads_to_where_the_invite_is_entered() -> None:
    window = MainWindow(FakeLink(ANSWERS))
    window.raise_at(Destination.JOIN, "friends")  # the daemon may still be away
    window.show_status(SERVING)
    assert INVITED in shown(window.page)
    assert window.focusWidget() is control(window.page, "Invite")


def test_a_link_leads_those_without_a_swarm_past_the_welcome() -> None:
    window = MainWindow(FakeLink(ANSWERS))
    window.show_status(structs.replace(SERVING, state=State.IDLE, reason=Reason.NO_SWARM, swarm=None))
    window.raise_at(Destination.JOIN, "friends")
    assert {"Choose a swarm", INVITED} <= set(shown(window.page))


def test_names_are_asked_with_guesses_until_they_are_chosen_and_the_text_goes_to_the_daemon_as_it_was_pasted() -> None:
    link = FakeLink()
    form = JoinForm(link)
    form.show()
    link.answer("swarms.own_names", UserNames("Ana", "desk"))
    you, computer = (
        control(form, "What should friends call you?"),
        control(form, "What should this computer be called?"),
    )
    assert (you.text(), computer.text(), you.isVisible()) == ("Ana", "desk", True)
    you.setText("Anastasia")
    control(form, "Invite").setPlainText("Hi,\n> potluck4:abc\n> def.")
    press(form, "Join this swarm")
    assert link.named("join") == [JoinParams("Hi,\n> potluck4:abc\n> def.", False, "Anastasia", "desk")]
    form.hide()
    form.show()
    link.answer("swarms.own_names", UserNames("Anastasia", "desk", is_chosen=True))
    assert not you.isVisible()
    form.close()


@pytest.mark.parametrize("reason", [Reason.INVITE_OVER, Reason.REMOVED])
def test_home_leads_to_where_another_invite_is_entered(reason: Reason) -> None:
    window = MainWindow(FakeLink(ANSWERS))
    window.show_status(structs.replace(SERVING, state=State.ERROR, reason=reason))
    assert "Pause" not in buttons(window.page)
    press(window.page, "Paste another")
    assert window.focusWidget() is control(window.page, "Invite")


def test_the_card_that_invites_is_in_view_with_the_keyboard_on_its_button() -> None:
    window = MainWindow(FakeLink(ANSWERS))
    window.show()
    window.show_status(SERVING)
    window.go(Destination.INVITE)
    QApplication.processEvents()
    copy = button(window.page, "Copy an invite")
    assert window.focusWidget() is copy
    assert window.page.viewport().rect().contains(copy.mapTo(window.page.viewport(), copy.rect().center()))
    window.close()
