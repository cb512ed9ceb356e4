"""Measures how busy the machine is and what serving uses: processor, energy, traffic and memory of engine and p2pd, and
the disk.

Energy is what the user says, or what the GPU measures and an estimate for each busy processor core. Nothing is measured
while no engine runs and nobody looks.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
from potluck_control.methods.earnings import EnergySource
from potluck_control.schema import LoadStatus
from potluck_control.settings import LimitSettings

from potluck.files import free_bytes, taken_bytes
from potluck.sentences import sentence
from potluck_daemon.metering.traffic import TrafficMeter
from potluck_daemon.metering.usage import Amounts
from potluck_daemon.policy.terms import Disk

DISK_INTERVAL_S = 60.0
MIN_INTERVAL_S = 0.5  # shorter samples are noise, and readers must not shorten each other's
LEAST_W = 0.5  # less is within the error of any meter or estimate, and counts as nothing


@dataclass(frozen=True, slots=True)
class UseSample:
    """The use by engine and p2pd together."""

    amounts: Amounts
    memory_bytes: int
    sources: tuple[EnergySource, ...]


class UseMeter:
    """Samples the use of one engine after another; each sample covers the time since the one before."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._traffic = TrafficMeter()
        self._pid: int | None = None
        self._processes: list[psutil.Process] = []
        self._core_s = 0.0  # of cores that were busy with the engine since the last sample
        self._sampled_at = self._looked_at = clock()
        self._load = LoadStatus(psutil.cpu_percent(None))

    def load(self, engine_pid: int | None) -> LoadStatus:
        """Return how busy the processor was since somebody looked last, but not so short ago that it is noise."""
        self._follow(engine_pid)
        seconds = self._clock() - self._looked_at
        if seconds >= MIN_INTERVAL_S:
            self._looked_at += seconds
            cores = sum(map(_busy_cores, self._processes))
            self._core_s += cores * seconds
            self._load = LoadStatus(psutil.cpu_percent(None), round(100 * cores / (psutil.cpu_count() or 1), 1))
        return self._load

    def sample(self, engine_pid: int | None, limits: LimitSettings, gpu_w: float | None) -> UseSample:
        """Return the use since the last sample of this engine; `gpu_w`: what its GPU draws, None: not known."""
        self.load(engine_pid)
        if engine_pid is not None:
            known = {process: process for process in self._processes}  # they remember their last processor time
            self._processes = [known.get(process, process) for process in _tree(engine_pid)]
        if not self._processes:
            return UseSample(Amounts(), 0, ())
        now, core_s = self._clock(), self._core_s
        seconds, self._sampled_at, self._core_s = now - self._sampled_at, now, 0.0
        traffic = self._traffic.look({process.pid for process in self._processes})
        sources = power_sources(core_s / seconds if seconds > 0 else 0.0, gpu_w, limits)
        energy_wh = sum(source.watts for source in sources) * seconds / 3600
        return UseSample(Amounts(0.0, energy_wh, *traffic), sum(map(_memory_bytes, self._processes)), sources)

    def _follow(self, engine_pid: int | None) -> None:
        """Look at the processes of this engine from now on."""
        if engine_pid != self._pid:
            self._pid, self._processes = engine_pid, _tree(engine_pid) if engine_pid is not None else []
            self._sampled_at = self._looked_at = self._clock()
            self._core_s = 0.0
            for process in self._processes:
                _busy_cores(process)  # from now on


def power_sources(engine_cores: float, gpu_w: float | None, limits: LimitSettings) -> tuple[EnergySource, ...]:
    """Return where the power of serving comes from; `engine_cores`: as many are busy with the engine. Pure."""
    if limits.serving_w > 0:
        return (EnergySource("given", sentence("given wattage"), limits.serving_w),)
    estimate = sentence("{number} W a busy core", number=f"{limits.cpu_core_w:g}")
    sources = (
        EnergySource("nvml", sentence("GPU"), gpu_w or 0.0),
        EnergySource("estimate", estimate, engine_cores * limits.cpu_core_w),
    )
    return tuple(source for source in sources if source.watts >= LEAST_W)


class DiskMeter:
    """Looks at the download folder, at most once a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = Path()
        self._clock = clock
        self._looked_at = -DISK_INTERVAL_S
        self._disk = Disk()

    def look(self, folder: Path, *, with_taken: bool) -> Disk:
        """Return the free space and, `with_taken`, the size of our own files, which takes a look at each of them."""
        if self._clock() - self._looked_at >= DISK_INTERVAL_S or folder != self._folder:
            self._looked_at, self._folder = self._clock(), folder
            self._disk = Disk(free_bytes(folder), taken_bytes(folder) if with_taken else None)
        return self._disk


def _tree(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    return []


def _busy_cores(process: psutil.Process) -> float:
    """Return how many cores the process used since the last call."""
    with contextlib.suppress(psutil.Error):
        return float(process.cpu_percent(None)) / 100
    return 0.0


def _memory_bytes(process: psutil.Process) -> int:
    """Return the memory that ends with the process, without mapped files, which the kernel drops when needed."""
    with contextlib.suppress(psutil.Error):
        memory = process.memory_info()
        return int(memory.rss - getattr(memory, "shared", 0))
    return 0
