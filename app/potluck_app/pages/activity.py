"""The page Activity: what happened and why, the newest first; and programs that Potluck never steps aside for."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from itertools import groupby, pairwise

from potluck_control import schema
from potluck_control.methods import programs
from potluck_control.methods.programs import PlacedProgram, PlaceParams, ProgramPlace, Programs
from potluck_control.schema import HistoryPage, HistoryParams, Status, Transition
from potluck_control.states import Reason, State
from PySide6.QtWidgets import QWidget

from potluck_app.pages.page import DaemonCaller, Page
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import Card, Pot, divided, text
from potluck_app.widgets.layout import Slot, column, holder, row
from potluck_app.widgets.notice import Notice
from potluck_app.widgets.placeholder import Waiting
from potluck_app.widgets.row import Row
from potluck_app.widgets.segments import Segments
from potluck_app.widgets.theme import Type
from potluck_app.words import dates, sentences, states
from potluck_app.words.daemon_texts import translated

_FEW, _MANY = 40, 400
_POT, _TIME_WIDTH = 22, 48
_TOGETHER_S = 60.0


class Filter(Enum):
    """The value is what the history is asked for."""

    ALL = tuple(State)  # an empty one is lost in Python 3.11.2
    ASIDE = (State.YIELDED, State.DRAINING, State.PAUSED)
    PROBLEMS = (State.ERROR,)


def worth_showing(transitions: Sequence[Transition]) -> list[Transition]:
    """Return what deserves a line, oldest first: nothing is said twice on the way to a state."""
    return [first for first, second in pairwise(transitions) if not _is_on_the_way(first, second)] + list(
        transitions[-1:]
    )


def _is_on_the_way(first: Transition, second: Transition) -> bool:
    """Tell whether `first` only leads to `second`: it stepped aside, or loaded one layer after the other."""
    if first.state is State.DRAINING:
        return (first.reason, first.app) == (second.reason, second.app)
    is_growing = first.state is second.state is State.SERVING and first.reason is second.reason is Reason.NONE
    return is_growing and second.at - first.at < _TOGETHER_S


class ActivityPage(Page):
    """Asks again when the state changes."""

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("Activity"))
        choices = (
            (Filter.ALL, self.tr("Everything")),
            (Filter.ASIDE, self.tr("Stepped aside")),
            (Filter.PROBLEMS, self.tr("Problems")),
        )
        self._filter: Segments[Filter] = Segments(self.tr("Show"), choices)
        self._undo, self._placed = Notice("good", "serving"), PlacedProgram("", ProgramPlace.NONE, ProgramPlace.NONE)
        self._shown: tuple[Transition, ...] | None = None
        self._ignored: tuple[str, ...] = ()
        self._since, self._limit = 0.0, _FEW
        self._days, self._never = Slot(), Slot()
        self._empty = Waiting("activity")
        self._more = Button(self.tr("Show more"), "down", "link", self._show_more, is_trailing=True)
        self._build()

    def show_status(self, status: Status) -> None:
        if status.since != self._since:
            self._since = status.since
            self.refresh()

    def refresh(self) -> None:
        self._ask_history()
        self.ask(programs.RUNNING, None, self._show_never)

    def _ask_history(self) -> None:
        wanted = self._filter.value
        params = HistoryParams(self._limit, states=wanted.value)
        self.ask(schema.HISTORY, params, lambda history: self._show(history) if wanted is self._filter.value else None)

    def _show(self, history: HistoryPage) -> None:
        if history.transitions == self._shown:
            return
        self._shown = history.transitions
        newest_first = reversed(worth_showing(history.transitions))
        offered = set(self._ignored)
        days = groupby(newest_first, lambda transition: dates.day(transition.at))
        cards = [self._day(day, list(transitions), offered) for day, transitions in days]
        self._days.show_content(holder(column(*cards, spacing=theme.SPACE_L)))
        self._empty.say(self.tr("Nothing here yet"))
        self._empty.setVisible(not history.transitions)
        self._more.setVisible(len(history.transitions) == _FEW)

    def _day(self, day: str, transitions: list[Transition], offered: set[str]) -> Card:
        """Return the card of a day. `offered`: programs that need no button any more; grows."""
        lines = []
        for transition in transitions:
            lines.append(self._line(transition, can_ignore=bool({transition.app} - offered - {""})))
            offered.add(transition.app)
        return Card(day, *divided(lines))

    def _line(self, transition: Transition, *, can_ignore: bool) -> QWidget:
        at = text("muted", said=dates.time_of_day(transition.at))
        at.setFixedWidth(_TIME_WIDTH)
        state, said = states.state(transition.state, transition.reason), translated(transition.text)
        details = (text("muted", said=said),) if said != state else ()
        texts = column(text(kind=Type.STRONG, said=state), *details, None, spacing=2)
        button = (column(None, self._never_button(transition), None),) if can_ignore else ()
        return holder(row(column(at, None), column(Pot(_POT, transition.state), None), (texts, 1), *button))

    def _never_button(self, transition: Transition) -> Button:
        name = sentences.short(transition.app_title or transition.app)
        about = self.tr("Never step aside for {program}").format(program=name)
        place = partial(self._place, transition.app, ProgramPlace.NEVER)
        button = Button(self.tr("Never for this app"), "off", act=place, about=about)
        button.setToolTip(self.tr("Keep serving while {program} runs").format(program=name))
        return button

    def _show_never(self, found: Programs) -> None:
        if found.never == self._ignored:
            return
        self._ignored = found.never
        rows = []
        for app in found.never:
            about = self.tr("Step aside for {program} again").format(program=app)
            back = partial(self._place, app, ProgramPlace.NONE)
            rows.append(Row(app, "", Button(self.tr("Remove"), "undo", act=back, about=about)))
        self._never.show_content(Card(self.tr("Never step aside for"), *divided(rows)))
        self._never.setVisible(bool(found.never))
        self._shown = None  # its buttons may have to go
        self._ask_history()

    def _place(self, app: str, place: ProgramPlace) -> None:
        self.ask(programs.PLACE, PlaceParams(app, place), self._offer_undo)

    def _offer_undo(self, placed: PlacedProgram) -> None:
        self._placed = placed
        if placed.place is ProgramPlace.NEVER:
            said = self.tr("Potluck now keeps serving while {program} runs.")
        else:
            said = self.tr("Potluck steps aside for {program} again.")
        self._undo.say(said.format(program=placed.app), self.tr("Undo"))
        self.refresh()

    def _take_back(self) -> None:
        self._undo.hide()
        done = PlaceParams(self._placed.app, self._placed.before)
        self.ask(programs.PLACE, done, lambda _: self.refresh())

    def _show_more(self) -> None:
        self._limit = _MANY
        self.refresh()

    def _choose(self) -> None:
        self._limit = _FEW
        self.refresh()

    def _build(self) -> None:
        self.head.addWidget(self._filter)
        self.setFocusProxy(self._filter)
        self._filter.chosen.connect(lambda _: self._choose())
        self._undo.pressed.connect(self._take_back)
        self._more.hide()
        for widget in (self._undo, self._empty, self._days):
            self.column.addWidget(widget)
        self.column.addLayout(row(None, self._more, None))
        self.column.addWidget(self._never)
        self._never.hide()
