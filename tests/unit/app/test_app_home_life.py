"""What makes Home lively: the last hour drawn, and today in one sentence."""

import pytest
from helpers.app_answers import ANSWERS, NOW, SERVING
from helpers.screen import opened, shown
from msgspec import structs
from potluck_app.pages.home import HomePage
from potluck_app.widgets.chart import Sparkline
from potluck_app.words import hour
from potluck_app.words.people import Helped
from potluck_app.words.today import sentence
from potluck_control.methods.activity import LastHour, Minute
from potluck_control.methods.contribution import Contribution, ContributionNow
from potluck_control.schema import HistoryPage, Transition
from potluck_control.states import Reason, State
from PySide6.QtWidgets import QLabel

from potluck.sentences import Sentence, verbatim

GIVEN = Contribution(0.0, 0.0, tokens=12_400, people=3)
H = 3600.0


def went(at: float, state: State, reason: Reason, app: str = "", title: str = "") -> Transition:
    return Transition(at, State.SERVING, state, reason, Sentence(), app, title)


GAME = went(0.0, State.YIELDED, Reason.GAME, "eldenring.exe", "Elden Ring")
BACK = went(2 * H, State.SERVING, Reason.NONE)
DOOM = went(0.0, State.YIELDED, Reason.FULL_SCREEN, "doom")
NOTHING = Contribution(0, 0)


def test_today_is_one_sentence() -> None:
    for given, transitions, said in (
        (GIVEN, (), "Today: you helped 3 people with 12,400 tokens."),
        (structs.replace(GIVEN, people=1, tokens=1), (), "Today: you helped 1 person with 1 token."),
        (structs.replace(GIVEN, people=None), (), "Today: you served 12,400 tokens."),
        (
            GIVEN,
            (GAME, BACK),
            "Today: you helped 3 people with 12,400 tokens and stepped aside for 2 h 0 min of Elden Ring.",
        ),
        (NOTHING, (GAME,), "Today: you stepped aside for 3 h 0 min of Elden Ring."),  # and still does
        (
            NOTHING,
            (DOOM, structs.replace(GAME, at=H), structs.replace(DOOM, at=2.2 * H)),
            "Today: you stepped aside for 1 h 48 min of doom.",  # the longest in sum
        ),
        (NOTHING, (), ""),
        (NOTHING, (went(0.0, State.YIELDED, Reason.BATTERY),), ""),
        (NOTHING, (went(0.0, State.YIELDED, Reason.QUIET_TIME, "doom", "Doom"),), ""),
        (NOTHING, (went(0.0, State.PAUSED, Reason.USER),), ""),
        (NOTHING, (structs.replace(GAME, at=3 * H - 30),), ""),  # only a moment
    ):
        assert sentence(given, transitions, 3 * H) == said


def test_home_names_the_members_it_helped() -> None:
    helped = Helped(("Ana",), 2)
    assert sentence(GIVEN, (), 3 * H, helped) == "Today: you helped Ana and 2 others with 12,400 tokens."
    page, _ = opened(HomePage, ANSWERS | {"contribution.now": NOW, "history": HistoryPage(())})
    page.show_status(SERVING)
    page.refresh()
    assert "Today: you helped Bob with 5 tokens." in shown(page)


def minute(at: float, tokens_per_s: float = 1.0) -> Minute:
    return Minute(at, tokens_per_s, 50.0, None)


def test_the_course_has_a_slot_for_each_minute_and_gaps() -> None:
    now = 10_000.0
    found = hour.course(
        [minute(now - 4000), minute(now - 125, 3.0), minute(now - 1)], lambda one: one.tokens_per_s, now
    )
    assert (len(found), found[-3:], set(found[:-3])) == (60, (3.0, None, 1.0), {None})
    assert hour.course([minute(now - 1)], lambda one: one.gpu_percent, now) == ()
    late = hour.course([minute(now - 61, 2.0)], lambda one: one.tokens_per_s, now)
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


def test_home_shows_the_last_hour_and_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 10_000.0)
    today = ContributionNow(GIVEN, GIVEN, 1, 1, None, 0.0, ())
    answers = ANSWERS | {
        "activity.hour": LastHour((minute(9_800.0, 4.0), minute(9_900.0, 8.0))),
        "contribution.now": today,
        "history": HistoryPage(()),
    }
    page, _ = opened(HomePage, answers)
    page.show_status(SERVING)
    sparks = [spark for spark in page.findChildren(Sparkline) if spark.isVisibleTo(page)]
    drawn = {spark.accessibleName(): spark.accessibleDescription() for spark in sparks}
    assert drawn["Tokens a second in the last hour"] == "Last hour: 6.0 tokens/s on average, 8.0 at most"
    assert drawn["Processor in the last hour"] == "Last hour: 50 % on average, 50 % at most"
    assert "Graphics card in the last hour" not in drawn, "nothing is known of it"
    assert "Today: you helped 3 people with 12,400 tokens." in shown(page)


def test_what_needs_attention_comes_first() -> None:
    page, _ = opened(HomePage, ANSWERS)
    page.show_status(structs.replace(SERVING, notices=(verbatim("The disk is full"),)))
    page.resize(900, 700)
    page.grab()
    labels = [label for label in page.findChildren(QLabel) if label.isVisibleTo(page) and label.text()]
    highest = min(labels, key=lambda label: label.mapTo(page, label.rect().topLeft()).y())
    assert highest.text() == "The disk is full"
