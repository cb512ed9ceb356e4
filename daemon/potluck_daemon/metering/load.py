"""Measures how busy the machine is, only when somebody asks: a daemon that nobody looks at does nothing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class CpuLoad:
    cpu_percent: float  # of the whole machine
    engine_cpu_percent: float  # of the whole machine


MIN_INTERVAL_S = 0.5  # shorter samples are noise, and readers must not shorten each other's


class CpuMeter:
    """Samples the processor; each sample covers the time since the one before."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._engine: psutil.Process | None = None
        self._last = CpuLoad(0.0, 0.0)
        self._last_at = clock()
        psutil.cpu_percent(None)

    def sample(self, engine_pid: int | None) -> CpuLoad:
        now = self._clock()
        if now - self._last_at >= MIN_INTERVAL_S:
            self._last_at = now
            self._last = CpuLoad(psutil.cpu_percent(None), self._engine_percent(engine_pid))
        return self._last

    def _engine_percent(self, pid: int | None) -> float:
        if pid is None:
            self._engine = None
            return 0.0
        with contextlib.suppress(psutil.Error):
            if self._engine is None or self._engine.pid != pid:
                self._engine = psutil.Process(pid)
            return round(float(self._engine.cpu_percent(None)) / (psutil.cpu_count() or 1), 1)
        return 0.0
