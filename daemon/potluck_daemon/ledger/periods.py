"""Local hours, days, weeks and months, as the entries and hours of the ledger are added up. Pure."""

from __future__ import annotations

import datetime

from potluck_control.methods.periods import Period


def period_starts(period: Period, count: int, now: float) -> list[float]:
    """Return when the last `count` periods begin in local time, oldest first, and when the present one ends."""
    moment = datetime.datetime.fromtimestamp(now)
    start = moment.replace(minute=0, second=0, microsecond=0)
    if period is Period.HOUR:
        hour = start.timestamp()
        return [hour + 3600 * index for index in range(1 - count, 2)]
    start = start.replace(hour=0)
    if period is Period.MONTH:
        months = start.year * 12 + start.month - 1
        firsts = [divmod(months + index, 12) for index in range(1 - count, 2)]
        return [datetime.datetime(year, month + 1, 1).timestamp() for year, month in firsts]
    step = 7 if period is Period.WEEK else 1
    if period is Period.WEEK:
        start -= datetime.timedelta(days=start.weekday())
    return [(start + datetime.timedelta(days=step * index)).timestamp() for index in range(1 - count, 2)]
