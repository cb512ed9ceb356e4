"""What serving amounts to now: its speed, and the time, traffic and energy that it takes, compared with the limits.

Tokens and points are the ledger's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from potluck_control.api.schema import LoadStatus, UseStatus
from potluck_control.methods.earnings import EnergySource
from potluck_control.settings import LimitSettings, Settings

from potluck.model_files import hub_cache
from potluck.sentences import Size, sentence
from potluck_daemon.accounting.meters import DiskMeter, UseMeter
from potluck_daemon.accounting.usage import Amounts, ServingHours
from potluck_daemon.policy.hours_and_caps import Disk, obstacles
from potluck_daemon.policy.model import Decision
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.supervisor.supervisor import Supervisor

WINDOW_S = 6.0  # the speed covers so much time: steady enough to read, quick enough to believe
QUIET_S = 3.0  # the speed is 0 after so long without a token; an engine reports every second


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """The tokens that engines have reported lately. Times are monotonic seconds.

    An engine counts from 0, so a count below the last one means a new engine.

    Attributes:
        grew: when the count grew, and the count then; the first pair is the count before that.
    """

    total: int = 0
    last_at: float = 0.0
    grew: tuple[tuple[float, int], ...] = ()

    def after(self, total: int, now: float) -> TokenCounts:
        """Return the counts after an engine has reported `total` tokens at `now`."""
        if total < self.total:
            return TokenCounts(total, now)
        if total == self.total:
            return TokenCounts(total, now, self.grew)
        recent = tuple(each for each in self.grew if now - each[0] < WINDOW_S)
        if not recent or self.last_at - recent[-1][0] >= QUIET_S:
            is_next = now - self.last_at < QUIET_S  # False for the first report of another engine
            recent = ((self.last_at, self.total),) if is_next else ()
        return TokenCounts(total, now, (*recent, (now, total)))

    def tokens_per_s(self, now: float) -> float:
        """Return the speed of the last seconds. It doesn't fade: after the last token it stays, then it is 0."""
        if len(self.grew) < 2:
            return 0.0
        (began, before), (ended, total) = self.grew[0], self.grew[-1]
        return (total - before) / (ended - began) if now - ended < QUIET_S else 0.0


class ServingAccount:
    """Adds what the engine of `supervisor` uses to `hours`, and compares the sums with the limits.

    Attributes:
        counts: the tokens that the engine has reported.
        sources: where the power that serving takes now comes from.
    """

    def __init__(
        self, hours: ServingHours, environment: Mapping[str, str], reader: NvmlReader, supervisor: Supervisor
    ) -> None:
        self._supervisor = supervisor
        self._hours = hours
        self._environment = environment
        self._reader = reader
        self._counted_at = time.monotonic()
        self._meter = UseMeter()
        self._disk = DiskMeter()
        self.counts = TokenCounts()
        self.sources: tuple[EnergySource, ...] = ()

    def count_tokens(self) -> None:
        """Count the tokens of the engine's last report."""
        facts = self._supervisor.facts
        if facts.reported_at > self.counts.last_at:
            self.counts = self.counts.after(facts.report.total_tokens, facts.reported_at)
        if self._supervisor.pid is None:
            self.counts = self.counts.after(0, self.counts.last_at)  # the next engine counts from 0 again

    def count_time(self, *, is_serving: bool) -> None:
        """Count the time since the last call. `is_serving`: whether the daemon has served since then."""
        before, self._counted_at = self._counted_at, time.monotonic()
        if is_serving:
            self._hours.add(time.time(), Amounts(served_s=self._counted_at - before))

    async def sample_use(self, limits: LimitSettings) -> None:
        """Count traffic and energy since the last call, and end an engine that takes more memory than it may."""
        pid, gpu = self._supervisor.pid, self._supervisor.facts.report.gpu
        gpu_w = await self._gpu_power_w(gpu) if gpu and pid is not None else None
        sample = self._meter.sample(pid, limits, gpu_w)
        self._hours.add(time.time(), sample.amounts)
        self.sources = sample.sources
        if 0 < limits.ram_mb << 20 < sample.memory_bytes:
            text = sentence(
                "it takes {used} of memory, more than {all}, which limits.ram_mb allows",
                used=Size(sample.memory_bytes),
                all=Size(limits.ram_mb << 20),
            )
            self._supervisor.kill(text)

    def obstacles(self, settings: Settings) -> tuple[Decision, ...]:
        """Return what forbids serving now. The disk matters only while no engine runs, which may have to download."""
        disk = Disk()
        if self._supervisor.pid is None:
            folder = models_folder(settings, self._environment)
            disk = self._disk.measure(folder, with_taken=settings.limits.disk_mb > 0)
        now = datetime.now()
        return obstacles(settings.when, settings.limits, self._hours.use(now.timestamp()), disk, now)

    def load(self) -> LoadStatus:
        """Return how busy the processor is."""
        return self._meter.load(self._supervisor.pid)

    def use_status(self, limits: LimitSettings) -> UseStatus:
        """Return what serving has used today and this month."""
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
