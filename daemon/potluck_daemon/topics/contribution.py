"""`contribution.*` of the control API."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from potluck_control.method import Empty
from potluck_control.methods import contribution
from potluck_control.methods.contribution import Contribution
from potluck_control.methods.earnings import Earned
from potluck_control.methods.periods import Period, SeriesParams

from potluck.errors import PotluckError
from potluck_daemon.control.server import Handler
from potluck_daemon.ledger.history import LedgerHistory
from potluck_daemon.topics.topic import Topic

if TYPE_CHECKING:
    pass


class ContributionTopic(Topic):
    def handlers(self) -> dict[str, Handler]:
        return {contribution.NOW.name: self._now, contribution.SERIES.name: self._series}

    async def _now(self, _: Empty) -> contribution.ContributionNow:
        daemon, now = self._daemon, time.time()
        await daemon.count_use()
        daemon.count_given()
        people = await self._people(lambda history: (history.summary(now).today, history.summary(now).total))
        today, total = daemon.contribution.series(Period.DAY, 1, now).periods[0], daemon.contribution.total(now)
        streak, longest = daemon.contribution.streaks(datetime.fromtimestamp(now).date())
        swarm = daemon.status().swarm if daemon.is_serving else None
        people_today, people_ever = people or (None, None)
        return contribution.ContributionNow(
            today=self._told(today, people_today),
            total=self._told(total, people_ever),
            streak_days=streak,
            longest_streak_days=longest,
            swarm_share=swarm_share(swarm.span, swarm.coverage) if swarm is not None else None,
            watts=round(daemon.power.watts, 1),
            sources=daemon.power.sources,
        )

    async def _series(self, params: SeriesParams) -> contribution.ContributionSeries:
        daemon, now = self._daemon, time.time()
        await daemon.count_use()
        daemon.count_given()
        found = daemon.contribution.series(params.period, params.count, now)
        people = await self._people(lambda history: history.series(params.period, params.count, now).periods)
        numbers = people or (None,) * len(found.periods)
        told = tuple(self._told(item, number) for item, number in zip(found.periods, numbers, strict=True))
        return replace(found, periods=told)

    async def _people(self, question: Callable[[LedgerHistory], Sequence[Earned]]) -> tuple[int, ...] | None:
        """Who signed for work, from the ledger; None while it cannot be read."""
        try:
            sums = await self._daemon.clerk.ask(lambda ledger: question(ledger.history))
        except PotluckError:
            return None
        return tuple(item.people for item in sums)

    def _told(self, item: Contribution, people: int | None) -> Contribution:
        price = self._daemon.loaded.settings.limits.price_kwh
        cost = round(item.energy_wh / 1000 * price, 6) if price else None
        return replace(item, cost=cost, people=people)


def swarm_share(span: tuple[int, int] | None, coverage: Sequence[int]) -> float | None:
    """Of the model's work, if those who serve the same block share it alike. None: not known yet."""
    if span is None or not coverage:
        return None
    return round(sum(1 / max(coverage[block], 1) for block in range(*span) if block < len(coverage)) / len(coverage), 4)
