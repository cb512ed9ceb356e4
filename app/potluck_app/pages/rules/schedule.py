"""When to donate: what comes first, which hours, and the programs to step aside for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from potluck_control.methods import machine
from potluck_control.methods.machine import PlacedProgram, PlaceParams, ProgramPlace, Programs
from potluck_control.methods.settings import Change, Setting

from potluck_app.pages.page import Page, PageSection
from potluck_app.pages.rules import week_grid
from potluck_app.pages.settings_form import SettingsForm
from potluck_app.widgets import theme
from potluck_app.widgets.button import Button, DisclosureButton
from potluck_app.widgets.controls import ComboBox
from potluck_app.widgets.parts import Card, ContentArea, caption, divided, divider, row, stack
from potluck_app.widgets.row import Row
from potluck_app.words.language import tr

_HOURS = "when.hours"
_NIGHT, _DAY = ("mon-sun 22:00-07:00",), ("mon-sun 07:00-22:00",)


class ProgramList(Card):
    """A card with one of the user's two lists of programs. `put` puts a program on it, or takes it off."""

    def __init__(self, place: ProgramPlace, put: Callable[[PlaceParams], object], title: str, explanation: str) -> None:
        super().__init__()
        self._place, self._put = place, put
        self._shown: tuple[tuple[str, ...], tuple[tuple[str, str], ...]] | None = None
        named = self.tr("Program for the list: {list}").format(list=title)
        self._choice, self._add = ComboBox(named), Button(self.tr("Add"), "plus", act=self._add_chosen)
        self._entries = ContentArea()
        self._prepare_choice()
        note = caption(explanation)
        self.fill(title, note, self._entries, row((self._choice, 1), self._add))

    def show_programs(self, found: Programs) -> None:
        listed = found.always if self._place is ProgramPlace.ALWAYS else found.never
        offered = tuple((item.app, item.title) for item in found.running if item.place is not self._place)
        if (listed, offered) == self._shown or self._choice.view().isVisible():
            return  # nothing new, or somebody is choosing
        self._shown = (listed, offered)
        titles = {program.app: program.title for program in found.running}
        entries = divided(self._entry(app, titles.get(app, app)) for app in listed)
        self._entries.show_items(*entries, spacing=theme.SPACE_S)
        typed = self._choice.currentText()
        self._choice.clear()
        for app, title in offered:
            self._choice.addItem(title, app)
        self._choice.setCurrentIndex(-1)
        self._choice.setEditText(typed)

    def _entry(self, app: str, title: str) -> Row:
        about = self.tr("Remove {program}").format(program=title)
        off = partial(self._put, PlaceParams(app, ProgramPlace.NONE))
        remove = Button(self.tr("Remove"), "close", "quiet", off, about=about)
        return Row(title, app if title != app else "", remove)

    def _prepare_choice(self) -> None:
        self._choice.setEditable(True)
        self._choice.setInsertPolicy(ComboBox.InsertPolicy.NoInsert)
        field = self._choice.lineEdit()
        assert field is not None
        field.setPlaceholderText(self.tr("A running program, or its name"))
        field.returnPressed.connect(self._add_chosen)

    def _add_chosen(self) -> None:
        typed = self._choice.currentText().strip()
        place = self._choice.findText(typed)
        app = str(self._choice.itemData(place)) if place >= 0 else typed
        try:
            params = PlaceParams(app, self._place)
        except ValueError:
            return  # nothing typed
        self._choice.setEditText("")
        self._put(params)


class ScheduleSection(PageSection):
    """The rules about games, about somebody at the computer, and about the hours of the week."""

    def __init__(self, page: SettingsForm) -> None:
        super().__init__(page)
        self._form = page
        self._grid = week_grid.WeekGrid(self.tr("Hours of the week for donating"))
        self._hours_note = caption()
        self.fill(self._games(), self._presence(), self._hours())
        self._grid.changed.connect(self._paint_hours)

    def show_settings(self, found: dict[str, Setting]) -> None:
        hours = found.get(_HOURS)
        if hours is None or not isinstance(hours.value, tuple | list):
            self._grid.setEnabled(False)
            return
        lines = tuple(map(str, hours.value))
        self._grid.setEnabled(not hours.overridden_by)
        self._grid.show_hours(week_grid.hours_of_schedule(lines))
        self._hours_note.setText(self._describe_hours(lines))

    def _describe_hours(self, lines: tuple[str, ...]) -> str:
        if not lines:
            return self.tr("At any time. Click or drag to leave hours out.")
        text = self.tr("Only during the filled hours.")
        if not week_grid.has_whole_hours(lines):
            exact = self.tr("Your exact hours: {hours}. Painting rounds them to full hours.")
            text += " " + exact.format(hours=", ".join(lines))
        return text

    def _paint_hours(self, hours: frozenset[int]) -> None:
        if hours:
            self._form.change(Change(_HOURS, week_grid.schedule_of_hours(hours)))
        else:
            self._hours_note.setText(self.tr("At least one hour must stay. To stop donating, pause until you resume."))

    def _games(self) -> Card:
        signs = stack(divider(), *divided(_signs(self._form)))
        more = DisclosureButton(self.tr("What counts as a game"), signs)
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
        head = caption(note)
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
        for text, lines in (
            (self.tr("At any time"), None),
            (self.tr("Only at night"), _NIGHT),
            (self.tr("Not at night"), _DAY),
        ):
            buttons.append(Button(text, "", "link"))
            buttons[-1].clicked.connect(lambda _=False, lines=lines: self._form.change(Change(_HOURS, lines)))
        foot = row((self._hours_note, 1), *buttons, spacing=theme.SPACE_S)
        return Card(self.tr("Hours of the week"), self._grid, foot)


class ProgramListsSection(PageSection):
    """The user's own lists: programs always to step aside for, and programs never to step aside for."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        always, stops = self.tr("Always step aside for"), self.tr("Potluck stops whenever one runs.")
        never, mistaken = self.tr("Never step aside for"), self.tr("Programs that Potluck mistakes for games.")
        self._always = ProgramList(ProgramPlace.ALWAYS, self._put, always, stops)
        self._never = ProgramList(ProgramPlace.NEVER, self._put, never, mistaken)
        self.fill(self._always, self._never)

    def refresh(self) -> None:
        self.page.call(machine.PROGRAMS, None, self._show)

    def _show(self, found: machine.Programs) -> None:
        self._always.show_programs(found)
        self._never.show_programs(found)

    def _put(self, params: machine.PlaceParams) -> None:
        self.page.call(machine.PLACE_PROGRAM, params, self._announce_place)

    def _announce_place(self, placed: PlacedProgram) -> None:
        text = {
            ProgramPlace.ALWAYS: self.tr("Potluck now steps aside whenever {program} runs."),
            ProgramPlace.NEVER: self.tr("Potluck now keeps serving while {program} runs."),
            ProgramPlace.NONE: self.tr("{program} is no longer on a list."),
        }
        self.page.announce(text[placed.place].format(program=placed.app))
        self.page.call(machine.PROGRAMS, None, self._show)


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
