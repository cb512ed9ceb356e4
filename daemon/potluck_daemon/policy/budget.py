"""Measures the use of today and its month, and tells which obstacles follow from it: the data of `terms`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from potluck_control.schema import UseStatus
from potluck_control.settings import LimitSettings, Settings

from potluck.errors import PotluckError
from potluck.model_folder import hub_cache
from potluck.sentences import Size, sentence
from potluck_daemon.metering.energy import Power
from potluck_daemon.metering.meters import DiskMeter, UseMeter
from potluck_daemon.metering.usage import DayUse, on
from potluck_daemon.policy.decide import Obstacle
from potluck_daemon.policy.terms import Disk, cost, obstacles
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError

INTERVAL_S = 15.0  # between samples, each of which takes some milliseconds


class Budget:
    """The use of a day and its month. The daemon remembers `use` across restarts."""

    def __init__(
        self,
        environment: Mapping[str, str],
        reader: NvmlReader,
        meter: UseMeter | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._meter = meter or UseMeter()
        self._clock = clock
        self._environment = environment
        self._disk = DiskMeter()
        self._sampled_at = -INTERVAL_S
        self._sampled_pid: int | None = None
        self.use = DayUse()
        self.power = Power()

    async def sample(self, engine_pid: int | None, gpu: str, limits: LimitSettings) -> None:
        """Count what was used since the last sample, if that was not just now.

        Raises:
            PotluckError: the engine takes more memory than it may.
        """
        if self._clock() < self._sampled_at + INTERVAL_S and engine_pid == self._sampled_pid:
            return
        self._sampled_at, self._sampled_pid = self._clock(), engine_pid
        gpu_w = await self._gpu_power_w(gpu) if gpu and engine_pid is not None else None
        day = datetime.now().strftime("%Y-%m-%d")
        sample = self._meter.sample(self.use, engine_pid, day, limits=limits, gpu_w=gpu_w)
        self.use, self.power = sample.use, sample.power
        if 0 < limits.ram_mb << 20 < sample.memory_bytes:
            text = sentence(
                "it takes {used} of memory, more than {all}, which limits.ram_mb allows",
                used=Size(sample.memory_bytes),
                all=Size(limits.ram_mb << 20),
            )
            raise PotluckError(text)

    def obstacles(self, settings: Settings, *, may_download: bool) -> tuple[Obstacle, ...]:
        """Return what forbids serving now. The disk matters only if something may have to be downloaded."""
        disk = Disk()
        if may_download:
            folder = models_folder(settings, self._environment)
            disk = self._disk.look(folder, with_taken=settings.limits.disk_mb > 0)
        return obstacles(settings.when, settings.limits, self.use, disk, datetime.now())

    def status(self, limits: LimitSettings) -> UseStatus:
        use = on(self.use, datetime.now().strftime("%Y-%m-%d"))
        spent = round(cost(limits, use), 4) if limits.price_kwh else None
        month = (use.month_sent_bytes, use.month_received_bytes)
        return UseStatus(use.sent_bytes, use.received_bytes, round(use.energy_wh, 3), spent, *month)

    async def _gpu_power_w(self, pci: str) -> float | None:
        try:
            gpus = await self._reader.gpus()
        except (ProbeUnavailableError, ProbeFailedError):
            return None
        return next((gpu.power_w for gpu in gpus if gpu.pci == pci), None)


def models_folder(settings: Settings, environment: Mapping[str, str]) -> Path:
    """Return the folder of downloaded checkpoints: the user's choice, or huggingface_hub's default."""
    return Path(settings.serve.models_folder or hub_cache(environment))
