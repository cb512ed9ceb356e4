"""`earnings.*` of the control API: questions to the ledger, and delegations for this donor's own clients."""

from __future__ import annotations

import base64
import binascii
import time
from dataclasses import replace

from potluck_control.method import Empty
from potluck_control.methods import earnings
from potluck_control.methods.periods import SeriesParams
from potluck_control.outbox import Booking

from potluck.errors import UsageError
from potluck.membership.identity import public_key_of
from potluck.protocol.receipts import COUNTERSIGNED_BYTES
from potluck_daemon.ledger.clerk import Clerk
from potluck_daemon.topics.topic import Topic, answers


class EarningsTopic(Topic):
    def __init__(self, clerk: Clerk) -> None:
        self._clerk = clerk

    @answers(earnings.SUMMARY)
    async def _summary(self, _: Empty) -> earnings.Earnings:
        found = await self._clerk.ask(lambda ledger: ledger.history.summary(time.time()))
        return replace(found, waiting=self._clerk.num_waiting)

    @answers(earnings.SERIES)
    async def _series(self, params: SeriesParams) -> earnings.EarningsSeries:
        return await self._clerk.ask(lambda ledger: ledger.history.series(params.period, params.count, time.time()))

    @answers(earnings.BY_MODEL)
    async def _by_model(self, params: earnings.GroupParams) -> earnings.EarningsGroups:
        return await self._clerk.ask(lambda ledger: ledger.history.by_model(params.days, params.limit, time.time()))

    @answers(earnings.BY_PEER)
    async def _by_peer(self, params: earnings.GroupParams) -> earnings.EarningsGroups:
        return await self._clerk.ask(lambda ledger: ledger.history.by_peer(params.days, params.limit, time.time()))

    @answers(earnings.EXPORT)
    async def _export(self, params: earnings.ExportParams) -> earnings.Entries:
        return await self._clerk.ask(lambda ledger: ledger.history.entries(params.after, params.limit))

    @answers(earnings.CHECK)
    async def _check(self, _: Empty) -> earnings.LedgerCheck:
        return await self._clerk.ask(lambda ledger: ledger.check())

    @answers(earnings.DELEGATE)
    async def _delegate(self, params: earnings.DelegateParams) -> earnings.Delegated:
        key = public_key_of(params.peer_id)
        if key is None:
            raise UsageError("this is not the peer id of a client that can sign")
        delegation, vouchers = await self._clerk.ask(lambda ledger: ledger.delegate(key, time.time()))
        return earnings.Delegated(_to_text(delegation), tuple(map(_to_text, vouchers)))

    @answers(earnings.BOOK)
    async def _book(self, params: earnings.BookParams) -> Empty:
        papers = [_to_bytes(text) for text in params.receipts]
        bookings = [Booking(data[:COUNTERSIGNED_BYTES], data[COUNTERSIGNED_BYTES:]) for data in papers]
        await self._clerk.book(bookings, params.model)
        return Empty()


def _to_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _to_bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise UsageError("a receipt is not base64") from None
