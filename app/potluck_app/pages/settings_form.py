"""A page of settings: rows whose controls show the settings in force and change them at once, with a way back.

The daemon knows each setting's range; the page names and explains the setting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from potluck_control.methods import settings
from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QWidget

from potluck.errors import PotluckError
from potluck_app.pages.calls import DaemonCaller
from potluck_app.pages.page import Page
from potluck_app.widgets.button import Switch
from potluck_app.widgets.controls import LimitSlider, NumberBox
from potluck_app.widgets.parts import Card, caption, divided, stack
from potluck_app.widgets.row import Row
from potluck_app.words import sentences

_HIGHEST = 1e9  # the bound where the daemon names none


@dataclass(frozen=True, slots=True)
class SliderScale:
    """The range and step of a slider, in shown units."""

    low: float
    high: float
    step: float


@dataclass(frozen=True, slots=True, eq=False)
class SettingRow:
    """A row of the page, and how it shows the setting behind it."""

    key: str
    row: Row
    help_text: str
    show: Callable[[settings.Setting], None]
    slider: LimitSlider | None = None

    def enable(self, is_on: bool) -> None:
        self.row.control.setEnabled(is_on)
        if self.slider is not None:
            self.slider.setEnabled(is_on)


@runtime_checkable
class ShowsSettings(Protocol):
    """A section that shows settings otherwise than in rows."""

    def show_settings(self, found: dict[str, settings.Setting]) -> None:
        """Show the settings, given by key, whenever they were asked for or changed."""


class SettingsForm(Page):
    """A page with rows made by `flag`, `number` and `slider`, and with sections that show other settings."""

    def __init__(self, link: DaemonCaller, title: str) -> None:
        super().__init__(link, title)
        self._fields: list[SettingRow] = []
        self._page: settings.SettingsPage | None = None

    def refresh(self) -> None:
        self.call(settings.GET, None, self._show)
        super().refresh()

    def order_tabs(self) -> None:
        """Let the keyboard begin at the uppermost control, because no control comes first here."""
        super().order_tabs()
        first = next((widget for widget in self.tab_stops() if widget.isVisibleTo(self)), None)
        if first is not None:
            self.setFocusProxy(first)

    def card(self, heading: str, *rows: QWidget, note: str = "") -> Card:
        """Return a card with lines between its rows; `note` explains all of them."""
        head = (caption(note),) if note else ()
        return Card(heading, *head, *divided(rows))

    def change(self, *changes: settings.Change) -> None:
        """Change settings; a refusal is shown beside the row of the first one, if it has a row."""
        field = next((field for field in self._fields if field.key == changes[0].key), None)

        def failed(error: PotluckError) -> None:
            if field is None:
                self.show_error(error)
            else:
                field.row.show_problem(sentences.failure(error))

        self.link.call(settings.SET, settings.SetParams(changes), done=self._changed, failed=failed)

    def flag(self, key: str, title: str, help_text: str = "") -> Row:
        """Make a row with a switch."""
        switch = Switch()
        switch.toggled.connect(lambda is_on: self.change(settings.Change(key, is_on)))

        def show(setting: settings.Setting) -> None:
            with QSignalBlocker(switch):
                switch.setChecked(bool(setting.value))

        return self._add(SettingRow(key, Row(title, help_text, switch), help_text, show)).row

    def number(
        self, key: str, title: str, help_text: str = "", *, unit: str = "", zero: str = "", scale: float = 1
    ) -> Row:
        """Make a row with a number.

        Args:
            zero: what 0 means, in words.
            scale: how many of the daemon's units are one shown unit.
        """
        box = NumberBox(unit, zero)
        show = self._bind(key, box, scale)
        return self._add(SettingRow(key, Row(title, help_text, box), help_text, show)).row

    def slider(
        self, key: str, title: str, help_text: str, offered: SliderScale, *, unit: str, zero: str, factor: float = 1
    ) -> tuple[SettingRow, QWidget]:
        """Make a row with a number, and a slider below it that may not reach it. `factor`: see `scale` of `number`."""
        box, slider = NumberBox(unit, zero), LimitSlider(offered.low, offered.high, offered.step)
        slider.setAccessibleName(title)
        show_number = self._bind(key, box, factor)

        def show(setting: settings.Setting) -> None:
            assert isinstance(setting.value, int | float)
            show_number(setting)
            slider.show_limit(setting.value / factor)

        slider.moved.connect(box.preview)
        slider.entered.connect(box.entered)
        row = Row(title, help_text, box)
        return self._add(SettingRow(key, row, help_text, show, slider)), stack(row, slider, spacing=0)

    def forget(self, gone: Collection[SettingRow]) -> None:
        """Stop showing settings in rows that leave the page."""
        self._fields = [field for field in self._fields if field not in gone]

    def show_again(self) -> None:
        """Show the settings in rows that are new."""
        if self._page is not None:
            self._show(self._page)

    def _bind(self, key: str, box: NumberBox, scale: float) -> Callable[[settings.Setting], None]:
        """Let the field change a setting; return the function that shows the setting in it."""
        is_whole = True

        def show(setting: settings.Setting) -> None:
            nonlocal is_whole
            assert isinstance(setting.value, int | float)
            is_whole = setting.kind is settings.SettingKind.WHOLE
            low, high = (setting.low or 0) / scale, (setting.high or _HIGHEST) / scale
            box.show_value(setting.value / scale, low, high, is_whole=is_whole and scale == 1)

        def enter(value: float) -> None:
            told = value * scale
            self.change(settings.Change(key, round(told) if is_whole else told))

        box.entered.connect(enter)
        return show

    def _add(self, field: SettingRow) -> SettingRow:
        field.enable(False)  # `_show` enables it, once its value is known
        self._fields.append(field)
        return field

    def _show(self, page: settings.SettingsPage) -> None:
        self._page = page
        found = {setting.key: setting for section in page.sections for setting in section.settings}
        for field in self._fields:
            setting = found.get(field.key)
            field.enable(setting is not None and not setting.overridden_by)
            if setting is None:
                field.row.show_problem(self.tr("Update Potluck to use this."))
                continue
            field.show(setting)
            field.row.show_problem("")
            field.row.show_help(self._fixed(setting) if setting.overridden_by else field.help_text)
        for section in self.sections:
            if isinstance(section, ShowsSettings):
                section.show_settings(found)

    def _fixed(self, setting: settings.Setting) -> str:
        return self.tr("Set by the environment variable {variable}.").format(variable=setting.overridden_by)

    def _changed(self, changed: settings.Changed) -> None:
        self.announce(self.tr("Saved."), self.tr("Undo"), partial(self._undo, changed.undo))
        self._show(changed.page)
        self.order_tabs()

    def _undo(self, back: tuple[settings.Change, ...]) -> None:
        self.call(settings.SET, settings.SetParams(back), lambda changed: self._show(changed.page))
