"""The page When to donate: which signs of a game count, whose programs, which hours, and other rules."""

from __future__ import annotations

from potluck_daemon.control.methods import programs
from potluck_daemon.control.methods.programs import Place, Placed, PlaceParams
from potluck_daemon.control.methods.settings import Setting
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from potluck_app import week_grid
from potluck_app.button import Button
from potluck_app.card import card, text
from potluck_app.page import Link
from potluck_app.program_lists import ProgramList
from potluck_app.settings_page import SettingsForm, rows
from potluck_app.theme import Type
from potluck_app.week_grid import WeekGrid

_HOURS = "when.hours"


class WhenPage(SettingsForm):
    """Looks at running programs again while somebody looks."""

    AGAIN_MS = 5000

    def __init__(self, link: Link) -> None:
        super().__init__(link, self.tr("When to donate"))
        self._grid = WeekGrid(self.tr("Hours of the week in which to donate"))
        self._hours_note = text("muted", kind=Type.CAPTION)
        self._always = ProgramList(
            Place.ALWAYS,
            self.tr("Always step aside for"),
            self.tr("Whenever one of these runs, it has the graphics card for itself."),
        )
        self._never = ProgramList(
            Place.NEVER,
            self.tr("Never step aside for"),
            self.tr("These may look like a game and are none."),
        )
        for listed in (self._always, self._never):
            listed.placed.connect(self._place)
        self._grid.changed.connect(self._paint_hours)
        for widget in (self._games(), self._always, self._never, self._presence(), self._hours(), self._power()):
            self.column.addWidget(widget)

    def refresh(self) -> None:
        super().refresh()
        self.ask(programs.RUNNING, None, self._show_programs)

    def show_settings(self, page: dict[str, Setting]) -> None:
        hours = page.get(_HOURS)
        if hours is None or not isinstance(hours.value, tuple | list):
            self._grid.setEnabled(False)
            return
        lines = tuple(map(str, hours.value))
        self._grid.setEnabled(not hours.overridden_by)
        self._grid.show_hours(week_grid.from_lines(lines))
        self._hours_note.setText(self._said_of(lines))

    def _said_of(self, lines: tuple[str, ...]) -> str:
        if not lines:
            return self.tr("At any time. Click hours, or drag over them, to leave them out.")
        said = self.tr("Only in the filled hours: {hours}.").format(hours=", ".join(lines))
        if not week_grid.is_exact(lines):
            said += " " + self.tr("The times are exact to the minute; painting rounds them to hours.")
        return said

    def _paint_hours(self, hours: frozenset[int]) -> None:
        if hours:
            self.change(_HOURS, week_grid.to_lines(hours))
        else:
            self._hours_note.setText(self.tr("No hour is left. To donate never, pause instead. Nothing was changed."))

    def _show_programs(self, found: programs.Programs) -> None:
        self._always.show_programs(found)
        self._never.show_programs(found)

    def _place(self, params: PlaceParams) -> None:
        self.ask(programs.PLACE, params, self._placed)

    def _placed(self, placed: Placed) -> None:
        self.tell(self._words_of(placed))
        self.ask(programs.RUNNING, None, self._show_programs)

    def _words_of(self, placed: Placed) -> str:
        said = {
            Place.ALWAYS: self.tr("From now on, everything is given to {program} while it runs."),
            Place.NEVER: self.tr("From now on, {program} is never stepped aside for."),
            Place.NONE: self.tr("{program} is judged by what it does again."),
        }
        return said[placed.place].format(program=placed.app)

    def _games(self) -> QFrame:
        frame, column = card(self.tr("Games"))
        column.addWidget(
            text(
                "muted", kind=Type.CAPTION, said=self.tr("What counts as a sign that somebody plays on this computer.")
            )
        )
        rows(
            column,
            self.flag("yield.steam", self.tr("Games that Steam runs")),
            self.flag("yield.gamemode", self.tr("Games that ask for GameMode")),
            self.flag("yield.wine", self.tr("Windows games with Proton or Wine")),
            self.flag("yield.gamescope", self.tr("What runs in gamescope")),
            self.flag(
                "yield.full_screen",
                self.tr("Full-screen programs that are busy"),
                self.tr("Players of videos, browsers and screen savers do not count."),
            ),
            self.flag("yield.gpu_use", self.tr("Programs that keep a graphics card busy")),
            self.flag("yield.memory", self.tr("Programs that need the memory")),
            self.flag(
                "yield.same_gpu_only",
                self.tr("Go on with the other graphics cards"),
                self.tr("Step aside only on the card that the game uses, if that is known."),
            ),
            self.number(
                "yield.quiet_certain_s",
                self.tr("Wait after a game"),
                self.tr("So long after it ended, donating begins again."),
                unit=self.tr("s"),
            ),
        )
        return frame

    def _presence(self) -> QFrame:
        frame, column = card(self.tr("While you are here"))
        rows(
            column,
            self.flag(
                "when.only_when_idle",
                self.tr("Only when I am away"),
                self.tr("Keyboard and mouse have not been touched for a while."),
            ),
            self.number("when.idle_after_s", self.tr("Away after"), unit=self.tr("min"), scale=60),
            self.number(
                "when.active_percent",
                self.tr("Speed while I use the computer"),
                self.tr("100 % is as fast as it can."),
                unit="%",
            ),
            self.flag("yield.other_users", self.tr("Step aside for other users who sit at the computer")),
        )
        return frame

    def _hours(self) -> QFrame:
        frame, column = card(self.tr("Hours of the week"))
        always = Button(self.tr("At any time"), "", "link")
        always.clicked.connect(lambda: self.change(_HOURS, None))
        row = QHBoxLayout()
        row.addWidget(self._hours_note, 1)
        row.addWidget(always)
        column.addWidget(self._grid)
        column.addLayout(row)
        return frame

    def _power(self) -> QWidget:
        frame, column = card(self.tr("On the move"))
        rows(
            column,
            self.flag("when.on_battery", self.tr("Donate on battery as well")),
            self.flag("when.on_metered", self.tr("Donate over a metered network as well")),
        )
        return frame
