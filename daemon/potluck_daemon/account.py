"""What serving amounts to: its speed, and time, traffic and energy, today and in the contribution book.

Tokens and points are the ledger's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from potluck_control.settings import LimitSettings

from potluck.errors import PotluckError
from potluck_daemon.metering.usage import DayUse
from potluck_daemon.policy.budget import Budget
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.reporting.contribution import ContributionBook, Counters, given
from potluck_daemon.reporting.counters import TokenCounts, count, stopped
from potluck_daemon.settings.state import RememberedState
from potluck_daemon.supervisor.supervisor import Supervisor


class ServingAccount:
    """Counts for the engine of `supervisor`. Call `open` first."""

    def __init__(self, file: Path, environment: Mapping[str, str], reader: NvmlReader, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._counters = Counters(0.0, False, DayUse())
        self.counts = TokenCounts()
        self.budget = Budget(environment, reader)
        self.book = ContributionBook(file)

    def open(self, state: RememberedState) -> None:
        """Go on from what was remembered."""
        self.budget.use = state.use
        self._counters = Counters(time.monotonic(), False, state.use)
        self.book.open()

    def count_tokens(self) -> None:
        """Count what the engine last reported."""
        facts = self._supervisor.facts
        if facts.reported_at > self.counts.last_at:
            self.counts = count(self.counts, facts.report.total_tokens, facts.reported_at)
        if self._supervisor.pid is None:
            self.counts = stopped(self.counts)

    def book_contribution(self, *, is_serving: bool) -> None:
        """Enter what was given since the last call. `is_serving`: whether the daemon has served since then."""
        now = Counters(time.monotonic(), is_serving, self.budget.use)
        self.book.add(time.time(), given(self._counters, now))
        self._counters = now

    async def sample_use(self, limits: LimitSettings) -> None:
        """Count traffic and energy, unless that was just done. End an engine that takes more memory than it may."""
        try:
            await self.budget.sample(self._supervisor.pid, self._supervisor.facts.report.gpu, limits)
        except PotluckError as error:
            self._supervisor.give_up(error.sentence)

    def remember(self, state: RememberedState) -> RememberedState:
        """Return `state` with today's sums."""
        return replace(state, use=self.budget.use)
