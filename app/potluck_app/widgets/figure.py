"""A number that matters, large, with what it counts below it; and a row of such numbers."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.card import text
from potluck_app.widgets.theme import Type


class Figure(QWidget):
    """Says "–" until it is told."""

    def __init__(self, caption: str) -> None:
        super().__init__()
        self._value, self._caption = text(kind=Type.FIGURE, said="–"), text("muted", kind=Type.CAPTION, said=caption)
        self._value.setWordWrap(False)
        self._value.setAccessibleName(caption)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._value)
        column.addWidget(self._caption)
        column.addStretch(1)

    def say(self, value: str, caption: str = "") -> None:
        """`caption` empty: as it was."""
        self._value.setText(value)
        if caption:
            self._caption.setText(caption)


def in_a_row(figures: Sequence[Figure], columns: int = 0) -> QGridLayout:
    """Columns of the same width; `columns` 0: as many as there are figures."""
    columns = columns or len(figures)
    grid = QGridLayout()
    grid.setHorizontalSpacing(theme.SPACE_L)
    grid.setVerticalSpacing(theme.SPACE_M)
    for number, figure in enumerate(figures):
        grid.addWidget(figure, number // columns, number % columns)
        grid.setColumnStretch(number % columns, 1)
    return grid
