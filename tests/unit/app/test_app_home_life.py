"""What makes Home lively: today, and the last hour drawn."""

import pytest
from helpers.app_answers import ANSWERS, EARNINGS, SERVING, WEEK
from helpers.screen import opened, shown
from msgspec.structs import replace
from potluck_app.pages.home import HomePage
from potluck_app.pages.load import course
from potluck_app.widgets.chart import Sparkline
from potluck_control.methods.activity import LastHour, Minute
from potluck_control.methods.earnings import EarningsGroups, Group
from potluck_control.methods.members import SwarmParams
from potluck_control.schema import HistoryPage
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


def minute(at: float, tokens_per_s: float = 1.0) -> Minute:
    return Minute(at, tokens_per_s, 50.0, None)


def test_the_course_has_a_slot_for_each_minute_and_gaps() -> None:
    now = 10_000.0
    found = course([minute(now - 4000), minute(now - 125, 3.0), minute(now - 1)], lambda one: one.tokens_per_s, now)
    assert (len(found), found[-3:], set(found[:-3])) == (60, (3.0, None, 1.0), {None})
    assert course([minute(now - 1)], lambda one: one.gpu_percent, now) == ()
    late = course([minute(now - 61, 2.0)], lambda one: one.tokens_per_s, now)
    assert late[-1] == 2.0  # the minute that runs is no gap


def test_a_gap_is_not_drawn() -> None:
    spark = Sparkline("Speed", highest=100.0)
    spark.resize(200, 50)
    spark.show_values((None,) * 9, "")
    blank = spark.grab().toImage()
    pictures = []
    for values in ((50.0,) * 9, (50.0, 50.0, 50.0, None, None, None, 50.0, 50.0, 50.0)):
        spark.show_values(values, "")
        pictures.append(spark.grab().toImage())
    assert blank != pictures[0] != pictures[1] != blank
    assert pictures[1].pixel(100, 25) == blank.pixel(100, 25) != pictures[0].pixel(100, 25)


def test_home_shows_the_last_hour_of_this_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 10_000.0)
    page, _ = opened(HomePage, ANSWERS | {"activity.hour": LastHour((minute(9_800.0, 4.0), minute(9_900.0, 8.0)))})
    page.show_status(SERVING)
    sparks = [spark for spark in page.findChildren(Sparkline) if spark.isVisibleTo(page)]
    drawn = {spark.accessibleName(): spark.accessibleDescription() for spark in sparks}
    assert drawn["Tokens a second in the last hour"] == "Last hour: 6.0 tokens/s on average, 8.0 tokens/s at most"
    assert drawn["Processor in the last hour"] == "Last hour: 50 % on average, 50 % at most"
    assert "Graphics card in the last hour" not in drawn, "nothing is known of it"


def test_what_needs_attention_comes_first() -> None:
    page, _ = opened(HomePage, ANSWERS)
    page.show_status(replace(SERVING, notices=(verbatim("The disk is full"),)))
    page.resize(900, 700)
    page.grab()
    labels = [label for label in page.findChildren(QLabel) if label.isVisibleTo(page) and label.text()]
    highest = min(labels, key=lambda label: label.mapTo(page, label.rect().topLeft()).y())
    assert highest.text() == "The disk is full"
