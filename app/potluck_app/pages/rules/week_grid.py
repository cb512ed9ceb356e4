"""The week as a grid of hours to paint with mouse or keyboard, in the form of the daemon's schedule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from potluck_control.setting_values import DAYS, WEEK_MIN, parse_hours
from PySide6.QtCore import QLocale, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from potluck_app.widgets import theme
from potluck_app.widgets.theme import TextStyle

NUM_HOURS = 7 * 24
_ROW, _LABEL, _HEAD, _GAP, _MARGIN = 26, 56, 20, 2, 8  # the margin makes room for the last hour's label
_MOVES = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Up: -24, Qt.Key.Key_Down: 24}


def hours_of_schedule(lines: Iterable[str]) -> frozenset[int]:
    """Return the hours of the week that the schedule touches; all for an empty one, which means always."""
    intervals = parse_hours(lines)
    if not intervals:
        return frozenset(range(NUM_HOURS))
    return frozenset(
        minute // 60
        for start, end in intervals
        for minute in (m % WEEK_MIN for m in range(start - start % 60, end, 60))
    )


def schedule_of_hours(hours: frozenset[int]) -> tuple[str, ...]:
    """Return the schedule of `hours`, in which days with the same hours share a line; none means always."""
    if len(hours) == NUM_HOURS:
        return ()
    of_days: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for day in range(7):
        runs = _runs([hour for hour in range(24) if day * 24 + hour in hours])
        if runs:
            of_days.setdefault(runs, []).append(day)
    return tuple(f"{_days(days)} {start:02}:00-{end:02}:00" for runs, days in of_days.items() for start, end in runs)


def has_whole_hours(lines: Iterable[str]) -> bool:
    """Tell whether the schedule consists of whole hours."""
    return all(start % 60 == 0 and end % 60 == 0 for start, end in parse_hours(lines))


class WeekGrid(QWidget):
    """Seven rows of 24 hours. Signal: `changed(frozenset)` with the hours of the week, after the user has painted."""

    changed = Signal(object)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.hours: frozenset[int] = frozenset()
        self._at = 0  # the hour that the keyboard is on
        self._brush: bool | None = None  # whether a drag switches hours on; None: no drag
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_hours(self, hours: frozenset[int]) -> None:
        """Show the hours in force, unless somebody is painting."""
        if self._brush is None and hours != self.hours:
            self.hours = hours
            self.update()
        self._describe()

    def sizeHint(self) -> QSize:  # noqa: N802 (Qt's name)
        return QSize(_LABEL + 24 * 22, _HEAD + 7 * _ROW)

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 (Qt's name)
        hour = self._hour_at(event.position())
        if hour is not None and event.button() == Qt.MouseButton.LeftButton:
            self._at, self._brush = hour, hour not in self.hours
            self._paint_hour(hour)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 (Qt's name)
        hour = self._hour_at(event.position())
        if hour is not None and self._brush is not None:
            self._paint_hour(hour)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 (Qt's name)
        if self._brush is not None:
            self._brush = None
            self._finish()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 (Qt's name)
        step = _MOVES.get(Qt.Key(event.key()))
        if step is not None:
            self._at = (self._at + step) % NUM_HOURS
            self._describe()
            self.update()
        elif event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._brush = self._at not in self.hours
            self._paint_hour(self._at)
            self._brush = None
            self._finish()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 (Qt's name)
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 (Qt's name)
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 (Qt's name)
        painter, colours, locale = QPainter(self), theme.colours(), QLocale()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(theme.font(TextStyle.CAPTION))
        painter.setPen(QColor(colours.muted))
        for hour in range(0, 25, 6):
            where = QRectF(_LABEL + hour * self._column - 20, 0, 40, _HEAD - 4)
            painter.drawText(where, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter, f"{hour:02}")
        for day in range(7):
            painter.setPen(QColor(colours.text))
            where = QRectF(0, _HEAD + day * _ROW, _LABEL - theme.SPACE_S, _ROW - _GAP)
            name = locale.dayName(day + 1, QLocale.FormatType.ShortFormat)
            painter.drawText(where, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, name)
        for hour in range(NUM_HOURS):
            self._draw_hour(painter, hour)

    def _draw_hour(self, painter: QPainter, hour: int) -> None:
        """Fill an hour for donating, and leave the others empty."""
        colours, cell = theme.colours(), self._cell(hour)
        is_open = hour in self.hours
        painter.setPen(QPen(QColor(colours.accent if is_open else colours.line), 1))
        painter.setBrush(QColor(colours.accent if is_open else colours.card))
        painter.setOpacity(1.0 if self.isEnabled() else 0.45)
        painter.drawRoundedRect(cell, theme.RADIUS_S - 1, theme.RADIUS_S - 1)
        if hour == self._at and self.hasFocus():
            painter.setPen(QPen(QColor(colours.text), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(cell.adjusted(-1, -1, 1, 1), theme.RADIUS_S, theme.RADIUS_S)

    @property
    def _column(self) -> float:
        return (self.width() - _LABEL - _MARGIN) / 24

    def _cell(self, hour: int) -> QRectF:
        left, top = _LABEL + hour % 24 * self._column, _HEAD + hour // 24 * _ROW
        return QRectF(left + 1, top + 1, self._column - _GAP, _ROW - _GAP - 2)

    def _hour_at(self, place: QPointF) -> int | None:
        column, row = int((place.x() - _LABEL) // self._column), int((place.y() - _HEAD) // _ROW)
        return row * 24 + column if 0 <= column < 24 and 0 <= row < 7 else None

    def _paint_hour(self, hour: int) -> None:
        self.hours = self.hours | {hour} if self._brush else self.hours - {hour}
        self.update()

    def _finish(self) -> None:
        self._describe()
        self.changed.emit(self.hours)

    def _describe(self) -> None:
        """Tell screen readers which hour the keyboard is on, and its state."""
        day = QLocale().dayName(self._at // 24 + 1)
        state = self.tr("donating") if self._at in self.hours else self.tr("not donating")
        hour = self._at % 24
        self.setAccessibleDescription(f"{day}, {hour:02}:00-{hour + 1:02}:00: {state}")


def _runs(hours: Sequence[int]) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for hour in hours:
        if found and found[-1][1] == hour:
            found[-1] = (found[-1][0], hour + 1)
        else:
            found.append((hour, hour + 1))
    return tuple(found)


def _days(days: Sequence[int]) -> str:
    names = [DAYS[start] if end - start == 1 else f"{DAYS[start]}-{DAYS[end - 1]}" for start, end in _runs(days)]
    return "+".join(names)
