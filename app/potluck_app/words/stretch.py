"""The stretches of time of the page Earnings: what to ask the daemon for, and the names of its periods."""

from __future__ import annotations

import datetime
from enum import Enum

from potluck_control.methods.earnings import Earned, Earnings
from potluck_control.methods.periods import Period, SeriesParams
from PySide6.QtCore import QDateTime, QLocale

HOURS = 24


class Stretch(Enum):
    """A stretch of time that ends now; the value is its number of days, today included."""

    DAY = 1
    WEEK = 7
    MONTH = 30

    def params(self, now: datetime.datetime) -> SeriesParams:
        """Ask for today by the hour, and for the others by the day. `now`: local time."""
        if self is Stretch.DAY:
            return SeriesParams(Period.HOUR, now.hour + 1)
        return SeriesParams(Period.DAY, self.value)

    def sums(self, earnings: Earnings) -> Earned:
        return {Stretch.DAY: earnings.today, Stretch.WEEK: earnings.week, Stretch.MONTH: earnings.month}[self]

    def label(self, start: float) -> str:
        """Return the short name of the period that begins at `start`, for below a bar."""
        formats = {Stretch.DAY: "HH", Stretch.WEEK: "ddd", Stretch.MONTH: "d"}
        return _said(start, formats[self])

    def full(self, start: float) -> str:
        """Return the name of the period in full."""
        return _said(start, "HH:mm" if self is Stretch.DAY else "dddd d MMMM")


def _said(at: float, pattern: str) -> str:
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(at)), pattern)
