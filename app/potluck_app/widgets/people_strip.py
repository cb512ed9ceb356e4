"""The model as a strip of layers in the colours of the people who serve them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from potluck_app.widgets import theme

_HEIGHT, _GAP, _RADIUS = 34, 2.0, 3.0
_MOST_BANDS = 4  # in a cell; more are too thin to tell apart
_STRANGER = -1  # the place of somebody who is not in the list


class PeopleStrip(QWidget):
    """A cell for each layer, with a band for each person who serves it; hatched without any."""

    def __init__(self) -> None:
        super().__init__()
        self._layers: tuple[tuple[int, ...], ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Layers of the model"))

    def show_layers(self, layers: Sequence[tuple[int, ...]], said: str) -> None:
        """Draw for each layer the places of its people in the list, -1 for a stranger; `said` tells it in words."""
        self.setAccessibleDescription(said)
        self.setToolTip(said)
        if tuple(layers) != self._layers:
            self._layers = tuple(layers)
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(360, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        if not self._layers:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        gap = min(_GAP, self.width() / len(self._layers) / 4)
        step = (self.width() + gap) / len(self._layers)
        for number, people in enumerate(self._layers):
            cell = QRectF(number * step, 0.0, step - gap, self.height())
            radius = min(_RADIUS, cell.width() / 3)
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
