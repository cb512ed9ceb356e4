"""The model as a strip of layers in the colours of the people who serve them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen

from potluck_app.widgets import theme
from potluck_app.widgets.strip import RADIUS, Strip

_MOST_BANDS = 4  # in a cell; more are too thin to tell apart
_STRANGER = -1  # the place of somebody who is not in the list


class PeopleStrip(Strip):
    """A cell for each layer, with a band for each person who serves it; hatched without any."""

    def __init__(self) -> None:
        super().__init__()
        self._layers: tuple[tuple[int, ...], ...] = ()

    def show_layers(self, layers: Sequence[tuple[int, ...]], said: str) -> None:
        """Draw for each layer the places of its people in the list, -1 for a stranger; `said` tells it in words."""
        self.say(said)
        if tuple(layers) != self._layers:
            self._layers = tuple(layers)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        if not self._layers:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        cells = self.cells(len(self._layers), self.height())
        for people, cell in zip(self._layers, cells, strict=True):
            radius = min(RADIUS, cell.width() / 3)
            if people:
                _paint_bands(painter, cell, people[:_MOST_BANDS])
            else:
                colour = QColor(theme.colours().error)
                painter.setPen(QPen(colour, 1.0))
                painter.setBrush(QBrush(colour, Qt.BrushStyle.BDiagPattern))
                painter.drawRoundedRect(cell.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)


def _paint_bands(painter: QPainter, cell: QRectF, people: Sequence[int]) -> None:
    height = cell.height() / len(people)
    painter.setPen(Qt.PenStyle.NoPen)
    for number, place in enumerate(people):
        stranger = theme.colours().outline
        painter.setBrush(QColor(stranger if place == _STRANGER else theme.colour_of_person(place)))
        painter.drawRect(QRectF(cell.left(), cell.top() + number * height, cell.width(), height))
