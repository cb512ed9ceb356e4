"""What serving amounts to: its speed, and the time, traffic and energy that it takes.

Tokens and points are the ledger's, which has the hours, too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from potluck_control.settings import LimitSettings

from potluck.errors import PotluckError
from potluck_daemon.metering.usage import Amounts, ServingHours
from potluck_daemon.policy.budget import Budget
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.reporting.counters import TokenCounts, count
from potluck_daemon.supervisor.supervisor import Supervisor


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
