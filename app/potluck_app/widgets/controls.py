"""Fields and choices: numbers, sliders, lists and texts to enter.

Neither the wheel nor the page keys change a control: both scroll the page, whatever they pass over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from PySide6.QtCore import QRectF, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QSlider,
    QWidget,
)

from potluck_app.widgets import icons, theme
from potluck_app.widgets.parts import row
from potluck_app.words import formats

if TYPE_CHECKING:
    _Control = QWidget
else:
    _Control = object  # Qt allows one class of its own among the bases
Choice = TypeVar("Choice")

MAX_PASSWORD_CHARS = 1024
_NUMBER_WIDTH, _DECIMALS = 150, 2
_REST_MS = 700  # a slider moved with the keyboard has arrived after this time


def text_field(name: str, hint: str | None = None, max_chars: int = 32_767, *, is_secret: bool = False) -> QLineEdit:
    """Return a line to write in.

    Args:
        name: what screen readers call it.
        hint: stands there while it is empty; None: the name does.
        is_secret: show dots in place of what is written.
    """
    made = QLineEdit()
    made.setAccessibleName(name)
    made.setPlaceholderText(name if hint is None else hint)
    made.setMaxLength(max_chars)
    if is_secret:
        made.setEchoMode(QLineEdit.EchoMode.Password)
    return made


class ScrollsPast(_Control):
    """Leaves the wheel and the page keys to the page. The first base of a control; Qt's class is the second."""

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 (Qt's name)
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        if event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            event.ignore()
        else:
            super().keyPressEvent(event)


class ComboBox(ScrollsPast, QComboBox):
    """A choice from a list that opens. `name`: what screen readers call it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setAccessibleDescription(name)  # Qt on Linux gives screen readers the value as the name

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        """Add the arrow, which a style sheet could only take from a file."""
        super().paintEvent(event)
        side, gap = theme.GLYPH, theme.SPACE_S
        place = QRectF(self.width() - side - gap, (self.height() - side) / 2, side, side)
        icons.paint(QPainter(self), place, "down", theme.colours().muted)


class NumberBox(ScrollsPast, QDoubleSpinBox):
    """A field for a number. Signal: `entered(float)`, on Return or when the keyboard goes elsewhere.

    Args:
        unit: stands after the number.
        zero: what 0 means, in words.
    """

    entered = Signal(float)

    def __init__(self, unit: str = "", zero: str = "") -> None:
        super().__init__()
        self._shown = 0.0
        self.setDecimals(_DECIMALS)
        self.setFixedWidth(_NUMBER_WIDTH)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.lineEdit().setTextMargins(theme.SPACE_S, 0, theme.SPACE_S, 0)
        self.setSpecialValueText(zero)
        self.setSuffix(f" {unit}" if unit else "")
        self.editingFinished.connect(self._enter)

    def show_value(self, value: float, low: float, high: float, *, is_whole: bool) -> None:
        """Show the value in force, unless somebody is changing it."""
        if self.hasFocus() and (self.lineEdit().isModified() or self.value() != self._shown):
            return
        with QSignalBlocker(self):
            self.setDecimals(0 if is_whole else _DECIMALS)
            self.setRange(low, high)
            self.setSingleStep(max(1.0, round(value / 10)))
            self.setValue(value)
        self._shown = self.value()

    def preview(self, value: float) -> None:
        """Show a value that is still being chosen elsewhere."""
        with QSignalBlocker(self):
            self.setValue(value)
        self._shown = self.value()

    def textFromValue(self, value: float) -> str:  # noqa: N802 (Qt's name)
        """Return the number as the user's language writes it, without zeros at its end."""
        decimals = next(
            digits for digits in range(_DECIMALS + 1) if digits == _DECIMALS or round(value, digits) == value
        )
        return formats.number(value, decimals)

    def _enter(self) -> None:
        if self.value() != self._shown:
            self._shown = self.value()
            self.entered.emit(self._shown)


class LimitSlider(ScrollsPast, QSlider):
    """Chooses between `low` and `high`, or no limit, which is 0 and lies behind `high`.

    Signals: `moved(float)` at each step on the way, `entered(float)` once it rests.
    """

    moved = Signal(float)
    entered = Signal(float)

    def __init__(self, low: float, high: float, step: float) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._low, self._step = low, step
        self._steps = max(1, int((high - low) / step))
        self._shown = 0.0
        self.setRange(0, self._steps + 1)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
        self._rest.timeout.connect(self._enter)
        self.valueChanged.connect(self._move)
        self.sliderReleased.connect(self._enter)

    @property
    def limit(self) -> float:
        """Return the limit at the slider's place; 0: none."""
        return 0.0 if self.value() > self._steps else self._low + self.value() * self._step

    def show_limit(self, limit: float) -> None:
        """Show the limit in force, unless somebody is moving the slider."""
        if self.isSliderDown() or self._rest.isActive():
            return
        place = round((limit - self._low) / self._step)
        with QSignalBlocker(self):
            self.setValue(self._steps + 1 if limit <= 0 else min(max(place, 0), self._steps))
        self._shown = self.limit

    def _move(self) -> None:
        self.moved.emit(self.limit)
        if not self.isSliderDown():
            self._rest.start()

    def _enter(self) -> None:
        self._rest.stop()
        if self.limit != self._shown:
            self._shown = self.limit
            self.entered.emit(self._shown)


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
        for place, (_, label) in enumerate(choices):
            button = QPushButton(label)
            button.setObjectName("segment")
            button.setCheckable(True)
            button.setAccessibleName(f"{name}: {label}")
            self._group.addButton(button, place)
        parts = row(*self._group.buttons(), spacing=2)
        parts.setContentsMargins(3, 3, 3, 3)
        self.setLayout(parts)
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
