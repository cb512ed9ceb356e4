"""Stretches of time for charts, the same in every method that tells a history: local hours, days, weeks, months."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MAX_PERIODS = 1000


class Period(StrEnum):
    """Local time: days begin at midnight, weeks on Monday."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class SeriesParams:
    """The last `count` periods; the present one, which is not over yet, is the last of them."""

    period: Period = Period.DAY
    count: int = 30

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_PERIODS:
            raise ValueError(f"count is between 1 and {MAX_PERIODS}")
