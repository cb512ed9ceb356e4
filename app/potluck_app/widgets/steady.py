"""Controls that neither the wheel nor the page keys change: both scroll the page, whatever they pass over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QWidget

from potluck_app.widgets import icons, theme

if TYPE_CHECKING:
    _Control = QWidget
else:
    _Control = object  # Qt allows one class of its own among the bases


class Steady(_Control):
    """The first base of a control that Qt would change by the wheel; Qt's class is the second."""

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 (Qt's name)
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        if event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            event.ignore()
        else:
            super().keyPressEvent(event)


class ComboBox(Steady, QComboBox):
    """A choice from a list that opens. `name`: what screen readers call it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setAccessibleDescription(name)  # on Linux, Qt tells its value as the name

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        """Add the arrow, which a style sheet could only take from a file."""
        super().paintEvent(event)
        side, gap = theme.GLYPH, theme.SPACE_S
        place = QRectF(self.width() - side - gap, (self.height() - side) / 2, side, side)
        icons.paint(QPainter(self), place, "down", theme.colours().muted)
