"""A choice between a few things, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QPushButton, QSizePolicy

Choice = TypeVar("Choice")


class Segments(QFrame, Generic[Choice]):
    """A row of choices, of which one is chosen; arrow keys move. Signal: `chosen(Choice)`."""

    chosen = Signal(object)

    def __init__(self, name: str, choices: Sequence[tuple[Choice, str]]) -> None:
        super().__init__()
        self.setObjectName("segments")
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._values = [value for value, _ in choices]
        self._group = QButtonGroup(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(3, 3, 3, 3)
        row.setSpacing(2)
        for place, (_, said) in enumerate(choices):
            button = QPushButton(said)
            button.setObjectName("segment")
            button.setCheckable(True)
            button.setAccessibleName(f"{name}: {said}")
            self._group.addButton(button, place)
            row.addWidget(button)
        self._group.button(0).setChecked(True)
        self.setFocusProxy(self._group.button(0))
        self._group.idToggled.connect(self._toggle)

    @property
    def value(self) -> Choice:
        return self._values[self._group.checkedId()]

    def choose(self, value: Choice) -> None:
        self._group.button(self._values.index(value)).setChecked(True)

    def _toggle(self, place: int, is_on: bool) -> None:
        if is_on:
            self.setFocusProxy(self._group.button(place))
            self.chosen.emit(self._values[place])
