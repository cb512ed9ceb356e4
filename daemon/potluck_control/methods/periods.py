"""Periods for charts, the same in every method that returns a series: local hours, days, weeks, months."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

MAX_PERIODS = 1000


class Period(StrEnum):
    """A period in local time. Days begin at midnight, weeks on Monday."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class SeriesParams(Struct, frozen=True):
    """The last `count` periods, of which the present one is the last."""

    period: Period = Period.DAY
    count: int = 30

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_PERIODS:
            raise ValueError(f"count is between 1 and {MAX_PERIODS}")
