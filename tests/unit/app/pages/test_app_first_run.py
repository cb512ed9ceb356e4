"""The first run: its steps, the ways into a swarm, and trying Potluck with one click."""

from helpers.app_states import FETCHING, MEMBER, MISSING, NO_SWARM, READY, SERVING
from helpers.application import Wait
from helpers.fake_link import FakeLink
from helpers.screen import button, buttons, press, said, shown
from msgspec import structs
from potluck_app.pages.chat.page import ChatPage
from potluck_app.pages.first_run.joining import JoinForm
from potluck_app.pages.first_run.page import FirstRunPage
from potluck_app.shell.window import MainWindow
from potluck_control.api import schema
from potluck_control.api.schema import Joined
from potluck_control.methods.installation import BeginParams, SetupState
from potluck_control.states import Reason, State
from PySide6.QtWidgets import QCheckBox, QPlainTextEdit
from pytestqt.qtbot import QtBot

from potluck.errors import PotluckError, UsageError


def test_first_run_joins_lines_that_a_mail_program_broke_and_forgets_the_invite() -> None:
    link = FakeLink({"join": schema.Joined("friday", "demo")})
    page = FirstRunPage(link)
    join, field = button(page, "Join this swarm"), page.findChild(QPlainTextEdit)
    field.setPlainText(" \n ")
    assert not join.isEnabled()
    field.setPlainText("potluck4:abc\n  def \n")
    join.click()
    assert link.named("join") == [schema.JoinParams("potluck4:abc\n  def")], "the daemon finds the invite"
    assert field.toPlainText() == ""


def test_first_run_asks_once_for_a_swarm_public_if_wanted_and_again_after_a_failure() -> None:
    for is_public in (False, True):
        link = FakeLink()
        page = FirstRunPage(link)
        button(page, "Continue").click()
        next(box for box in page.findChildren(QCheckBox) if "Anybody" in box.text()).setChecked(is_public)
        start = button(page, "Start a swarm with the demo model")
        start.click()
        start.click()
        assert link.named("create") == [schema.CreateParams(is_public=is_public)]
        link.fail("create", PotluckError("this installation lacks demo-model", hint="install Potluck again"))
        assert "Install Potluck again." in said(page)
        assert start.isEnabled()


def test_a_computer_that_serves_a_swarm_moves_to_a_new_one_only_if_the_user_says_so() -> None:
    for served, moves in (("", False), ("home", False), ("home", True)):
        link = FakeLink()
        form = JoinForm(link)
        form.show_served(served)
        (question,) = (box for box in form.findChildren(QCheckBox) if "new swarm" in box.text())
        assert question.isVisibleTo(form) is bool(served)
        assert served in question.text()
        question.setChecked(moves)
        button(form, "Start a swarm with the demo model").click()
        form.findChild(QPlainTextEdit).setPlainText("potluck4:abc")
        link.fail("create", PotluckError("no"))
        button(form, "Join this swarm").click()
        assert link.named("create") == [schema.CreateParams(moves=moves)]
        assert link.named("join") == [schema.JoinParams("potluck4:abc", moves=moves)]


def test_first_run_stays_open_until_the_last_step_is_done() -> None:
    link, finished = FakeLink({"create": schema.Joined("home", "demo")}), []
    page = FirstRunPage(link)
    page.finished.connect(lambda: finished.append(page.is_open))
    page.show_status(NO_SWARM)
    button(page, "Continue").click()
    assert not button(page, "Continue").isVisibleTo(page)  # a swarm comes first
    button(page, "Start a swarm with the demo model").click()
    page.show_status(SERVING)
    assert (page.is_open, finished, page._title.text()) == (True, [], "You come first")
    button(page, "Done").click()
    assert finished == [False]


def test_the_window_keeps_the_first_run_open_after_joining() -> None:
    window = MainWindow(FakeLink())
    window.show_status(NO_SWARM)
    button(window.page, "Continue").click()
    window.show_status(SERVING)
    assert isinstance(window.page, FirstRunPage)
    assert "You are in the swarm “friday”, which runs demo." in said(window.page)


