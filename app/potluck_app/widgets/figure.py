"""A number that matters, large, with what it counts below it; and a row of such numbers."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.card import text
from potluck_app.widgets.layout import column, row
from potluck_app.widgets.theme import Type


class Figure(QWidget):
    """One number with its caption; a dash until the number is known."""

    def __init__(self, caption: str) -> None:
        super().__init__()
        self._value, self._caption = text(kind=Type.FIGURE, said="–"), text("muted", kind=Type.CAPTION, said=caption)
        self._value.setWordWrap(False)
        self._value.setAccessibleName(caption)
        self.setLayout(column(self._value, self._caption, None, spacing=0))

    def say(self, value: str, caption: str = "") -> None:
        """Show `value`; an empty `caption` leaves the present one."""
        self._value.setText(value)
        if caption:
            self._caption.setText(caption)


def in_a_row(*figures: Figure) -> QHBoxLayout:
    return row(*((figure, 1) for figure in figures), spacing=theme.SPACE_S)
