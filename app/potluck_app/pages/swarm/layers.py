"""The model as a strip of layers in the colours of the people who serve them."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from potluck_app.widgets import theme
from potluck_app.words.layers import STRANGER, Layer

_RADIUS = 3.0  # of a cell that is wide enough
_HEIGHT, _MARK, _GAP = 34, 4.0, 2.0
_MOST_BANDS = 4  # in a cell; more are too thin to tell apart


class LayerStrip(QWidget):
    """A cell for each layer, with a band for each computer that serves it: hatched without any, empty if nobody knows.

    The layers that this computer serves are underlined.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[tuple[Layer, ...], tuple[int, int] | None] = (), None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Layers of the model"))

    @property
    def own(self) -> tuple[int, int] | None:
        """The layers [start, end) that are underlined."""
        return self._shown[1]

    def show_layers(self, layers: Sequence[Layer], own: tuple[int, int] | None, said: str) -> None:
        """Draw the layers, and a line below `own`, a range [start, end); `said` tells the same in words."""
        self.setAccessibleDescription(said)
        self.setToolTip(said)
        if (tuple(layers), own) != self._shown:
            self._shown = tuple(layers), own
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(360, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        layers, own = self._shown
        if not layers:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        gap = min(_GAP, self.width() / len(layers) / 4)
        step = (self.width() + gap) / len(layers)
        for number, people in enumerate(layers):
            _paint_cell(painter, QRectF(number * step, 0.0, step - gap, self.height() - 2 * _MARK), people)
        if own is not None:
            start, end = own
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.colours().accent))
            mark = QRectF(start * step, self.height() - _MARK, (end - start) * step - gap, _MARK)
            painter.drawRoundedRect(mark, _MARK / 2, _MARK / 2)


def _paint_cell(painter: QPainter, cell: QRectF, people: Layer) -> None:
    colours, radius = theme.colours(), min(_RADIUS, cell.width() / 3)
    if people:
        height = cell.height() / len(people[:_MOST_BANDS])
        painter.setPen(Qt.PenStyle.NoPen)
        for number, place in enumerate(people[:_MOST_BANDS]):
            painter.setBrush(QColor(colours.outline if place == STRANGER else theme.colour_of_person(place)))
            painter.drawRect(QRectF(cell.left(), cell.top() + number * height, cell.width(), height))
        return
    edge = QColor(colours.line if people is None else colours.error)
    painter.setPen(QPen(edge, 1.0))
    painter.setBrush(Qt.BrushStyle.NoBrush if people is None else QBrush(edge, Qt.BrushStyle.BDiagPattern))
    painter.drawRoundedRect(cell.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
