"""`earnings.*` of the control API: questions to the ledger, and receipts of the owner's own programs."""

from __future__ import annotations

import time

from msgspec import structs
from potluck_control.api.method import Empty
from potluck_control.methods import earnings
from potluck_control.methods.earnings import SeriesParams

from potluck_daemon.accounting.ledger import MODEL, PERSON, Ledger
from potluck_daemon.topics.topic import Topic, answers


class EarningsTopic(Topic):
    """What this computer earned and used, as the ledger has it."""

    @answers(earnings.SUMMARY)
    async def _summary(self, _: Empty) -> earnings.Earnings:
        await self._count()
        found = await self._parts.clerk.run(lambda ledger: ledger.summary(time.time(), self._price_kwh))
        return structs.replace(found, sources=self._parts.account.sources)

    @answers(earnings.SERIES)
    async def _series(self, params: SeriesParams) -> earnings.EarningsSeries:
        await self._count()
        return await self._parts.clerk.run(
            lambda ledger: ledger.series(params.period, params.count, time.time(), self._price_kwh)
        )

    @answers(earnings.BY_MODEL)
    async def _by_model(self, params: earnings.GroupParams) -> earnings.EarningsGroups:
        return await self._parts.clerk.run(lambda ledger: ledger.groups(MODEL, params.days, params.limit, time.time()))

    @answers(earnings.BY_PERSON)
    async def _by_person(self, params: earnings.GroupParams) -> earnings.EarningsGroups:
        return await self._parts.clerk.run(lambda ledger: ledger.groups(PERSON, params.days, params.limit, time.time()))

    @answers(earnings.CHECK)
    async def _check(self, _: Empty) -> earnings.LedgerCheck:
        return await self._parts.clerk.run(Ledger.check)

    @answers(earnings.RECORD)
    async def _record(self, params: earnings.RecordParams) -> Empty:
        await self._parts.clerk.record(params.bookings, params.model)
        return Empty()

    @property
    def _price_kwh(self) -> float:
        return self._configuration.settings.limits.price_kwh

    async def _count(self) -> None:
        """Write into the ledger what serving has taken until now."""
        account = self._parts.account
        await account.sample_use(self._configuration.settings.limits)
        account.count_time(is_serving=self._parts.loop.is_serving)
        await self._parts.clerk.save_hours()
