"""Times of day and dates, as the user's language writes them."""

from __future__ import annotations

from PySide6.QtCore import QDateTime, QLocale

from potluck_app.words.language import tr


def time_of_day(at: float) -> str:
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(at)), "HH:mm")


def day(at: float) -> str:
    """Return today, yesterday, or the date in full."""
    when, today = QDateTime.fromSecsSinceEpoch(int(at)).date(), QDateTime.currentDateTime().date()
    match when.daysTo(today):
        case 0:
            return tr("Today")
        case 1:
            return tr("Yesterday")
        case _:
            return QLocale().toString(when, QLocale.FormatType.LongFormat)


def date(at: float) -> str:
    """Return a date with its year, without the day of the week."""
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(at)).date(), tr("d MMM yyyy"))


def clock(at: float) -> str:
    """Return a time of day, with the date unless it is today."""
    when = QDateTime.fromSecsSinceEpoch(int(at))
    is_today = when.date() == QDateTime.currentDateTime().date()
    return QLocale().toString(when, "HH:mm" if is_today else "ddd d MMM, HH:mm")
