"""Asks the user once about each program that only fills the screen and is busy: is it a game? Pure.

The answers are the lists "always" and "never step aside". A question that was asked is kept after its answer, also if
that is taken back, so that it is never asked again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from potluck_control.methods.programs import check_app
from potluck_control.schema import ProgramQuestion
from potluck_control.states import Reason, State

from potluck_daemon.policy.decide import Decision

MAX_QUESTIONS = 100  # asked in all; after that nothing is asked any more
_MAX_TITLE = 80  # letters: a window may bear any name


def follow(
    questions: tuple[ProgramQuestion, ...], decision: Decision, listed: Iterable[str]
) -> tuple[ProgramQuestion, ...]:
    """Return all questions after a decision. `listed`: the programs of both lists, whose questions are answered."""
    answered = {name.lower() for name in listed}
    kept = tuple(replace(item, is_open=item.is_open and item.app.lower() not in answered) for item in questions)
    is_unsure = decision.state is State.YIELDED and decision.reason is Reason.FULL_SCREEN
    seen = answered | {item.app.lower() for item in kept}
    if not is_unsure or decision.app.lower() in seen or len(kept) >= MAX_QUESTIONS or not _is_name(decision.app):
        return kept
    return (*kept, ProgramQuestion(decision.app, (decision.app_title or decision.app)[:_MAX_TITLE]))


def _is_name(app: str) -> bool:
    try:
        check_app(app)
    except ValueError:
        return False
    return True
