"""When to donate: who comes first, which hours, and other rules."""

from __future__ import annotations

from potluck_control.methods import programs
from potluck_control.methods.programs import PlacedProgram, ProgramPlace
from potluck_control.methods.settings import Change, Setting

from potluck_app.pages.page import Page
from potluck_app.pages.program_lists import ProgramList
from potluck_app.pages.section import Section
from potluck_app.pages.settings_form import SettingsForm
from potluck_app.widgets import theme, week_grid
from potluck_app.widgets.button import Button, Opener
from potluck_app.widgets.card import Card, divided, line, text
from potluck_app.widgets.layout import column, holder, row
from potluck_app.widgets.row import Row
from potluck_app.widgets.theme import Type
from potluck_app.widgets.week_grid import WeekGrid
from potluck_app.words.language import tr

_HOURS = "when.hours"
_NIGHT, _DAY = ("mon-sun 22:00-07:00",), ("mon-sun 07:00-22:00",)


class When(Section):
    """Looks at the running programs again with its page."""

    def __init__(self, page: SettingsForm) -> None:
        super().__init__(page)
        self._form = page
        self._grid = WeekGrid(self.tr("Hours of the week for donating"))
        self._hours_note = text("muted", kind=Type.CAPTION)
        self.fill(self._games(), self._presence(), self._hours())
        self._grid.changed.connect(self._paint_hours)

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
            return self.tr("At any time. Click or drag to leave hours out.")
        said = self.tr("Only during the filled hours.")
        if not week_grid.is_exact(lines):
            exact = self.tr("Your exact hours: {hours}. Painting rounds them to full hours.")
            said += " " + exact.format(hours=", ".join(lines))
        return said

    def _paint_hours(self, hours: frozenset[int]) -> None:
        if hours:
            self._form.change(Change(_HOURS, week_grid.to_lines(hours)))
        else:
            self._hours_note.setText(self.tr("At least one hour must stay. To stop donating, pause until you resume."))

    def _games(self) -> Card:
        signs = holder(column(line(), *divided(_signs(self._form))))
        more = Opener(self.tr("What counts as a game"), signs)
        quiet = self._form.number(
            "yield.quiet_certain_s",
            self.tr("Wait after a game"),
            self.tr("Time to start the next round undisturbed."),
            unit=self.tr("s"),
        )
        others = self._form.flag(
            "yield.same_gpu_only",
            self.tr("Keep using the other graphics cards"),
            self.tr("Free only the card that the game uses."),
        )
        note = self.tr("When a game starts, Potluck frees its graphics memory within a second.")
        head = text("muted", kind=Type.CAPTION, said=note)
        return Card(self.tr("Games come first"), head, *divided((quiet, others)), row(more, None), signs)

    def _presence(self) -> Card:
        return self._form.card(
            self.tr("While you are here"),
            self._form.number("when.active_percent", self.tr("Speed while I use the computer"), unit="%"),
            self._form.flag("when.only_when_idle", self.tr("Only while I'm away")),
            self._form.number(
                "when.idle_after_s",
                self.tr("Away after"),
                self.tr("This long without keyboard or mouse."),
                unit=self.tr("min"),
                scale=60,
            ),
            self._form.flag("yield.other_users", self.tr("Step aside for other users of this computer")),
            self._form.flag("when.on_battery", self.tr("Donate on battery power")),
            self._form.flag("when.on_metered", self.tr("Donate on metered networks")),
        )

    def _hours(self) -> Card:
        buttons = []
        for said, lines in (
            (self.tr("At any time"), None),
            (self.tr("Only at night"), _NIGHT),
            (self.tr("Not at night"), _DAY),
        ):
            buttons.append(Button(said, "", "link"))
            buttons[-1].clicked.connect(lambda _=False, lines=lines: self._form.change(Change(_HOURS, lines)))
        foot = row((self._hours_note, 1), *buttons, spacing=theme.SPACE_S)
        return Card(self.tr("Hours of the week"), self._grid, foot)


class Programs(Section):
    """The user's own lists of programs."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        always, stops = self.tr("Always step aside for"), self.tr("Potluck stops whenever one runs.")
        never, mistaken = self.tr("Never step aside for"), self.tr("Programs that Potluck mistakes for games.")
        self._always = ProgramList(ProgramPlace.ALWAYS, self._put, always, stops)
        self._never = ProgramList(ProgramPlace.NEVER, self._put, never, mistaken)
        self.fill(self._always, self._never)

    def refresh(self) -> None:
        self.page.ask(programs.RUNNING, None, self._show)

    def _show(self, found: programs.Programs) -> None:
        self._always.show_programs(found)
        self._never.show_programs(found)

    def _put(self, params: programs.PlaceParams) -> None:
        self.page.ask(programs.PLACE, params, self._placed)

    def _placed(self, placed: PlacedProgram) -> None:
        said = {
            ProgramPlace.ALWAYS: self.tr("Potluck now steps aside whenever {program} runs."),
            ProgramPlace.NEVER: self.tr("Potluck now keeps serving while {program} runs."),
            ProgramPlace.NONE: self.tr("{program} is no longer on a list."),
        }
        self.page.tell(said[placed.place].format(program=placed.app))
        self.page.ask(programs.RUNNING, None, self._show)


def _signs(page: SettingsForm) -> tuple[Row, ...]:
    return (
        page.flag("yield.steam", tr("Games started by Steam")),
        page.flag("yield.gamemode", tr("Games that use GameMode")),
        page.flag("yield.wine", tr("Windows games in Proton or Wine")),
        page.flag("yield.gamescope", tr("Programs in gamescope")),
        page.flag(
            "yield.full_screen",
            tr("Busy full-screen programs"),
            tr("Video players, browsers and screen savers do not count."),
        ),
        page.flag("yield.gpu_use", tr("Programs that keep a graphics card busy")),
        page.flag("yield.memory", tr("Programs that need the memory")),
    )
