"""What happened on this computer and why, the newest first: a few rows, and more on request."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from itertools import groupby, zip_longest

from msgspec import structs
from potluck_control.api import schema
from potluck_control.methods import machine
from potluck_control.methods.machine import PlacedProgram, PlaceParams, ProgramPlace
from potluck_control.states import Reason, State
from PySide6.QtWidgets import QWidget

from potluck_app.pages.destination import Destination
from potluck_app.pages.page import Page, PageSection
from potluck_app.widgets.button import Button
from potluck_app.widgets.controls import Segments
from potluck_app.widgets.parts import (
    Card,
    ContentArea,
    StateIcon,
    caption,
    column,
    divided,
    headline,
    holder,
    muted,
    row,
    strong,
)
from potluck_app.words import formats, sentences, states

_FEW, _MANY = 5, 400
_POT, _TIME_WIDTH = 22, 48
_NOTHING = PlacedProgram("", ProgramPlace.NONE, ProgramPlace.NONE)
_STARTING_S = 600.0  # an engine that takes longer to load is worth a row


class ActivityFilter(Enum):
    """A choice of what is listed. The value is the states that it lets through."""

    ALL = tuple(State)
    ASIDE = (State.YIELDED, State.DRAINING, State.PAUSED)
    PROBLEMS = (State.ERROR,)


def worth_showing(transitions: Sequence[schema.Transition]) -> list[schema.Transition]:
    """Return what happened to the person, oldest first: no step on the way to a state, and nothing twice in a row."""
    rows: list[schema.Transition] = []
    for first, second in zip_longest(transitions, transitions[1:]):
        if second is not None and _is_on_the_way(first, second):
            continue
        if rows and _is_one(rows[-1], first):
            rows[-1] = structs.replace(first, at=rows[-1].at)
        else:
            rows.append(first)
    return rows


def _is_on_the_way(first: schema.Transition, second: schema.Transition) -> bool:
    """Tell whether `first` only leads to `second`: the engine gave way, waited for a moment or a swarm, or started."""
    if first.state is State.DRAINING:
        return (first.reason, first.app) == (second.reason, second.app)
    is_starting = first.state in (State.STARTING, State.JOINING) and first.reason is Reason.NONE
    return first.reason in (Reason.QUIET_TIME, Reason.NO_SWARM) or (is_starting and second.at - first.at < _STARTING_S)


def _is_one(first: schema.Transition, second: schema.Transition) -> bool:
    """Tell whether both are the same for the person, such as serving other layers, or more slowly."""
    if first.state is second.state is State.SERVING:
        return True
    return (first.state, first.reason, first.app) == (second.state, second.reason, second.app)


class ActivitySection(PageSection):
    """The card of what happened. It asks again when the state changes.

    Its destination is for somebody who wants no more stepping aside for the program that runs now.
    """

    part = Destination.NEVER

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        choices = (
            (ActivityFilter.ALL, self.tr("Everything")),
            (ActivityFilter.ASIDE, self.tr("Stepped aside")),
            (ActivityFilter.PROBLEMS, self.tr("Problems")),
        )
        self._filter: Segments[ActivityFilter] = Segments(self.tr("Show"), choices)
        self._placed = _NOTHING
        self._transitions: Sequence[schema.Transition] = ()
        self._shown: list[schema.Transition] | None = None
        self._since, self._app = 0.0, ""
        self._rows, self._more = ContentArea(), Button(self.tr("Show more"), "down", "link", is_trailing=True)
        self._more.setCheckable(True)
        self._more.toggled.connect(self._show_more)
        self._more.hide()
        self._filter.hide()
        self._filter.chosen.connect(lambda _: self._show_rows())
        head = row((headline(self.tr("What happened")), 1), self._filter)
        self.fill(Card("", head, self._rows, row(None, self._more, None)))

    def show_status(self, status: schema.Status) -> None:
        self._app = status.app
        if status.since != self._since:
            self._since = status.since
            self.refresh()

    def enter(self, swarm: str = "") -> None:
        super().enter(swarm)
        if self._app:
            self._place(self._app)

    def refresh(self) -> None:
        self.page.call(schema.HISTORY, schema.HistoryParams(_MANY), self._show)

    def _show(self, history: schema.HistoryPage) -> None:
        self._transitions = history.transitions
        self._show_rows()

    def _show_more(self, is_long: bool) -> None:
        self._more.setText(self.tr("Show less") if is_long else self.tr("Show more"))
        self._filter.setVisible(is_long)
        self._filter.choose(ActivityFilter.ALL)
        self._show_rows()

    def _show_rows(self) -> None:
        newest_first = worth_showing(self._transitions)[::-1]
        is_long, passed = self._more.isChecked(), self._filter.value.value
        rows = [item for item in newest_first if item.state in passed] if is_long else newest_first[:_FEW]
        self._more.setVisible(len(newest_first) > _FEW)
        if rows == self._shown:
            return
        self._shown = rows
        lines: list[QWidget] = [] if rows else [muted(self.tr("Nothing here yet"))]
        offered = {"", self._placed.app if self._placed.place is ProgramPlace.NEVER else ""}
        for day, of_day in groupby(rows, lambda item: formats.day(item.at)):
            lines.append(caption(day))
            lines += divided([self._line(item, offered) for item in of_day])
        self._rows.show_items(*lines)

    def _line(self, transition: schema.Transition, offered: set[str]) -> QWidget:
        """Return the line. `offered`: programs that need no button any more; grows."""
        at = muted(formats.time_of_day(transition.at))
        at.setFixedWidth(_TIME_WIDTH)
        state, why = states.past_state(transition.state, transition.reason), sentences.translated(transition.text)
        details = (muted(why),) if why != state else ()
        texts = column(strong(state), *details, None, spacing=2)
        button = () if transition.app in offered else (column(None, self._never_button(transition), None),)
        offered.add(transition.app)
        return holder(row(column(at, None), column(StateIcon(_POT, transition.state), None), (texts, 1), *button))

    def _never_button(self, transition: schema.Transition) -> Button:
        name = sentences.short(transition.app_title or transition.app)
        about = self.tr("Never step aside for {program}").format(program=name)
        place = partial(self._place, transition.app)
        button = Button(self.tr("Never for this app"), "off", act=place, about=about)
        button.setToolTip(self.tr("Keep serving while {program} runs").format(program=name))
        return button

    def _place(self, app: str) -> None:
        self.page.call(machine.PLACE_PROGRAM, PlaceParams(app, ProgramPlace.NEVER), self._offer_undo)

    def _offer_undo(self, placed: PlacedProgram) -> None:
        self._placed, self._shown = placed, None  # the buttons of its rows may have to go
        done = self.tr("Potluck now keeps serving while {program} runs.")
        self.page.announce(done.format(program=placed.app), self.tr("Undo"), self._undo)
        self._show_rows()

    def _undo(self) -> None:
        undo = PlaceParams(self._placed.app, self._placed.before)
        self._placed, self._shown = _NOTHING, None
        self.page.call(machine.PLACE_PROGRAM, undo, lambda _: self._show_rows())
