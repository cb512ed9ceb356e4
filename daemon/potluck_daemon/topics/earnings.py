"""`earnings.*` of the control API: questions to the ledger, and receipts of the owner's own programs."""

from __future__ import annotations

import time

from potluck_control.method import Empty
from potluck_control.methods import earnings
from potluck_control.methods.periods import SeriesParams

from potluck_daemon.ledger.clerk import Clerk
from potluck_daemon.topics.topic import Topic, answers


class EarningsTopic(Topic):
    def __init__(self, clerk: Clerk) -> None:
        self._clerk = clerk

    @answers(earnings.SUMMARY)
    async def _summary(self, _: Empty) -> earnings.Earnings:
        return await self._clerk.ask(lambda ledger: ledger.history.summary(time.time()))

    @answers(earnings.SERIES)
    async def _series(self, params: SeriesParams) -> earnings.EarningsSeries:
        return await self._clerk.ask(lambda ledger: ledger.history.series(params.period, params.count, time.time()))

    @answers(earnings.BY_MODEL)
    async def _by_model(self, params: earnings.GroupParams) -> earnings.EarningsGroups:
        return await self._clerk.ask(lambda ledger: ledger.history.by_model(params.days, params.limit, time.time()))

    @answers(earnings.BY_PERSON)
    async def _by_person(self, params: earnings.GroupParams) -> earnings.EarningsGroups:
        return await self._clerk.ask(lambda ledger: ledger.history.by_person(params.days, params.limit, time.time()))

    @answers(earnings.EXPORT)
    async def _export(self, params: earnings.ExportParams) -> earnings.Entries:
        return await self._clerk.ask(lambda ledger: ledger.history.entries(params.after, params.limit))

    @answers(earnings.CHECK)
    async def _check(self, _: Empty) -> earnings.LedgerCheck:
        return await self._clerk.ask(lambda ledger: ledger.check())

    @answers(earnings.RECORD)
    async def _record(self, params: earnings.RecordParams) -> Empty:
        await self._clerk.record(params.bookings, params.model)
        return Empty()
