"""A page of settings: rows whose controls show what the daemon obeys, and change it at once, with a way back.

What a setting's range and unit are, the daemon says; how it is called and explained, the page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from potluck_daemon.control.methods import settings
from potluck_daemon.control.methods.settings import Change, Changed, SetParams, Setting, SettingsPage, Value
from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QVBoxLayout, QWidget

from potluck.errors import PotluckError
from potluck_app import words
from potluck_app.button import Switch
from potluck_app.card import line
from potluck_app.notice import Notice
from potluck_app.page import Link, Page
from potluck_app.row import Row

_NUMBER_WIDTH = 150


@dataclass(frozen=True, slots=True)
class Field:
    """A row of the page and the setting behind it."""

    row: Row
    show: Callable[[Setting], None]


class SettingsForm(Page):
    """Subclasses add rows with `flag`, `number` and `choice`, and override `show_settings` for what has no row."""

    def __init__(self, link: Link, title: str) -> None:
        super().__init__(link, title)
        self._fields: dict[str, Field] = {}
        self._undo, self._back = Notice("good", "serving"), tuple[Change, ...]()
        self._undo.pressed.connect(self._take_back)
        self.column.addWidget(self._undo)

    def refresh(self) -> None:
        self.ask(settings.GET, None, self._show)

    def show_settings(self, page: dict[str, Setting]) -> None:
        """Called with all settings by key, when they were asked for and after each change."""

    def change(self, key: str, value: Value | None) -> None:
        """Have the daemon obey another value; None: its default."""

        def failed(error: PotluckError) -> None:
            field = self._fields.get(key)
            if field is None:
                self.complain(error)
            else:
                field.row.show_problem(words.failure(error))

        self.link.call(settings.SET, SetParams((Change(key, value),)), done=self._changed, failed=failed)

    def flag(self, key: str, title: str, help_text: str = "") -> Row:
        switch = Switch()
        switch.toggled.connect(lambda is_on: self.change(key, is_on))

        def show(setting: Setting) -> None:
            with QSignalBlocker(switch):
                switch.setChecked(bool(setting.value))

        return self._add(key, Row(title, help_text, switch), show)

    def number(
        self, key: str, title: str, help_text: str = "", *, unit: str = "", zero: str = "", scale: float = 1
    ) -> Row:
        """`zero`: what 0 means, in words. `scale`: how many of the daemon's units one of the shown ones has."""
        box = QDoubleSpinBox()
        box.setKeyboardTracking(False)
        box.setFixedWidth(_NUMBER_WIDTH)
        box.setAlignment(Qt.AlignmentFlag.AlignRight)
        box.setSpecialValueText(zero)
        box.setSuffix(f" {unit}" if unit else "")
        box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the wheel scrolls the page, not what it passes over
        box.valueChanged.connect(lambda value: self.change(key, _number(value * scale, whole[0])))
        whole = [True]

        def show(setting: Setting) -> None:
            assert isinstance(setting.value, int | float)
            whole[0] = isinstance(setting.default, int)
            with QSignalBlocker(box):
                box.setDecimals(0 if float(setting.value / scale).is_integer() and whole[0] else 2)
                box.setRange((setting.low or 0) / scale, (setting.high or 1e9) / scale)
                box.setSingleStep(max(1.0, round(setting.value / scale / 10)) if whole[0] else 1.0)
                box.setValue(setting.value / scale)

        return self._add(key, Row(title, help_text, box), show)

    def choice(self, key: str, title: str, choices: tuple[tuple[Value, str], ...], help_text: str = "") -> Row:
        """A few values with names; another one that is set already is shown as it is."""
        box = QComboBox()
        for value, said in choices:
            box.addItem(said, value)
        box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        box.activated.connect(lambda place: self.change(key, box.itemData(place)))

        def show(setting: Setting) -> None:
            with QSignalBlocker(box):
                place = next((i for i in range(box.count()) if box.itemData(i) == setting.value), -1)
                if place < 0:
                    box.addItem(f"{setting.value} {setting.unit}".strip(), setting.value)
                    place = box.count() - 1
                box.setCurrentIndex(place)

        return self._add(key, Row(title, help_text, box), show)

    def _add(self, key: str, row: Row, show: Callable[[Setting], None]) -> Row:
        row.control.setEnabled(False)  # until its value is known
        self._fields[key] = Field(row, show)
        return row

    def _show(self, page: SettingsPage) -> None:
        found = {setting.key: setting for section in page.sections for setting in section.settings}
        for key, field in self._fields.items():
            setting = found.get(key)
            field.row.control.setEnabled(setting is not None and not setting.overridden_by)
            if setting is None:
                field.row.show_problem(self.tr("The daemon does not know this yet; update it."))
                continue
            field.show(setting)
            field.row.show_problem(self._fixed(setting) if setting.overridden_by else "")
        self.show_settings(found)

    def _fixed(self, setting: Setting) -> str:
        return self.tr("Fixed by {variable} in the daemon's environment.").format(variable=setting.overridden_by)

    def _changed(self, changed: Changed) -> None:
        self._back = changed.undo
        self._undo.say(self.tr("Saved, and in use."), self.tr("Undo"))
        self._show(changed.page)

    def _take_back(self) -> None:
        back, self._back = self._back, ()
        self._undo.say("")
        if back:
            self.link.call(
                settings.SET, SetParams(back), done=lambda changed: self._show(changed.page), failed=self.complain
            )


def _number(value: float, is_whole: bool) -> int | float:
    return round(value) if is_whole else value


def rows(column: QVBoxLayout, *widgets: QWidget) -> None:
    """Into a card, with thin lines between them."""
    for number, widget in enumerate(widgets):
        if number:
            column.addWidget(line())
        column.addWidget(widget)
