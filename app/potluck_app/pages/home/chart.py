"""The same numbers over time as a chart of bars, and as a table for reading, screen readers and copying."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QSizePolicy, QTableWidget, QTableWidgetItem, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.theme import TextStyle
from potluck_app.words import formats

_CHART_HEIGHT = 220
_TICKS = 4  # usual number of lines of the grid
_MAX_BAR_WIDTH = 44.0
_EMPTY_BAR = 2.0  # height of a bar for zero, which is known to be zero
_ROW_HEIGHT, _MAX_ROWS = 34, 12


@dataclass(frozen=True, slots=True)
class ChartBar:
    """One bar of a chart."""

    label: str  # short text under the bar: "14"
    name: str  # the time in full: "Saturday 14 November"
    value: float
    text: str  # the value in words, with its unit


def nice_step(highest: float) -> float:
    """Return the distance between lines of a grid from 0 to `highest`: 1, 2 or 5 times a power of ten."""
    if highest <= 0.0:
        return 1.0
    rough = highest / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough * (1 - 1e-9))


def _axis(value: float, step: float) -> str:
    """Return a number of the axis, with the digits that tell it from the next one."""
    return formats.number(value, max(math.ceil(-math.log10(step) - 1e-9), 0) if value else 0)


class BarChart(QWidget):
    """Bars over time. The bar under the pointer, or chosen with the arrow keys, is described above them."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._bars: tuple[ChartBar, ...] = ()
        self._marked = -1
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFont(theme.font(TextStyle.CAPTION))

    def show_bars(self, bars: Sequence[ChartBar], summary: str) -> None:
        """Draw `bars`; `summary` says the same in a sentence."""
        self._bars, self._marked = tuple(bars), -1
        self.setAccessibleDescription(summary)
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(420, _CHART_HEIGHT)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if event.key() in steps and self._bars:
            start = len(self._bars) if self._marked < 0 and event.key() == Qt.Key.Key_Left else self._marked
            self._mark(min(max(start + steps[Qt.Key(event.key())], 0), len(self._bars) - 1))
        else:
            super().keyPressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 (Qt's name)
        place = self._place()
        x = event.position().x() - place.left()
        self._mark(int(x / place.width() * len(self._bars)) if self._bars and 0 <= x < place.width() else -1)

    def leaveEvent(self, event: object) -> None:  # noqa: N802 (Qt's name)
        self._mark(-1)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        painter, colours, place = QPainter(self), theme.colours(), self._place()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        highest = max((bar.value for bar in self._bars), default=0.0)
        step = nice_step(highest)
        top = step * max(math.ceil(highest / step - 1e-9), 1)
        self._paint_grid(painter, colours, place, step, top)
        self._paint_bars(painter, colours, place, top)
        self._paint_head(painter, colours)

    def _mark(self, number: int) -> None:
        if number != self._marked:
            self._marked = number
            if number >= 0:
                self.setAccessibleDescription(f"{self._bars[number].name}: {self._bars[number].text}")
            self.update()

    def _place(self) -> QRectF:
        """Return the rectangle of the bars, without the numbers around them."""
        metrics = QFontMetricsF(self.font())
        highest = max((bar.value for bar in self._bars), default=0.0)
        step = nice_step(highest)
        numbers = max(metrics.horizontalAdvance(_axis(step * tick, step)) for tick in range(_TICKS + 2))
        left, foot = numbers + theme.SPACE_S, metrics.height() + theme.SPACE_XS
        head = metrics.height() + theme.SPACE_M
        return QRectF(left, head, max(self.width() - left - 2, 1.0), max(self.height() - head - foot, 1.0))

    def _paint_grid(self, painter: QPainter, colours: theme.Colours, place: QRectF, step: float, top: float) -> None:
        height = QFontMetricsF(self.font()).height()
        for tick in range(round(top / step) + 1):
            y = place.bottom() - place.height() * tick * step / top
            painter.setPen(QPen(QColor(colours.outline if tick == 0 else colours.line), 1.0))
            painter.drawLine(QPointF(place.left(), y), QPointF(place.right(), y))
            painter.setPen(QColor(colours.muted))
            painter.drawText(
                QRectF(0.0, y - height / 2, place.left() - theme.SPACE_S, height),
                Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
                _axis(tick * step, step),
            )

    def _paint_bars(self, painter: QPainter, colours: theme.Colours, place: QRectF, top: float) -> None:
        if not self._bars:
            return
        room = place.width() / len(self._bars)
        width = min(room * 0.68, _MAX_BAR_WIDTH)
        every = self._label_every(room)
        metrics = QFontMetricsF(self.font())
        for number, bar in enumerate(self._bars):
            centre = place.left() + room * (number + 0.5)
            height = max(place.height() * bar.value / top, _EMPTY_BAR)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colours.accent if bar.value > 0 else colours.outline))
            painter.setOpacity(1.0 if self._marked in (-1, number) else 0.45)
            radius = min(3.0, width / 2, height / 2)
            painter.drawRoundedRect(QRectF(centre - width / 2, place.bottom() - height, width, height), radius, radius)
            painter.setOpacity(1.0)
            if (len(self._bars) - 1 - number) % every == 0:
                painter.setPen(QColor(colours.text if number == self._marked else colours.muted))
                box = QRectF(centre - 60, place.bottom() + theme.SPACE_XS, 120, metrics.height())
                painter.drawText(box, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, bar.label)

    def _paint_head(self, painter: QPainter, colours: theme.Colours) -> None:
        box = QRectF(0.0, 0.0, self.width() - 2.0, QFontMetricsF(self.font()).height() + 2)
        if self._marked >= 0:
            bar = self._bars[self._marked]
            painter.setPen(QColor(colours.text))
            painter.drawText(
                box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{bar.name}: {bar.text}"
            )
        if self.hasFocus():
            painter.setPen(QPen(QColor(colours.accent), 2.0))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), theme.RADIUS_S, theme.RADIUS_S)

    def _label_every(self, room: float) -> int:
        """Return that every n-th bar gets a label, so that labels do not touch."""
        metrics = QFontMetricsF(self.font())
        widest = max(metrics.horizontalAdvance(bar.label) for bar in self._bars) + theme.SPACE_S
        return max(math.ceil(widest / room), 1)


