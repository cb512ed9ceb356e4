"""A person as a disc with the first letter of the name, in the colour of that person's layers."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.theme import Type

_SIDE = 32


class Face(QWidget):
    """The name stands beside it. `place`: the person's in the list, see `theme.colour_of_person`."""

    def __init__(self, name: str, place: int) -> None:
        super().__init__()
        self._letter, self._place = name[:1].upper(), place
        self.setFixedSize(_SIDE, _SIDE)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.colour_of_person(self._place)))
        painter.drawEllipse(QRectF(self.rect()))
        painter.setFont(theme.font(Type.STRONG))
        painter.setPen(QColor(theme.colours().window))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._letter)
