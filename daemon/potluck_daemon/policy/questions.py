"""Decides whether to ask the user if a program that is busy, full-screen or in a window is a game. Pure.

The lists "always step aside" and "never step aside" hold the answers. A question is kept after its answer, even if the
user revokes the answer, so that nobody is asked twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

from msgspec import structs
from potluck_control.api.schema import ProgramQuestion
from potluck_control.methods.machine import check_app
from potluck_control.states import Reason, State

from potluck_daemon.policy.model import Decision, Evidence

MAX_QUESTIONS = 100  # the user is never asked more than this
_MAX_TITLE_LETTERS = 80  # a window may have any title


def next_questions(
    questions: tuple[ProgramQuestion, ...],
    decision: Decision,
    listed: Iterable[str],
    unsure: Sequence[Evidence] = (),
) -> tuple[ProgramQuestion, ...]:
    """Return all questions after a decision.

    Args:
        listed: the programs of both lists, whose questions are answered.
        unsure: the programs in windows that are busy, and for which nothing was given back.
    """
    answered = {name.lower() for name in listed}
    kept = tuple(structs.replace(item, is_open=item.is_open and item.app.lower() not in answered) for item in questions)
    stepped_aside = decision.state is State.YIELDED and decision.reason is Reason.FULL_SCREEN
    programs = [(decision.app, decision.app_title or decision.app)] if stepped_aside else []
    for app, title in (*programs, *((item.app, str(item.who)) for item in unsure)):
        seen = answered | {item.app.lower() for item in kept}
        if app.lower() in seen or len(kept) == MAX_QUESTIONS:
            continue
        with contextlib.suppress(ValueError):  # the lists take no such name
            check_app(app)
            kept = (*kept, ProgramQuestion(app, title[:_MAX_TITLE_LETTERS]))
    return kept
