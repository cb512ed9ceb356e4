"""The link of a swarm, which opens the app where an invite is entered."""

from dataclasses import replace
from pathlib import Path

from helpers.app_answers import ANSWERS, SERVING
from helpers.application import PATIENCE_MS
from helpers.fake_link import FakeLink
from helpers.screen import button, control, press, shown
from msgspec import structs
from potluck_app import main
from potluck_app.shell.instance import SingleInstance
from potluck_app.shell.window import MainWindow
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
    window.show_joining("friends")  # the daemon may still be away
    window.show_status(SERVING)
    assert INVITED in shown(window.page)
    assert window.focusWidget() is control(window.page, "Invite")


def test_a_link_leads_those_without_a_swarm_past_the_welcome() -> None:
    window = MainWindow(FakeLink(ANSWERS))
    window.show_status(structs.replace(SERVING, state=State.IDLE, reason=Reason.NO_SWARM, swarm=None))
    window.show_joining("friends")
    assert {"Choose a swarm", INVITED} <= set(shown(window.page))


def test_home_leads_to_the_card_that_invites() -> None:
    window = MainWindow(FakeLink(ANSWERS))
    window.show()
    window.show_status(SERVING)
    press(window.page, "Invite someone")
    QApplication.processEvents()
    copy = button(window.page, "Copy invite")
    assert window.focusWidget() is copy
    assert window.page.viewport().rect().contains(copy.mapTo(window.page.viewport(), copy.rect().center()))
    window.close()
