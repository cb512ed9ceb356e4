"""Derives the speed of the work for others from the growing count of tokens that an engine reports. Pure.

An engine counts from 0, so a count below the last one means a new engine. Times are monotonic seconds.

Measures what serving uses today and in this month, and asks `terms` which obstacles follow from that.

What serving amounts to: its speed, and the time, traffic and energy that it takes.

Tokens and points are the ledger's, which has the hours, too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from potluck_control.api.schema import UseStatus
from potluck_control.methods.earnings import EnergySource
from potluck_control.settings import LimitSettings, Settings

from potluck.errors import PotluckError
from potluck.model_files import hub_cache
from potluck.sentences import Size, sentence
from potluck_daemon.accounting.meters import DiskMeter, UseMeter
from potluck_daemon.accounting.usage import Amounts, ServingHours
from potluck_daemon.policy.decide import Decision
from potluck_daemon.policy.terms import Disk, obstacles
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.supervisor.supervisor import Supervisor

WINDOW_S = 6.0  # the speed is that of so long: steady enough to read, quick enough to believe
QUIET_S = 3.0  # without a new token there is no speed; an engine reports every second


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """`grew`: when tokens came lately, and how many the engine had served by then; first when they began to."""

    total: int = 0
    last_at: float = 0.0
    grew: tuple[tuple[float, int], ...] = ()

    def tokens_per_s(self, now: float) -> float:
        """Return the speed of the last seconds. It doesn't fade: after the last token it stays, then it is 0."""
        if len(self.grew) < 2:
            return 0.0
        (began, before), (ended, total) = self.grew[0], self.grew[-1]
        return (total - before) / (ended - began) if now - ended < QUIET_S else 0.0


def count(before: TokenCounts, total: int, now: float) -> TokenCounts:
    """Return the counts after an engine reported `total` tokens at `now`."""
    if total < before.total:
        return TokenCounts(total, now)
    if total == before.total:
        return TokenCounts(total, now, before.grew)
    recent = tuple(each for each in before.grew if now - each[0] < WINDOW_S)
    if not recent or before.last_at - recent[-1][0] >= QUIET_S:
        is_next = now - before.last_at < QUIET_S  # and not the first report of another engine
        recent = ((before.last_at, before.total),) if is_next else ()
    return TokenCounts(total, now, (*recent, (now, total)))


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


class ServingAccount:
    """Counts for the engine of `supervisor`, and adds to `hours`."""

    def __init__(
        self, hours: ServingHours, environment: Mapping[str, str], reader: NvmlReader, supervisor: Supervisor
    ) -> None:
        self._supervisor = supervisor
        self._hours = hours
        self._counted_at = time.monotonic()
        self.counts = TokenCounts()
        self.budget = Budget(environment, reader, hours)

    def count_tokens(self) -> None:
        """Count what the engine last reported."""
        facts = self._supervisor.facts
        if facts.reported_at > self.counts.last_at:
            self.counts = count(self.counts, facts.report.total_tokens, facts.reported_at)
        if self._supervisor.pid is None:
            self.counts = count(self.counts, 0, self.counts.last_at)  # the next engine counts from 0 again

    def count_time(self, *, is_serving: bool) -> None:
        """Count the time since the last call. `is_serving`: whether the daemon has served since then."""
        before, self._counted_at = self._counted_at, time.monotonic()
        if is_serving:
            self._hours.add(time.time(), Amounts(served_s=self._counted_at - before))

    async def sample_use(self, limits: LimitSettings) -> None:
        """Count traffic and energy. End an engine that takes more memory than it may."""
        try:
            await self.budget.sample(self._supervisor.pid, self._supervisor.facts.report.gpu, limits)
        except PotluckError as error:
            self._supervisor.give_up(error.sentence)
