"""Decides which events deserve a notification: errors, an update, a milestone, a pause that was perhaps forgotten.

Pure: it takes what happens and when, and returns a notification or None. It does not know whether the user wants any.
"""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.agreement import Agreement, Difference
from potluck_control.schema import Status
from potluck_control.states import Reason, State

from potluck_app.words import dates, numbers, sentences
from potluck_app.words.daemon_texts import translated
from potluck_app.words.language import tr

ERRORS_APART_S = 3600.0  # an engine that fails again and again is one piece of news
FORGOTTEN_S = 3 * 3600.0  # after which a pause without an end is mentioned, once
_MILESTONES = tuple(10**power for power in range(3, 16))  # points


@dataclass(frozen=True, slots=True)
class Notification:
    heading: str
    text: str


class Notifier:
    """Remembers what it has said already."""

    def __init__(self) -> None:
        self._error_at: float | None = None
        self._error_since: float | None = None
        self._pause: float | None = None
        self._earned: int | None = None
        self._difference = Difference.NONE

    def status(self, status: Status, now: float) -> Notification | None:
        """Notice an error or a forgotten pause. `now`: Unix seconds."""
        if status.state is State.ERROR:
            return self._error(status, now)
        if status.state is State.PAUSED and status.reason is Reason.USER and status.until is None:
            return self._paused(status, now)
        return None

    def agreement(self, agreement: Agreement) -> Notification | None:
        """Warn once of each kind of difference."""
        is_new = agreement.difference not in (self._difference, Difference.NONE)
        self._difference = agreement.difference
        if not is_new:
            return None
        return _updated(agreement)

    def earned(self, points: int) -> Notification | None:
        """Notice milestones of all points ever earned; the first number is no news."""
        before, self._earned = self._earned, points
        if before is None:
            return None
        passed = [milestone for milestone in _MILESTONES if before < milestone <= points]
        if not passed:
            return None
        return _milestone(passed[-1])

    def _error(self, status: Status, now: float) -> Notification | None:
        is_known = status.since == self._error_since
        is_soon = self._error_at is not None and now - self._error_at < ERRORS_APART_S
        self._error_since = status.since
        if is_known or is_soon:
            return None
        self._error_at = now
        return _failed(status)

    def _paused(self, status: Status, now: float) -> Notification | None:
        if status.since == self._pause or now - status.since < FORGOTTEN_S:
            return None
        self._pause = status.since
        return _still_paused(status)


def _failed(status: Status) -> Notification:
    return Notification(tr("Potluck needs attention"), translated(status.text))


def _updated(agreement: Agreement) -> Notification:
    return Notification(tr("Potluck was updated"), sentences.difference(agreement))


def _milestone(amount: int) -> Notification:
    said = tr("You earned {points} points. Thank you!")
    return Notification(tr("Milestone"), said.format(points=numbers.points(amount)))


def _still_paused(status: Status) -> Notification:
    said = tr("Paused since {time}. Resume from the tray menu.")
    return Notification(tr("Still paused"), said.format(time=dates.clock(status.since)))
