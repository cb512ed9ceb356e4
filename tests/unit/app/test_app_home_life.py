"""What makes Home lively: today, and what needs attention."""

from helpers.app_answers import ANSWERS, EARNINGS, SERVING, WEEK
from helpers.screen import opened, shown
from msgspec.structs import replace
from potluck_app.pages.home.page import HomePage
from potluck_control.api.schema import HistoryPage
from potluck_control.methods.earnings import EarningsGroups, Group
from potluck_control.methods.members import SwarmParams
from PySide6.QtWidgets import QLabel

from potluck.sentences import verbatim


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
