"""The page When to donate: who comes first, which hours, other rules, and what starts with the computer."""

from __future__ import annotations

from potluck_control.methods import programs
from potluck_control.methods.programs import PlacedProgram, ProgramPlace
from potluck_control.methods.settings import Change, Setting
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from potluck_app.pages.login import Login
from potluck_app.pages.page import DaemonCaller
from potluck_app.pages.program_lists import ProgramList
from potluck_app.pages.settings_page import SettingsForm, rows
from potluck_app.widgets import theme, week_grid
from potluck_app.widgets.button import Button
from potluck_app.widgets.card import card, line, text
from potluck_app.widgets.theme import Type
from potluck_app.widgets.week_grid import WeekGrid

_HOURS = "when.hours"
_NIGHT, _DAY = ("mon-sun 22:00-07:00",), ("mon-sun 07:00-22:00",)


class WhenPage(SettingsForm):
    """Looks at running programs again while somebody looks."""

    AGAIN_MS = 5000

    def __init__(self, link: DaemonCaller) -> None:
        super().__init__(link, self.tr("When to donate"))
        self._grid = WeekGrid(self.tr("Hours of the week in which to donate"))
        self._hours_note = text("muted", kind=Type.CAPTION)
        self._login = Login(self)
        self._always = ProgramList(
            ProgramPlace.ALWAYS,
            self.tr("Always step aside for"),
            self.tr("Whenever one of these runs, it has the computer for itself."),
        )
        self._never = ProgramList(
            ProgramPlace.NEVER,
            self.tr("Never step aside for"),
            self.tr("Programs that look like a game and are none."),
        )
        for listed in (self._always, self._never):
            listed.placed.connect(lambda params: self.ask(programs.PLACE, params, self._placed))
        self._grid.changed.connect(self._paint_hours)
        cards = (self._games(), self._presence(), self._hours(), self._always, self._never, self._travel())
        for widget in (*cards, self._start()):
            self.column.addWidget(widget)

    def refresh(self) -> None:
        super().refresh()
        self.ask(programs.RUNNING, None, self._show_programs)
        self._login.refresh()

    def show_settings(self, found: dict[str, Setting]) -> None:
        hours = found.get(_HOURS)
        if hours is None or not isinstance(hours.value, tuple | list):
            self._grid.setEnabled(False)
            return
        lines = tuple(map(str, hours.value))
        self._grid.setEnabled(not hours.overridden_by)
        self._grid.show_hours(week_grid.from_lines(lines))
        self._hours_note.setText(self._said_of(lines))

    def _said_of(self, lines: tuple[str, ...]) -> str:
        if not lines:
            return self.tr("At any time. Click hours or drag over them to leave them out.")
        said = self.tr("Only in the filled hours.")
        if not week_grid.is_exact(lines):
            said += " " + self.tr(
                "Your settings are exact to the minute: {hours}. Painting rounds them to hours."
            ).format(hours=", ".join(lines))
        return said

    def _paint_hours(self, hours: frozenset[int]) -> None:
        if hours:
            self.change(Change(_HOURS, week_grid.to_lines(hours)))
        else:
            self._hours_note.setText(
                self.tr("No hour is left, so nothing was changed. To stop donating, use the menu.")
            )

    def _show_programs(self, found: programs.Programs) -> None:
        self._always.show_programs(found)
        self._never.show_programs(found)

    def _placed(self, placed: PlacedProgram) -> None:
        said = {
            ProgramPlace.ALWAYS: self.tr("From now on, Potluck steps aside whenever {program} runs."),
            ProgramPlace.NEVER: self.tr("From now on, Potluck goes on serving while {program} runs."),
            ProgramPlace.NONE: self.tr("{program} is judged by what it does again."),
        }
        self.tell(said[placed.place].format(program=placed.app))
        self.ask(programs.RUNNING, None, self._show_programs)

    def _games(self) -> QFrame:
        frame, column = card(self.tr("Games come first"))
        said = self.tr("When a game starts, its graphics memory is free within a second. Donating goes on by itself.")
        column.addWidget(text("muted", kind=Type.CAPTION, said=said))
        more, signs = Button(self.tr("What counts as a game"), "down", "link", is_trailing=True), self._signs()
        more.setCheckable(True)
        more.toggled.connect(signs.setVisible)
        rows(
            column,
            self.number(
                "yield.quiet_certain_s",
                self.tr("Wait after a game"),
                self.tr("Enough to start the next round undisturbed."),
                unit=self.tr("s"),
            ),
            self.flag(
                "yield.same_gpu_only",
                self.tr("Go on with the other graphics cards"),
                self.tr("Step aside only on the card that the game uses, if that is known."),
            ),
        )
        foot = QHBoxLayout()
        foot.addWidget(more)
        foot.addStretch(1)
        column.addLayout(foot)
        column.addWidget(signs)
        return frame

    def _signs(self) -> QWidget:
        around, column = QWidget(), QVBoxLayout()
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.SPACE_M)
        around.setLayout(column)
        around.hide()
        column.addWidget(line())
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
        )
        return around

    def _presence(self) -> QFrame:
        frame, column = card(self.tr("While you are here"))
        rows(
            column,
            self.number(
                "when.active_percent",
                self.tr("Speed while I use the computer"),
                self.tr("100 % is as fast as it can."),
                unit="%",
            ),
            self.flag("when.only_when_idle", self.tr("Donate only while I am away")),
            self.number(
                "when.idle_after_s",
                self.tr("Away after"),
                self.tr("Keyboard and mouse have not been touched for so long."),
                unit=self.tr("min"),
                scale=60,
            ),
            self.flag("yield.other_users", self.tr("Step aside for other users who sit at the computer")),
        )
        return frame

    def _hours(self) -> QFrame:
        frame, column = card(self.tr("Hours of the week"))
        row = QHBoxLayout()
        row.setSpacing(theme.SPACE_S)
        row.addWidget(self._hours_note, 1)
        for said, lines in (
            (self.tr("At any time"), None),
            (self.tr("Only at night"), _NIGHT),
            (self.tr("Not at night"), _DAY),
        ):
            button = Button(said, "", "link")
            button.clicked.connect(lambda _=False, lines=lines: self.change(Change(_HOURS, lines)))
            row.addWidget(button)
        column.addWidget(self._grid)
        column.addLayout(row)
        return frame

    def _travel(self) -> QFrame:
        frame, column = card(self.tr("On the move"))
        rows(
            column,
            self.flag("when.on_battery", self.tr("Donate on battery as well")),
            self.flag("when.on_metered", self.tr("Donate over a metered network as well")),
        )
        return frame

    def _start(self) -> QFrame:
        frame, column = card(self.tr("When you log in"))
        column.addWidget(self._login)
        return frame
