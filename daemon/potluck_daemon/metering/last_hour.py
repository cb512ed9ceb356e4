"""Keeps the last hour by the minute: tokens, and the load of the processor and the GPU. Reads no clock itself."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import psutil
from potluck_control.methods.activity import MINUTE_S, MINUTES, Minute

_SLEPT_S = 3 * MINUTE_S  # a longer time between two looks is no minute


@dataclass(frozen=True, slots=True)
class HourReading:
    """Counters that grow: tokens, and the seconds of all cores, busy or not."""

    tokens: int
    busy_s: float
    all_s: float


def read(tokens: int) -> HourReading:
    """Return the counters now."""
    times = psutil.cpu_times()
    idle_s = times.idle + getattr(times, "iowait", 0.0)
    all_s = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)  # guests count as users, too
    return HourReading(tokens, all_s - idle_s, all_s)


class HourMeter:
    """Closes a minute at the first look after its end. Times are Unix seconds."""

    def __init__(self) -> None:
        self._minutes: deque[Minute] = deque(maxlen=MINUTES)
        self._began: tuple[float, HourReading] | None = None
        self._gpu_percents: list[float] = []

    @property
    def minutes(self) -> tuple[Minute, ...]:
        return tuple(self._minutes)

    def is_due(self, now: float) -> bool:
        """Return whether a minute has passed, so that `close` is to be called."""
        return self._began is None or not 0 <= now - self._began[0] < MINUTE_S

    def note_gpu(self, percent: float | None) -> None:
        """Count what the GPU says now, several times a minute."""
        if percent is not None:
            self._gpu_percents.append(percent)

    def close(self, now: float, reading: HourReading) -> None:
        """End the minute that runs and begin the next."""
        percents, self._gpu_percents = self._gpu_percents, []
        before, self._began = self._began, (now, reading)
        if before is None or not MINUTE_S <= now - before[0] <= _SLEPT_S:
            return
        (began, old), seconds = before, now - before[0]
        passed_s = max(reading.all_s - old.all_s, 1e-9)
        self._minutes.append(
            Minute(
                at=round(began + seconds, 1),
                tokens_per_s=round(max(reading.tokens - old.tokens, 0) / seconds, 2),
                cpu_percent=round(100 * min(max((reading.busy_s - old.busy_s) / passed_s, 0.0), 1.0), 1),
                gpu_percent=round(sum(percents) / len(percents), 1) if percents else None,
            )
        )
