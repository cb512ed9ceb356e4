"""`activity.*`: how lively the last hour was, by the minute. It is kept in memory, so a new daemon begins anew."""

from __future__ import annotations

from msgspec import Struct

from potluck_control.method import Empty, Method

MINUTE_S = 60.0
MINUTES = 60


class Minute(Struct, frozen=True):
    """The means over a minute. Percentages are of the whole machine, whoever uses it."""

    at: float  # its end, Unix
    tokens_per_s: float
    cpu_percent: float
    gpu_percent: float | None  # None: no GPU told, as while no engine runs


class LastHour(Struct, frozen=True):
    """Has at most 60 minutes, oldest first, and none for the time in which the computer slept."""

    minutes: tuple[Minute, ...]


HOUR = Method("activity.hour", Empty, LastHour)
