"""A field for a number to type, or to step with the arrow keys; it takes effect once it is entered."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QDoubleSpinBox

from potluck_app.widgets import theme
from potluck_app.widgets.steady import Steady
from potluck_app.words import numbers

_WIDTH, _DECIMALS = 150, 2


class NumberBox(Steady, QDoubleSpinBox):
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
        self.setFixedWidth(_WIDTH)
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
        return numbers.number(value, decimals)

    def _enter(self) -> None:
        if self.value() != self._shown:
            self._shown = self.value()
            self.entered.emit(self._shown)
