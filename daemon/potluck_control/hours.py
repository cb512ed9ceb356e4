"""Parses the weekly schedule, e.g. `mon-fri 22:00-07:00`. Pure.

Hours that end at or before their beginning last until the next day. A schedule without lines is always open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_MIN = 24 * 60
WEEK_MIN = 7 * DAY_MIN
_LINE = re.compile(r"(?:([a-z+\-]+)\s+)?(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")


def parse_hours(lines: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Return open times as [start, end) in minutes of the week. `end` exceeds the week if Sunday's hours go on.

    Raises:
        ValueError: with one line that says what is expected.
    """
    return tuple(interval for line in lines for interval in _parse_line(line))


def _parse_line(line: str) -> list[tuple[int, int]]:
    match = _LINE.fullmatch(line.strip().lower())
    if match is None:
        raise ValueError(f"expected hours such as 'mon-fri 22:00-07:00', not {line!r}")
    start, end = _minute(match[2], match[3], line), _minute(match[4], match[5], line)
    if end <= start:
        end += DAY_MIN
    return [(day * DAY_MIN + start, day * DAY_MIN + end) for day in _days(match[1], line)]


def _minute(hours: str, minutes: str, line: str) -> int:
    minute = int(hours) * 60 + int(minutes)
    if minute > DAY_MIN or int(minutes) >= 60:
        raise ValueError(f"expected a time between 00:00 and 24:00 in {line!r}")
    return minute


def _days(text: str | None, line: str) -> list[int]:
    if text is None:
        return list(range(7))
    days: list[int] = []
    for part in text.split("+"):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            raise ValueError(f"expected days such as mon, sat+sun or mon-fri in {line!r}")
        start, end = DAYS.index(first), DAYS.index(last or first)
        days += [day % 7 for day in range(start, end + 1 if end >= start else end + 8)]
    return days
