"""Numbers with their units, dates and times, as the user's language writes them."""

from __future__ import annotations

from PySide6.QtCore import QDateTime, QLocale

from potluck import formatting
from potluck_app.words.language import tr

duration = formatting.duration
_MANY_POINTS = 10_000_000  # fewer fit beside other figures in full


def number(value: float, decimals: int = 0) -> str:
    return QLocale().toString(float(value), "f", decimals)


def rate(tokens_per_s: float) -> str:
    return tr("{number} tokens/s").format(number=number(tokens_per_s, 1 if tokens_per_s < 100 else 0))


def points(amount: int) -> str:
    """Return whole points, and from ten million on three digits of them, without a unit."""
    if amount < _MANY_POINTS:
        return number(amount)
    scale, text = (1e9, tr("{number} bn")) if amount >= 1e9 else (1e6, tr("{number} M"))
    value = amount / scale
    return text.format(number=number(value, 0 if value >= 100 else 1))


def energy(watt_hours: float) -> str:
    return f"{number(watt_hours / 1000, 1)} kWh" if watt_hours >= 1000 else f"{number(watt_hours)} Wh"


def size(num_bytes: float) -> str:
    return formatting.size(num_bytes, number)


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
