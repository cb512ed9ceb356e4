"""Today's use by serving: data sent and received, and energy. Pure; the daemon's state keeps it with its date."""

from __future__ import annotations

from dataclasses import dataclass, replace

from potluck_daemon.metering.traffic import NetworkUse


@dataclass(frozen=True, slots=True)
class DayUse:
    day: str = ""  # local date
    sent_bytes: int = 0
    received_bytes: int = 0
    energy_wh: float = 0.0


def used(before: DayUse, day: str, traffic: NetworkUse, watts: float, seconds: float) -> DayUse:
    """Return the use after `seconds` in which the engine drew `watts`; a new day begins with nothing."""
    today = before if before.day == day else DayUse(day)
    return replace(
        today,
        sent_bytes=today.sent_bytes + traffic.sent_bytes,
        received_bytes=today.received_bytes + traffic.received_bytes,
        energy_wh=today.energy_wh + watts * seconds / 3600,
    )
