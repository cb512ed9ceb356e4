"""Measures what serving uses: traffic, energy and memory of engine and p2pd, and the disk.

`energy` decides where the watts come from. The daemon's chores take the samples, so nothing is measured while no engine
runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
from potluck_control.settings import LimitSettings

from potluck.files import free_bytes
from potluck_daemon.metering.energy import Power, ProcessorMeter, Reading, power_of_serving
from potluck_daemon.metering.traffic import NetworkUse, TrafficMeter
from potluck_daemon.metering.usage import DayUse, used
from potluck_daemon.policy.terms import Disk

DISK_INTERVAL_S = 60.0


@dataclass(frozen=True, slots=True)
class UseSample:
    """The use by engine and p2pd together."""

    use: DayUse
    memory_bytes: int
    power: Power


class UseMeter:
    """Samples the use; each sample covers the time since the last one of the same engine."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, processor: ProcessorMeter | None = None) -> None:
        self._clock = clock
        self._traffic = TrafficMeter()
        self._processor = processor or ProcessorMeter()
        self._pid: int | None = None
        self._cpu_s: dict[int, float] = {}
        self._busy_s = 0.0  # the busy time of all programs
        self._sampled_at = clock()

    def sample(
        self, before: DayUse, engine_pid: int | None, day: str, *, limits: LimitSettings, gpu_w: float | None
    ) -> UseSample:
        """Add the use since the last sample to today's; `gpu_w`: what the engine's GPU draws."""
        now = self._clock()
        seconds, self._sampled_at = now - self._sampled_at, now
        if engine_pid != self._pid:  # no engine ran in between
            seconds, self._pid = 0.0, engine_pid
        processes = _tree(engine_pid) if engine_pid is not None else []
        traffic = self._traffic.look({process.pid for process in processes}) if processes else NetworkUse()
        power = power_of_serving(self._read(processes, seconds, gpu_w), limits, is_running=bool(processes))
        return UseSample(used(before, day, traffic, power.watts, seconds), sum(map(_memory_bytes, processes)), power)

    def _read(self, processes: list[psutil.Process], seconds: float, gpu_w: float | None) -> Reading:
        now = {process.pid: _cpu_seconds(process) for process in processes}
        spent_s = sum(max(used_s - self._cpu_s[pid], 0.0) for pid, used_s in now.items() if pid in self._cpu_s)
        busy_s = _busy_seconds()
        all_s, self._cpu_s, self._busy_s = busy_s - self._busy_s, now, busy_s
        processor_w = self._processor.watts(seconds)
        if seconds <= 0:
            return Reading(processor_problem=self._processor.problem)
        return Reading(spent_s / seconds, all_s / seconds, gpu_w, processor_w, self._processor.problem)


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
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _memory_bytes(process: psutil.Process) -> int:
    """Return the memory that ends with the process, without mapped files, which the kernel drops when needed."""
    try:
        memory = process.memory_info()
    except psutil.Error:
        return 0
    return int(memory.rss - getattr(memory, "shared", 0))


def taken_bytes(folder: Path) -> int:
    total, seen = 0, set[tuple[int, int]]()
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(os.path.join(root, name))
            except OSError:  # deleted while we looked
                continue
            if (found.st_dev, found.st_ino) not in seen:  # one file may have two names
                seen.add((found.st_dev, found.st_ino))
                total += found.st_blocks * 512
    return total
