"""Draws how a memory is shared: Potluck's part, that of other programs, and what is free, with a mark at the limit."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from potluck_app.widgets import theme

_HEIGHT, _BAR, _RADIUS, _MARK = 16, 8.0, 4.0, 2.0


class ShareBar(QWidget):
    """Draws shares of a whole; a text beside it says the same."""

    def __init__(self) -> None:
        super().__init__()
        self._ours, self._others, self._limit = 0.0, 0.0, 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_shares(self, ours: float, others: float, limit: float, said: str) -> None:
        """Draw the shares, from 0 to 1 each; `limit` 0 draws no mark."""
        self.setAccessibleDescription(said)
        if (ours, others, limit) != (self._ours, self._others, self._limit):
            self._ours, self._others, self._limit = ours, others, limit
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(240, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        colours = theme.colours()
        bar = QRectF(0.0, (self.height() - _BAR) / 2, self.width(), _BAR)
        outline = QPainterPath()
        outline.addRoundedRect(bar, _RADIUS, _RADIUS)
        painter.setClipPath(outline)
        painter.fillRect(bar, QColor(colours.line))
        ours, others = self._ours * bar.width(), self._others * bar.width()
        painter.fillRect(QRectF(0.0, bar.top(), ours, _BAR), QColor(colours.accent))
        painter.fillRect(QRectF(ours, bar.top(), others, _BAR), QColor(colours.outline))
        painter.setClipping(False)
        if 0 < self._limit < 1:
            mark = QRectF(self._limit * bar.width() - _MARK / 2, 0.0, _MARK, float(self.height()))
            painter.fillRect(mark, QColor(colours.text))
