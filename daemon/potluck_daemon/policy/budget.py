"""Measures what serving uses today and in this month, and asks `terms` which obstacles follow from that."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from potluck_control.methods.earnings import EnergySource
from potluck_control.schema import UseStatus
from potluck_control.settings import LimitSettings, Settings

from potluck.errors import PotluckError
from potluck.model_folder import hub_cache
from potluck.sentences import Size, sentence
from potluck_daemon.metering.meters import DiskMeter, UseMeter
from potluck_daemon.metering.usage import ServingHours
from potluck_daemon.policy.decide import Decision
from potluck_daemon.policy.terms import Disk, obstacles
from potluck_daemon.presence.nvml import NvmlReader


class Budget:
    """Adds what serving uses to `hours`, and compares the sums with the limits.

    Attributes:
        meter: what measures the processes of the engine.
        sources: where the power that serving takes now comes from.
    """

    def __init__(self, environment: Mapping[str, str], reader: NvmlReader, hours: ServingHours) -> None:
        self._reader = reader
        self._hours = hours
        self.meter = UseMeter()
        self._environment = environment
        self._disk = DiskMeter()
        self.sources: tuple[EnergySource, ...] = ()

    async def sample(self, engine_pid: int | None, gpu: str, limits: LimitSettings) -> None:
        """Count what was used since the last sample. This takes some milliseconds.

        Raises:
            PotluckError: the engine takes more memory than it may.
        """
        gpu_w = await self._gpu_power_w(gpu) if gpu and engine_pid is not None else None
        sample = self.meter.sample(engine_pid, limits, gpu_w)
        self._hours.add(time.time(), sample.amounts)
        self.sources = sample.sources
        if 0 < limits.ram_mb << 20 < sample.memory_bytes:
            text = sentence(
                "it takes {used} of memory, more than {all}, which limits.ram_mb allows",
                used=Size(sample.memory_bytes),
                all=Size(limits.ram_mb << 20),
            )
            raise PotluckError(text)

    def obstacles(self, settings: Settings, *, may_download: bool) -> tuple[Decision, ...]:
        """Return what forbids serving now. The disk matters only if something may have to be downloaded."""
        disk = Disk()
        if may_download:
            folder = models_folder(settings, self._environment)
            disk = self._disk.look(folder, with_taken=settings.limits.disk_mb > 0)
        now = datetime.now()
        return obstacles(settings.when, settings.limits, self._hours.use(now.timestamp()), disk, now)

    def status(self, limits: LimitSettings) -> UseStatus:
        use = self._hours.use(time.time())
        today, month = use.today, use.month
        spent = round(today.cost(limits.price_kwh), 4) if limits.price_kwh else None
        energy_wh, by_month = round(today.energy_wh, 3), (month.sent_bytes, month.received_bytes)
        return UseStatus(today.sent_bytes, today.received_bytes, energy_wh, spent, *by_month)

    async def _gpu_power_w(self, pci: str) -> float | None:
        return next((gpu.power_w for gpu in await self._reader.gpus() if gpu.pci == pci), None)


def models_folder(settings: Settings, environment: Mapping[str, str]) -> Path:
    """Return the folder of downloaded checkpoints: the user's choice, or huggingface_hub's default."""
    return Path(settings.serve.models_folder or hub_cache(environment))
