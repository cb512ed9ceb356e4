"""Tells whether a weekly schedule, as `potluck_control.hours` reads it, is open, or when it opens. Pure, local time."""

from __future__ import annotations

from datetime import datetime

from potluck_control.hours import DAY_MIN, WEEK_MIN


def is_open(intervals: tuple[tuple[int, int], ...], now: datetime) -> bool:
    return not intervals or _contains(intervals, _minute_of_week(now))


def opens_in_s(intervals: tuple[tuple[int, int], ...], now: datetime) -> float:
    """Return the seconds until the next opening; 0 while it is open."""
    minute = _minute_of_week(now)
    if is_open(intervals, now):
        return 0.0
    waits = [(start - minute) % WEEK_MIN for start, _ in intervals]
    return max(min(waits) * 60.0 - now.second - now.microsecond / 1e6, 0.0)


def _contains(intervals: tuple[tuple[int, int], ...], minute: int) -> bool:
    return any(start <= minute < end or start <= minute + WEEK_MIN < end for start, end in intervals)


def _minute_of_week(now: datetime) -> int:
    return now.weekday() * DAY_MIN + now.hour * 60 + now.minute
