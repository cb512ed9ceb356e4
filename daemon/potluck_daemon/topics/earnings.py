"""`earnings.*` of the control API: questions to the ledger, and receipts of the owner's own programs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from potluck_control.method import Empty
from potluck_control.methods import earnings
from potluck_control.methods.periods import SeriesParams

from potluck_daemon.ledger.history import LedgerHistory
from potluck_daemon.ledger.ledger import Ledger
from potluck_daemon.topics.topic import Topic, answers

R = TypeVar("R")


class EarningsTopic(Topic):
    @answers(earnings.SUMMARY)
    async def _summary(self, _: Empty) -> earnings.Earnings:
        return await self._ask(lambda history: history.summary(time.time()))

    @answers(earnings.SERIES)
    async def _series(self, params: SeriesParams) -> earnings.EarningsSeries:
        return await self._ask(lambda history: history.series(params.period, params.count, time.time()))

    @answers(earnings.BY_MODEL)
    async def _by_model(self, params: earnings.GroupParams) -> earnings.EarningsGroups:
        return await self._ask(lambda history: history.by_model(params.days, params.limit, time.time()))

    @answers(earnings.BY_PERSON)
    async def _by_person(self, params: earnings.GroupParams) -> earnings.EarningsGroups:
        return await self._ask(lambda history: history.by_person(params.days, params.limit, time.time()))

    @answers(earnings.EXPORT)
    async def _export(self, params: earnings.ExportParams) -> earnings.Entries:
        return await self._ask(lambda history: history.entries(params.after, params.limit))

    @answers(earnings.CHECK)
    async def _check(self, _: Empty) -> earnings.LedgerCheck:
        return await self._parts.clerk.ask(Ledger.check)

    @answers(earnings.RECORD)
    async def _record(self, params: earnings.RecordParams) -> Empty:
        await self._parts.clerk.record(params.bookings, params.model)
        return Empty()

    async def _ask(self, question: Callable[[LedgerHistory], R]) -> R:
        return await self._parts.clerk.ask(lambda ledger: question(ledger.history))
