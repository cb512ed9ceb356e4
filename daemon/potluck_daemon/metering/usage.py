"""Today's use by serving: data sent and received, and energy; and the data of its month. Pure.

The daemon's state keeps it with its date.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from potluck_daemon.metering.traffic import NetworkUse

_MONTH = len("2026-11")


@dataclass(frozen=True, slots=True)
class DayUse:
    day: str = ""  # local date
    sent_bytes: int = 0
    received_bytes: int = 0
    energy_wh: float = 0.0
    month_sent_bytes: int = 0  # in the month of `day`, the day included
    month_received_bytes: int = 0


def on(use: DayUse, day: str) -> DayUse:
    """Return `use` as it stands on `day`: a new day begins with nothing, and so does a new month. Dates are ISO's."""
    if use.day == day:
        return use
    is_same_month = use.day[:_MONTH] == day[:_MONTH]
    return DayUse(day, 0, 0, 0.0, *((use.month_sent_bytes, use.month_received_bytes) if is_same_month else ()))


def used(before: DayUse, day: str, traffic: NetworkUse, watts: float, seconds: float) -> DayUse:
    """Return the use after `seconds` in which the engine drew `watts`."""
    today = on(before, day)
    return replace(
        today,
        sent_bytes=today.sent_bytes + traffic.sent_bytes,
        received_bytes=today.received_bytes + traffic.received_bytes,
        energy_wh=today.energy_wh + watts * seconds / 3600,
        month_sent_bytes=today.month_sent_bytes + traffic.sent_bytes,
        month_received_bytes=today.month_received_bytes + traffic.received_bytes,
    )