def first_run(setup: SetupState) -> tuple[FirstRunPage, FakeLink]:
    link = FakeLink({"setup.state": setup})
    page = FirstRunPage(link)
    page.show_status(NO_SWARM)
    page.refresh()
    return page, link


def test_the_first_run_goes_on_while_the_engine_is_fetched() -> None:
    page, link = first_run(MISSING)
    assert "1 of 4" in shown(page)
    press(page, "Continue")
    assert {"Later", "Download and install"} <= set(buttons(page))
    press(page, "Download and install")
    link.answer("setup.begin", FETCHING)
    press(page, "Continue")
    assert "3 of 4" in shown(page)
    press(page, "Back")
    assert "Downloading torch (3 of 40)." in shown(page)


def test_the_first_run_has_as_many_steps_after_a_swarm_is_joined_as_before() -> None:
    page, _ = first_run(READY)
    press(page, "Continue")
    assert "2 of 3" in shown(page)
    page.show_status(MEMBER)
    assert "3 of 3" in shown(page)


def test_who_only_tries_it_out_gets_a_swarm_and_a_chat_with_one_click(qtbot: QtBot) -> None:
    page, link = first_run(READY)
    assert "1 of 3" in shown(page), "there is no step for an engine that is there"
    link.answers["create"] = Joined("home", "demo-model")
    with qtbot.waitSignals([page.requested, page.finished], order="strict"):
        press(page, "Try it on this computer")
    assert not page.is_open


def test_one_click_sets_the_engine_up_and_then_opens_the_chat(qtbot: QtBot) -> None:
    page, link = first_run(MISSING)
    assert any(line.startswith("Trying it sets up the compute engine first. ") for line in shown(page))
    press(page, "Try it on this computer")
    link.fail("create", UsageError("the swarm home exists already", hint="leave it first"))
    assert "The swarm home exists already. Leave it first." in shown(page)
    press(page, "Try it on this computer")
    link.answer("create", Joined("home", "demo-model"))
    assert link.named("setup.begin") == [BeginParams()]
    link.answer("setup.begin", FETCHING)
    assert "Downloading torch (3 of 40)." in shown(page)
    link.answers["setup.state"] = READY
    page.show_status(structs.replace(MEMBER, reason=Reason.NO_ENGINE))  # the daemon is about to start the engine
    page.refresh()
    assert "Compute engine" in shown(page)
    with qtbot.waitSignals([page.requested, page.finished], order="strict"):
        page.show_status(structs.replace(MEMBER, reason=Reason.NONE))


def test_the_window_opens_the_chat_once_the_engine_that_is_tried_is_there_or_is_not_waited_for(
    qtbot: QtBot, wait: Wait
) -> None:
    for waits in (True, False):
        link = FakeLink({"setup.state": MISSING, "create": Joined("home", "demo-model"), "setup.begin": FETCHING})
        window = MainWindow(link)
        qtbot.addWidget(window)
        window.show_status(NO_SWARM)
        press(window, "Try it on this computer")
        window.show()
        window.show_status(MEMBER)  # without an engine yet
        assert isinstance(window.currentWidget(), FirstRunPage)
        if waits:
            link.answers["setup.state"] = READY
            window.currentWidget().refresh()
            window.show_status(structs.replace(MEMBER, state=State.STARTING, reason=Reason.NONE))
        else:
            press(window.currentWidget(), "Continue")
        wait(lambda window=window: isinstance(window.page, ChatPage))


def test_the_first_run_leads_back_to_the_step_that_was_left_for_later() -> None:
    page, link = first_run(MISSING)
    link.answers["create"] = Joined("home", "demo")
    press(page, "Continue")
    press(page, "Later")
    press(page, "Start a swarm with the demo model")
    page.show_status(MEMBER)
    press(page, "Back")
    assert "Download and install" in buttons(page)
