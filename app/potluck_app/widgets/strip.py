"""The whole model as a strip of layers: how often each is served, which are served here, and where it is thinnest."""

from __future__ import annotations

from collections.abc import Iterator

from potluck_control.schema import SwarmStatus
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from potluck_app.widgets import theme

RADIUS = 3.0  # of a cell that is wide enough
_HEIGHT, _GAP = 34, 2.0
_FULL_AT = 3  # replicas from which a block is drawn in full colour


class Strip(QWidget):
    """A strip with a cell for each layer of a model."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Layers of the model"))

    def say(self, said: str) -> None:
        """Tell in words what the strip shows."""
        self.setAccessibleDescription(said)
        self.setToolTip(said)

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(360, _HEIGHT)

    def cells(self, num_layers: int, height: float) -> Iterator[QRectF]:
        """Yield the place of each layer, with gaps between them."""
        gap = min(_GAP, self.width() / num_layers / 4)
        step = (self.width() + gap) / num_layers
        return (QRectF(number * step, 0.0, step - gap, height) for number in range(num_layers))


class LayerStrip(Strip):
    """A cell for each layer: fuller with more servers, hatched without any, underlined if this computer serves it.

    The layers that hold the whole swarm back are framed; the next server would go there.
    """

    def __init__(self) -> None:
        super().__init__()
        self._swarm: SwarmStatus | None = None

    def show_swarm(self, swarm: SwarmStatus | None, text: str) -> None:
        """Draw `swarm`; `text` says the same in words."""
        self.say(text)
        if swarm != self._swarm:
            self._swarm = swarm
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        swarm = self._swarm
        if swarm is None or swarm.num_blocks < 1:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = theme.colours()
        cells = list(self.cells(swarm.num_blocks, self.height() - 8.0))
        for block, cell in enumerate(cells):
            count = swarm.coverage[block] if block < len(swarm.coverage) else None
            _paint_cell(painter, cell, count, colours)
            if _is_bottleneck(swarm, block):
                painter.setPen(QPen(QColor(colours.yielded), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(cell, RADIUS, RADIUS)
        if swarm.span is not None:
            start, end = swarm.span
            left, right = cells[start].left(), cells[end - 1].right()
            mark = QRectF(left, self.height() - 4.0, right - left, 4.0)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.accent))
            painter.drawRoundedRect(mark, 2.0, 2.0)


def _is_bottleneck(swarm: SwarmStatus, block: int) -> bool:
    """Tell whether `block` holds the swarm back, unless all blocks are alike."""
    runs = swarm.outlook.bottlenecks if swarm.outlook is not None else ()
    is_everything = sum(end - start for start, end in runs) == swarm.num_blocks
    return not is_everything and any(start <= block < end for start, end in runs)


def _paint_cell(painter: QPainter, cell: QRectF, count: int | None, colours: theme.Colours) -> None:
    painter.setPen(QPen(QColor(colours.error if count == 0 else colours.line), 1.0))
    painter.setBrush(QColor(colours.card))
    radius = min(RADIUS, cell.width() / 3)
    painter.drawRoundedRect(cell, radius, radius)
    if count == 0:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QBrush(QColor(colours.error), Qt.BrushStyle.BDiagPattern))
        painter.drawRoundedRect(cell, radius, radius)
    elif count:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colours.accent))
        painter.setOpacity(0.35 + 0.65 * min(count, _FULL_AT) / _FULL_AT)
        painter.drawRoundedRect(cell, radius, radius)
        painter.setOpacity(1.0)
