"""Times as people write and read them."""

from __future__ import annotations

import re
import time

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def parse_duration(text: str) -> float:
    """Seconds of `90s`, `30m`, `1h30m`, `2d`; raises ValueError with a readable message."""
    parts = _PART.findall(text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower():
        raise ValueError(f"expected a time such as 30m, 1h or 2d, not {text!r}")
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)


def duration(seconds: float) -> str:
    """`45 s`, `12 min`, `3 h 05 min`, `2 d 4 h`."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def clock(at: float, now: float) -> str:
    """Local time of the day, with the date if it is not today."""
    same_day = time.localtime(at)[:3] == time.localtime(now)[:3]
    return time.strftime("%H:%M" if same_day else "%a %d %b %H:%M", time.localtime(at))
