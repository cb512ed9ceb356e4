"""`contribution.*` of the control API."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import structs
from potluck_control.method import Empty
from potluck_control.methods import contribution
from potluck_control.methods.contribution import Contribution
from potluck_control.methods.earnings import Earned
from potluck_control.methods.periods import Period, SeriesParams

from potluck.errors import PotluckError
from potluck_daemon.ledger.history import LedgerHistory
from potluck_daemon.topics.topic import Topic, answers


class ContributionTopic(Topic):
    @answers(contribution.NOW)
    async def _now(self, _: Empty) -> contribution.ContributionNow:
        now = await self._count()
        book, power = self._parts.account.book, self._parts.account.budget.power
        earned = await self._earned(lambda history: (history.summary(now).today, history.summary(now).total))
        today, total = book.series(Period.DAY, 1, now).periods[0], book.total(now)
        streak, longest = book.streaks(datetime.fromtimestamp(now).date())
        swarm = self._parts.swarm() if self._parts.loop.is_serving else None
        earned_today, earned_ever = earned or (None, None)
        return contribution.ContributionNow(
            today=self._with_cost(today, earned_today),
            total=self._with_cost(total, earned_ever),
            streak_days=streak,
            longest_streak_days=longest,
            swarm_share=swarm_share(swarm.span, swarm.coverage) if swarm is not None else None,
            watts=round(power.watts, 1),
            sources=power.sources,
        )

    @answers(contribution.SERIES)
    async def _series(self, params: SeriesParams) -> contribution.ContributionSeries:
        now = await self._count()
        found = self._parts.account.book.series(params.period, params.count, now)
        earned = await self._earned(lambda history: history.series(params.period, params.count, now).periods)
        sums = earned or (None,) * len(found.periods)
        periods = tuple(self._with_cost(*each) for each in zip(found.periods, sums, strict=True))
        return structs.replace(found, periods=periods)

    async def _count(self) -> float:
        """Bring the account up to date. Return the time, in Unix seconds."""
        await self._parts.account.sample_use(self._configuration.settings.limits)
        self._parts.account.book_contribution(is_serving=self._parts.loop.is_serving)
        return time.time()

    async def _earned(self, question: Callable[[LedgerHistory], Sequence[Earned]]) -> Sequence[Earned] | None:
        """Ask the ledger what others signed for; None while it cannot be read."""
        try:
            return await self._parts.clerk.ask(lambda ledger: question(ledger.history))
        except PotluckError:
            return None

    def _with_cost(self, item: Contribution, earned: Earned | None) -> Contribution:
        price = self._configuration.settings.limits.price_kwh
        cost = round(item.energy_wh / 1000 * price, 6) if price else None
        if earned is None:
            return structs.replace(item, cost=cost)
        return structs.replace(item, cost=cost, tokens=earned.tokens, people=earned.people)


def swarm_share(span: tuple[int, int] | None, coverage: Sequence[int]) -> float | None:
    """Return this machine's share of the model's work if all servers of a block share it alike; None: not known yet."""
    if span is None or not coverage:
        return None
    return round(sum(1 / max(coverage[block], 1) for block in range(*span) if block < len(coverage)) / len(coverage), 4)
