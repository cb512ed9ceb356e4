"""The question whether a program is a game: asked once, and closed by a list."""

from __future__ import annotations

from dataclasses import replace

import pytest
from potluck_control.schema import ProgramQuestion
from potluck_control.states import Reason, State
from potluck_daemon.policy.decide import Decision, Evidence, Rung
from potluck_daemon.policy.questions import MAX_QUESTIONS, follow

UNSURE = Decision(State.YIELDED, Reason.FULL_SCREEN, "Giving way", Rung.ENDED, app="hedgewars", app_title="Hedgewars")
OPEN = ProgramQuestion("hedgewars", "Hedgewars")
CLOSED = replace(OPEN, is_open=False)


def test_a_program_that_only_looks_like_a_game_is_asked_about_once() -> None:
    assert follow((), UNSURE, ()) == follow((OPEN,), UNSURE, ()) == (OPEN,)


@pytest.mark.parametrize(
    "decision",
    [
        replace(UNSURE, reason=Reason.GAME),
        replace(UNSURE, state=State.SERVING),
        replace(UNSURE, app=""),
        replace(UNSURE, app="a,b"),
    ],
)
def test_nothing_is_asked_about_what_is_known_or_cannot_stand_on_a_list(decision: Decision) -> None:
    assert follow((), decision, ()) == ()


def test_a_listed_program_is_answered_for_and_not_asked_about_again() -> None:
    assert follow((), UNSURE, ("Hedgewars",)) == ()
    assert follow((OPEN,), UNSURE, ("Hedgewars",)) == (CLOSED,)
    assert follow((CLOSED,), UNSURE, ()) == (CLOSED,)  # the answer was taken back


def test_the_questions_are_bounded_in_number_and_length() -> None:
    many = tuple(ProgramQuestion(f"app{number}", "App") for number in range(MAX_QUESTIONS))
    assert follow(many, UNSURE, ()) == many
    (question,) = follow((), replace(UNSURE, app_title="x" * 1000), ())
    assert len(question.title) == 80


def test_a_busy_program_in_a_window_is_asked_about_while_potluck_serves() -> None:
    serving = replace(UNSURE, state=State.SERVING, reason=Reason.NONE, app="", app_title="")
    busy = Evidence(Reason.FULL_SCREEN, "Hedgewars", app="hedgewars")
    assert follow((), serving, (), (busy, busy)) == (OPEN,)
    assert follow((), serving, ("Hedgewars",), (busy,)) == ()
    assert follow((CLOSED,), UNSURE, (), (busy,)) == (CLOSED,)
