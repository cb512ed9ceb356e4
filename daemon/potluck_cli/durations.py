"""Reads the times that people write, and writes times of the day."""

from __future__ import annotations

import re
import time

from potluck.errors import UsageError

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def parse_duration(text: str) -> float:
    """Return the seconds of `90s`, `30m`, `1h30m`, `2 d`. Raises UsageError."""
    written = "".join(text.lower().split())
    parts = _PART.findall(written)
    if not parts or "".join(number + unit for number, unit in parts) != written:
        raise UsageError(f"expected a time such as 30m, 1h or 2d, not {text!r}", hint="1h30m is an hour and a half")
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)


def seconds_until(text: str, now: float) -> float:
    """Return the seconds from `now` (Unix) until the local time is `18:00` again. Raises UsageError."""
    if (found := _CLOCK.fullmatch(text)) is None:
        raise UsageError(f"expected a time of day such as 18:00, not {text!r}", hint="or a duration: for 2h")
    today = time.localtime(now)
    hour, minute = int(found[1]), int(found[2])
    for days in (0, 1):  # mktime knows when summer time begins and ends
        at = time.mktime((today.tm_year, today.tm_mon, today.tm_mday + days, hour, minute, 0, 0, 0, -1))
        if at > now:
            break
    return at - now


def clock(at: float, now: float) -> str:
    """Return the local time of day, with the date if it is not today."""
    same_day = time.localtime(at)[:3] == time.localtime(now)[:3]
    return time.strftime("%H:%M" if same_day else "%a %d %b %H:%M", time.localtime(at))
