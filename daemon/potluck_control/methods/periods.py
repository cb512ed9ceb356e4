"""Periods for charts, the same in every method that returns a series: local hours, days, weeks, months."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

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
    count: Annotated[int, Meta(ge=1, le=MAX_PERIODS)] = 30
