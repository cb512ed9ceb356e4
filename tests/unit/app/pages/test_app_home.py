"""The page Home: state and reason, the one pause control, and today."""

from helpers.app_answers import ANSWERS, EARNINGS, WEEK
from helpers.app_states import FINISHING, GAME, PAUSED, SERVING, STOPPED, YIELDED
from helpers.fake_link import FakeLink
from helpers.screen import button, opened, press, said, shown, unfold
from msgspec import structs
from msgspec.structs import replace
from potluck_app.pages.destination import Destination
from potluck_app.pages.home.page import HomePage
from potluck_control.api import schema
from potluck_control.api.schema import HistoryPage, ProgramQuestion
from potluck_control.methods.earnings import EarningsGroups, Group
from potluck_control.methods.machine import PlaceParams, ProgramPlace
from potluck_control.methods.members import SwarmParams
from potluck_control.states import Reason, State
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from potluck.sentences import sentence, verbatim

PAUSES = {"Pause for an hour", "Pause until tomorrow, 08:00", "Pause until I resume"}


def test_home_shows_points_and_tokens_of_one_ledger_and_names_those_it_helped() -> None:
    today = replace(WEEK, earned=12_500, tokens=4321)
    groups = EarningsGroups(
        (Group("bb22bb22" * 8, WEEK), Group("stranger", WEEK), Group("nobody", replace(WEEK, tokens=0)))
    )
    answers = {"earnings.summary": replace(EARNINGS, today=today), "earnings.by_person": groups}
    page, link = opened(HomePage, ANSWERS | answers | {"history": HistoryPage(())})
    assert {"12,500", "4,321", "You helped 2 people."} <= set(shown(page))
    page.show_status(SERVING)
    assert "You helped Bob and 1 other." in shown(page)
    assert link.named("members.list") == [SwarmParams("friday")]


def test_what_needs_attention_comes_first() -> None:
    page, _ = opened(HomePage, ANSWERS)
    page.show_status(replace(SERVING, notices=(verbatim("The disk is full"),)))
    page.resize(900, 700)
    page.grab()
    labels = [label for label in page.findChildren(QLabel) if label.isVisibleTo(page) and label.text()]
    highest = min(labels, key=lambda label: label.mapTo(page, label.rect().topLeft()).y())
    assert highest.text() == "The disk is full"


def choices(page: HomePage) -> dict[str, QAction]:
    """What the one control offers in a menu."""
    menu = page.focusProxy().menu()
    return {action.text(): action for action in menu.actions() if action.isVisible()} if menu is not None else {}


def home(status: schema.Status) -> tuple[HomePage, FakeLink]:
    link = FakeLink()
    page = HomePage(link)
    page.show_status(status)
    return page, link


def test_home_shows_state_reason_speed_and_what_the_day_has_used() -> None:
    page, _ = home(SERVING)
    unfold(page)
    text = said(page)
    assert "Serving layers 1–2 of demo" in text
    assert "12.5" in text.splitlines()
    assert "Today:" not in text
    page.show_status(structs.replace(SERVING, use=schema.UseStatus(5 << 20, 1 << 20, 12.4)))
    assert "Today: 5.2 MB sent, 1.0 MB received" in said(page)


def test_home_pauses_by_one_control_and_until_the_end_of_a_game_while_one_runs() -> None:
    page, link = home(SERVING)
    assert set(choices(page)) == PAUSES
    choices(page)["Pause for an hour"].trigger()
    choices(page)["Pause until I resume"].trigger()
    page.show_status(GAME)
    choices(page)["Pause until the game ends"].trigger()
    assert link.named("pause") == [
        schema.PauseParams(3600.0),
        schema.PauseParams(),
        schema.PauseParams(until_game_ends=True),
    ]


def test_home_offers_no_pause_but_to_go_on_where_serving_ends() -> None:
    leaving = structs.replace(PAUSED, state=State.DRAINING)  # the engine ends for the pause
    for status, text, offered in (
        (FINISHING, "2 sessions left", "Keep serving"),
        (PAUSED, "Paused by you\nThe pause ends at ", "Resume"),
        (STOPPED, "Paused by you until you resume", "Resume"),
        (leaving, "The pause ends at ", "Resume"),
    ):
        page, link = home(status)
        assert text in said(page)
        assert choices(page) == {}
        button(page, offered).click()
        assert link.named("resume") == [None]
        page.show_status(SERVING)
        assert set(choices(page)) == PAUSES


def test_home_offers_both_to_go_on_and_to_pause_while_it_waits() -> None:
    page, link = home(structs.replace(YIELDED, reason=Reason.QUIET_TIME))
    assert page.focusProxy().text() == "Serve now"
    assert set(choices(page)) == {"Serve now", *PAUSES}
    choices(page)["Serve now"].trigger()
    assert link.named("resume") == [None]


def test_home_leads_to_the_rules_that_hold_it_back(qtbot: QtBot) -> None:
    page, _ = home(structs.replace(SERVING, state=State.IDLE, reason=Reason.SCHEDULE))
    with qtbot.waitSignal(page.requested) as asked:
        button(page, "Change the rules").click()
    assert asked.args == [Destination.RULES]
    page.show_status(structs.replace(SERVING, reason=Reason.USER_ACTIVE, duty=0.5))
    assert button(page, "Change the rules").isHidden()


def test_names_of_programs_are_never_read_as_markup() -> None:
    page, _ = home(structs.replace(GAME, text=sentence("Giving way to {who}", who="<b>x</b>")))
    (reason,) = [label for label in page.findChildren(QLabel) if "<b>" in label.text()]
    assert reason.textFormat() is Qt.TextFormat.PlainText


def test_an_open_question_about_a_game_is_shown_until_it_is_answered() -> None:
    for answer, place in (("It is a game", ProgramPlace.ALWAYS), ("Not a game", ProgramPlace.NEVER)):
        page, link = opened(HomePage, ANSWERS)
        page.show_status(structs.replace(SERVING, questions=(ProgramQuestion("hedgewars", "Hedgewars"),)))
        question = "Is Hedgewars a game?"
        assert question in shown(page)
        press(page, answer)
        assert link.named("programs.place") == [PlaceParams("hedgewars", place)]
        page.show_status(SERVING)
        assert question not in shown(page)
