"""Which events deserve a notification: errors, an update, a milestone, a pause that was perhaps forgotten, a friend who
joined, and a model that became complete or lacks a layer.

Pure: each method takes what happens and when, and returns a notification or None. Whether the user wants any is decided
elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from potluck_control.api.schema import Status
from potluck_control.api.versions import Agreement, Difference
from potluck_control.methods.installation import UpdatesState
from potluck_control.states import Reason, State

from potluck_app.pages.preferences import NewsKind
from potluck_app.words import formats, layers, sentences
from potluck_app.words.language import tr

if TYPE_CHECKING:
    from potluck_control.methods.members import MembersList

ERRORS_APART_S = 3600.0  # an engine that keeps failing is one piece of news
FORGOTTEN_S = 3 * 3600.0  # age at which a pause without an end is mentioned, once
MISSING_S = 60.0  # a server that restarts is away for a shorter time
_MILESTONES = tuple(10**power for power in range(3, 16))


@dataclass(frozen=True, slots=True)
class Notification:
    """A message for the desktop to show."""

    heading: str
    text: str
    news: NewsKind = NewsKind.PROBLEM


class Notifier:
    """Decides what to notify of, and remembers what it has said already."""

    def __init__(self) -> None:
        self._error_at: float | None = None
        self._error_since: float | None = None
        self._pause: float | None = None
        self._earned: int | None = None
        self._difference = Difference.NONE
        self._coverage = _Coverage("")
        self._people: MembersList | None = None
        self._offered = ""

    def status(self, status: Status, now: float) -> Notification | None:
        """Report an error, or a pause that was perhaps forgotten. `now`: Unix seconds."""
        if status.state is State.ERROR:
            return self._error(status, now)
        if status.state is State.PAUSED and status.reason is Reason.USER and status.until is None:
            return self._paused(status, now)
        return None

    def coverage(self, status: Status, now: float) -> Notification | None:
        """Report that the model of the served swarm became complete, or has lacked a layer for `MISSING_S`."""
        swarm = status.swarm
        if swarm is None or not swarm.is_live:  # the coverage is from before this computer paused
            return None
        before = self._coverage if self._coverage.swarm == swarm.name else _Coverage(swarm.name)
        if 0 not in swarm.coverage:
            self._coverage = _Coverage(swarm.name, is_complete=True)
            text = tr("Every layer of {model} is served. You can chat now.").format(model=layers.model(swarm.model))
            is_news = before.is_complete is False
            return Notification(tr("The model is complete"), text, NewsKind.COMPLETE) if is_news else None
        since = now if before.since is None else before.since
        is_news = before.is_complete is not False and now - since >= MISSING_S
        self._coverage = _Coverage(swarm.name, False if is_news else before.is_complete, since)
        lacking = f"{layers.coverage(swarm.coverage, swarm.num_blocks)} ({layers.model(swarm.model)})"
        return Notification(tr("A layer is missing"), lacking, NewsKind.MISSING) if is_news else None

    def people(self, found: MembersList) -> Notification | None:
        """Report who joined, and for whom the user has to decide; the first list is no news."""
        before, self._people = self._people or found, found
        if before.swarm != found.swarm:
            return None
        if found.asking not in ("", before.asking):
            text = tr("{name} asks to be one of your computers. Confirm it on the page Swarm.")
            return Notification(tr("Another computer of yours?"), text.format(name=found.asking), NewsKind.FRIEND)
        known = {member.id for member in before.members}
        waited = {member.id for member in before.members if member.waits}
        waiting = [member.name for member in found.members if member.waits and member.id not in waited]
        names = [member.name for member in found.members if member.id not in known and not member.is_you]
        heading, text = tr("A friend joined"), tr("{names} joined the swarm “{swarm}”.")
        if waiting:
            heading = tr("Somebody waits to be let in")
            text = tr("Waiting to be let into the swarm “{swarm}”: {names}. Decide on the page Swarm.")
        text = text.format(names=", ".join(waiting or names), swarm=found.swarm)
        return Notification(heading, text, NewsKind.FRIEND) if waiting or names else None

    def updates(self, state: UpdatesState) -> Notification | None:
        """Report each newer version once."""
        offered = state.offered.version if state.offered is not None else ""
        is_new = offered not in ("", self._offered)
        self._offered = offered or self._offered
        text = tr("Potluck {version} is available.").format(version=offered)
        return Notification(tr("An update is ready"), text, NewsKind.UPDATE) if is_new else None

    def agreement(self, agreement: Agreement) -> Notification | None:
        """Report each kind of difference between the versions once."""
        is_new = agreement.difference not in (self._difference, Difference.NONE)
        self._difference = agreement.difference
        return Notification(tr("Potluck was updated"), sentences.difference(agreement)) if is_new else None

    def earned(self, points: int) -> Notification | None:
        """Report milestones of all points ever earned; the first number is no news."""
        before, self._earned = self._earned, points
        passed = [milestone for milestone in _MILESTONES if before is not None and before < milestone <= points]
        text = tr("You earned {points} points. Thank you!")
        text = text.format(points=formats.points(max(passed, default=0)))
        return Notification(tr("Milestone"), text, NewsKind.MILESTONE) if passed else None

    def _error(self, status: Status, now: float) -> Notification | None:
        is_known = status.since == self._error_since
        is_soon = self._error_at is not None and now - self._error_at < ERRORS_APART_S
        self._error_since = status.since
        if is_known or is_soon:
            return None
        self._error_at = now
        return Notification(tr("Potluck needs attention"), sentences.translated(status.text))

    def _paused(self, status: Status, now: float) -> Notification | None:
        if status.since == self._pause or now - status.since < FORGOTTEN_S:
            return None
        self._pause = status.since
        text = tr("Paused since {time}. Resume from the tray menu.")
        return Notification(tr("Still paused"), text.format(time=formats.clock(status.since)))


@dataclass(frozen=True, slots=True)
class _Coverage:
    """What is known of a swarm's model, and what was reported.

    Attributes:
        is_complete: as reported; None: nothing was.
        since: when a layer began to lack, in Unix seconds.
    """

    swarm: str
    is_complete: bool | None = None
    since: float | None = None
