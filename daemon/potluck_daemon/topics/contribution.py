"""`contribution.*` of the control API."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from potluck_daemon.control.method import Empty
from potluck_daemon.control.methods import contribution
from potluck_daemon.control.methods.contribution import Contribution
from potluck_daemon.control.methods.periods import Period, SeriesParams
from potluck_daemon.control.server import Handler
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
        (today,) = daemon.contribution.series(Period.DAY, 1, now, daemon.people).periods
        streak, longest = daemon.contribution.streaks(datetime.fromtimestamp(now).date())
        swarm = daemon.status().swarm
        is_serving = swarm is not None and daemon.is_serving
        return contribution.ContributionNow(
            today=self._priced(today),
            total=self._priced(daemon.contribution.total(now, daemon.people)),
            streak_days=streak,
            longest_streak_days=longest,
            swarm_share=swarm_share(swarm.span, swarm.coverage) if swarm is not None and is_serving else None,
            watts=round(daemon.power.watts, 1),
            sources=daemon.power.sources,
        )

    async def _series(self, params: SeriesParams) -> contribution.ContributionSeries:
        daemon = self._daemon
        daemon.count_given()
        found = daemon.contribution.series(params.period, params.count, time.time(), daemon.people)
        return replace(found, periods=tuple(self._priced(item) for item in found.periods))

    def _priced(self, item: Contribution) -> Contribution:
        price = self._daemon.loaded.settings.limits.price_kwh
        return replace(item, cost=round(item.energy_wh / 1000 * price, 6)) if price else item


def swarm_share(span: tuple[int, int] | None, coverage: Sequence[int]) -> float | None:
    """Of the model's work, if those who serve the same block share it alike. None: not known yet."""
    if span is None or not coverage:
        return None
    return round(sum(1 / max(coverage[block], 1) for block in range(*span) if block < len(coverage)) / len(coverage), 4)