class DataTable(QTableWidget):
    """A read-only table; the first column takes the room that is left, and numbers stand on the right."""

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        super().__init__(0, len(columns))
        self._rows: tuple[tuple[str, ...], ...] = ()
        self.setAccessibleName(name)
        for column, text in enumerate(columns):
            self.setHorizontalHeaderItem(column, _item(text, column))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)  # Tab goes on; arrow keys move within
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW_HEIGHT)
        header = self.horizontalHeader()
        header.setFont(theme.font(TextStyle.CAPTION))
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def show_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Show `rows`; the table is as high as they are, up to `_MAX_ROWS`."""
        self._rows = tuple(tuple(cells) for cells in rows)
        self.setRowCount(len(rows))
        for row, cells in enumerate(rows):
            for column, text in enumerate(cells):
                self.setItem(row, column, _item(text, column))
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + _ROW_HEIGHT * min(len(rows), _MAX_ROWS))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        if event.matches(QKeySequence.StandardKey.Copy):
            chosen = sorted({index.row() for index in self.selectedIndexes()})
            lines = ("\t".join(self._rows[row]) for row in chosen)
            QGuiApplication.clipboard().setText("\n".join(lines))
        else:
            super().keyPressEvent(event)


def _item(text: str, column: int) -> QTableWidgetItem:
    item = QTableWidgetItem(text)
    side = Qt.AlignmentFlag.AlignLeft if column == 0 else Qt.AlignmentFlag.AlignRight
    item.setTextAlignment(side | Qt.AlignmentFlag.AlignVCenter)
    return item
