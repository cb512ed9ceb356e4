"""What the window and the menu offer in each state; widgets are known by what is written on them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from potluck_app.first_run import FirstRunPage
from potluck_app.home import HOUR_S, HomePage
from potluck_app.icons import icon, name_of
from potluck_app.strip import BlockStrip
from potluck_app.theme import DARK, LIGHT, Colours
from potluck_app.tray import Tray
from potluck_app.window import MainWindow
from potluck_daemon.control.schema import EngineStatus, LoadStatus, Status, SwarmStatus
from potluck_daemon.states import Reason, State
from PySide6.QtCore import SignalInstance
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QWidget

SWARM = SwarmStatus("friday", "demo", 4, span=(0, 2), coverage=(2, 1, 0, 0), coverage_at=0.0)
SERVING = Status(
    State.SERVING,
    Reason.NONE,
    "Serving blocks 0:2 of demo",
    since=0.0,
    version="1",
    engine=EngineStatus(pid=1),
    swarm=SWARM,
    tokens_per_s=12.5,
)
PAUSED = replace(
    SERVING, state=State.PAUSED, reason=Reason.TIMER, text="Paused by you", until=4e9, engine=EngineStatus()
)
NO_SWARM = replace(SERVING, state=State.IDLE, reason=Reason.NO_SWARM, text="No swarm joined yet", swarm=None)
YIELDED = replace(SERVING, state=State.YIELDED, reason=Reason.GAME, text="Giving way to hades2")


def button(page: QWidget, text: str) -> QPushButton:
    (found,) = [item for item in page.findChildren(QPushButton) if item.text() == text]
    return found


def shown(page: QWidget) -> str:
    """All texts that are not hidden."""
    return "\n".join(label.text() for label in page.findChildren(QLabel) if not label.isHidden())


def heard(signal: SignalInstance) -> list[tuple[object, ...]]:
    """What the signal carries from now on."""
    calls: list[tuple[object, ...]] = []
    signal.connect(lambda *values: calls.append(values))
    return calls


# -- Home --------------------------------------------------------------------------------------------------------------


def test_home_shows_state_reason_speed_and_gaps() -> None:
    page = HomePage()
    page.show_status(SERVING)
    text = shown(page)
    assert "Serving blocks 0:2 of demo" in text
    assert "12.5 tokens/s" in text
    assert "4 blocks; yours: 0:2; nobody serves 2:4" in text


def test_home_shows_no_speed_of_before_once_it_has_stepped_aside() -> None:
    page = HomePage()
    page.show_status(YIELDED)
    assert "0.0 tokens/s" in shown(page)


def test_home_asks_for_an_hour_or_for_ever() -> None:
    page = HomePage()
    page.show_status(SERVING)
    pauses = heard(page.pause_wanted)
    button(page, "Pause for an hour").click()
    button(page, "Pause until I resume").click()
    assert pauses == [(HOUR_S,), (None,)]


def test_home_offers_only_to_resume_while_paused_and_says_until_when() -> None:
    page = HomePage()
    page.show_status(PAUSED)
    resumes = heard(page.resume_wanted)
    assert button(page, "Pause until I resume").isHidden()
    assert "Paused by you (until " in shown(page)
    button(page, "Resume").click()
    assert resumes == [()]
    page.show_status(SERVING)
    assert not button(page, "Pause until I resume").isHidden()


def test_home_says_how_old_the_coverage_is_when_no_engine_looks() -> None:
    page = HomePage()
    page.show_status(PAUSED)
    assert "yours: 0:2; at " in shown(page)


def test_home_shows_an_error_until_the_next_status() -> None:
    page = HomePage()
    page.show_status(SERVING)
    page.show_error("The daemon is not running. Start it with: potluck start.")
    assert "potluck start" in shown(page)
    page.show_status(SERVING)
    assert "potluck start" not in shown(page)


def test_home_shows_a_graphics_card_only_if_there_is_one() -> None:
    page = HomePage()
    page.show_status(SERVING)
    (label,) = [label for label in page.findChildren(QLabel) if label.text() == "Graphics card"]
    assert label.parentWidget().isHidden()
    page.show_status(replace(SERVING, load=LoadStatus(gpu_percent=50.0)))
    assert not label.parentWidget().isHidden()


# -- first run ---------------------------------------------------------------------------------------------------------


def test_first_run_refuses_an_empty_invite() -> None:
    page = FirstRunPage()
    join, field = button(page, "Join this swarm"), page.findChild(QPlainTextEdit)
    invites = heard(page.join_wanted)
    field.setPlainText(" \n ")
    assert not join.isEnabled()
    join.click()
    assert invites == []


def test_first_run_joins_lines_that_a_mail_program_broke() -> None:
    page = FirstRunPage()
    invites = heard(page.join_wanted)
    page.findChild(QPlainTextEdit).setPlainText("potluck1:abc\n  def \n")
    button(page, "Join this swarm").click()
    assert invites == [("potluck1:abcdef",)]


def test_first_run_waits_for_an_answer_and_lets_the_user_try_again() -> None:
    page = FirstRunPage()
    starts = heard(page.start_wanted)
    start = button(page, "Start a swarm with the demo model")
    start.click()
    start.click()
    assert starts == [()]
    page.show_error("This installation lacks demo-model. Install Potluck again.")
    assert "Install Potluck again." in shown(page)
    assert start.isEnabled()


def test_first_run_forgets_the_invite_once_it_is_joined() -> None:
    page = FirstRunPage()
    page.findChild(QPlainTextEdit).setPlainText("potluck1:secret")
    page.clear()
    assert page.findChild(QPlainTextEdit).toPlainText() == ""


# -- the strip ---------------------------------------------------------------------------------------------------------


def test_the_strip_says_in_words_what_it_draws() -> None:
    page = HomePage()
    page.show_status(SERVING)
    assert page.findChild(BlockStrip).accessibleDescription() == "4 blocks; yours: 0:2; nobody serves 2:4"


@pytest.mark.parametrize("swarm", [None, SWARM, replace(SWARM, coverage=()), replace(SWARM, num_blocks=500)])
def test_the_strip_draws_any_swarm(swarm: SwarmStatus | None) -> None:
    strip = BlockStrip()
    strip.resize(400, 34)
    blank = strip.grab().toImage()
    strip.show_swarm(swarm, "")
    assert (strip.grab().toImage() == blank) is (swarm is None)


# -- the window --------------------------------------------------------------------------------------------------------


def test_the_window_shows_the_page_that_fits() -> None:
    window = MainWindow()
    window.show_away("The daemon is not running.")
    assert window.currentWidget() is window.away
    assert "The daemon is not running." in shown(window.away)
    window.show_status(NO_SWARM)
    assert window.currentWidget() is window.first_run
    window.show_status(YIELDED)
    assert window.currentWidget() is window.home
    assert "Giving way to hades2" in shown(window.home)


@pytest.mark.parametrize(("has_tray", "quits"), [(True, 0), (False, 1)])
def test_closing_the_window_quits_only_without_a_tray_icon(has_tray: bool, quits: int) -> None:
    window = MainWindow()
    window.has_tray = has_tray
    asked = heard(window.closed_without_tray)
    window.closeEvent(QCloseEvent())
    assert len(asked) == quits


# -- the tray ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "enabled"),
    [
        (None, set()),
        (NO_SWARM, set()),
        (SERVING, {"Pause for an hour", "Pause until I resume"}),
        (YIELDED, {"Pause for an hour", "Pause until I resume"}),
        (PAUSED, {"Resume"}),
    ],
)
def test_the_menu_offers_what_makes_sense(status: Status | None, enabled: set[str]) -> None:
    tray = Tray()
    tray.show_status(SERVING)  # something else before
    tray.show_status(status)
    offered = {action.text() for action in tray.menu.actions() if action.text() and action.isEnabled()}
    assert offered == enabled | {"Open Potluck", "Quit the app"}


# -- icons -------------------------------------------------------------------------------------------------------------


def test_states_that_matter_differ_in_shape() -> None:
    shapes = {name_of(state) for state in (State.SERVING, State.IDLE, State.PAUSED, State.YIELDED, State.ERROR)}
    assert len(shapes) == 5


@pytest.mark.parametrize("colours", [LIGHT, DARK])
@pytest.mark.parametrize("state", [None, *State])
def test_every_state_has_an_icon_in_both_themes(state: State | None, colours: Colours) -> None:
    picture = icon(state, colours).pixmap(22, 22).toImage()
    assert any(picture.pixelColor(x, y).alpha() for x in range(picture.width()) for y in range(picture.height()))
