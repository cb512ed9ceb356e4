"""Reads the ledger: sums by period, by model and by peer, and the entries themselves."""

from __future__ import annotations

import datetime
import sqlite3
import time
from collections.abc import Sequence
from itertools import pairwise

from potluck_control.methods.earnings import (
    Earned,
    Earnings,
    EarningsGroups,
    EarningsSeries,
    Entries,
    Entry,
    Group,
)
from potluck_control.methods.periods import Period

from potluck.membership.identity import peer_id_of

_DAY_S = 86400
_SUMS = """
    COALESCE(SUM(CASE WHEN payee = :me THEN microcredits END), 0),
    COALESCE(SUM(CASE WHEN payer = :me THEN microcredits END), 0),
    COALESCE(SUM(CASE WHEN payee = :me THEN tokens END), 0),
    COUNT(DISTINCT CASE WHEN payee = :me THEN payer END)
"""


class LedgerHistory:
    """The reader of `owner`'s ledger; `owner` is a public key."""

    def __init__(self, database: sqlite3.Connection, owner: bytes) -> None:
        self._database = database
        self._owner = owner

    def summary(self, now: float, *, waiting: int = 0) -> Earnings:
        midnight = _midnight(now)
        today, week, month, total = (
            self._sums(start, now) for start in (midnight, midnight - 6 * _DAY_S, midnight - 29 * _DAY_S, 0)
        )
        return Earnings(today, week, month, total, balance=total.earned - total.spent, waiting=waiting)

    def series(self, period: Period, count: int, now: float) -> EarningsSeries:
        bounds = period_starts(period, count, now)
        return EarningsSeries(period, tuple(self._sums(start, end) for start, end in pairwise(bounds)))

    def by_model(self, days: int, limit: int, now: float) -> EarningsGroups:
        named = "COALESCE((SELECT name FROM model WHERE model.swarm = entry.swarm), lower(hex(entry.swarm)))"
        return self._groups(named, days, limit, now)

    def by_peer(self, days: int, limit: int, now: float) -> EarningsGroups:
        other = "(SELECT key FROM account WHERE id = CASE WHEN payee = :me THEN payer ELSE payee END)"
        return self._groups(other, days, limit, now)

    def entries(self, after: int, limit: int) -> Entries:
        rows = self._database.execute(
            "SELECT number, at, payer.key, payee.key, COALESCE(model.name, lower(hex(entry.swarm))),"
            " COALESCE(lower(hex(tab.name)), ''), entry.microcredits, entry.tokens FROM entry"
            " JOIN account payer ON payer.id = entry.payer JOIN account payee ON payee.id = entry.payee"
            " LEFT JOIN model ON model.swarm = entry.swarm LEFT JOIN tab ON tab.id = entry.tab"
            " WHERE number > ? ORDER BY number LIMIT ?",
            (after, limit),
        ).fetchall()
        found = tuple(
            Entry(number, float(at), peer_id_of(payer), peer_id_of(payee), model, tab, microcredits, tokens)
            for number, at, payer, payee, model, tab, microcredits, tokens in rows
        )
        return Entries(found, found[-1].number if len(found) == limit else None)

    def _sums(self, start: float, end: float) -> Earned:
        row = self._database.execute(
            f"SELECT {_SUMS} FROM entry WHERE at >= :start AND at < :end",
            {"me": self._me(), "start": start, "end": end},
        ).fetchone()
        return Earned(float(start), float(end), *row)

    def _groups(self, key: str, days: int, limit: int, now: float) -> EarningsGroups:
        start = _midnight(now) - (days - 1) * _DAY_S if days else 0
        rows = self._database.execute(
            f"SELECT {key} AS name, {_SUMS} FROM entry WHERE at >= :start GROUP BY name"
            " ORDER BY SUM(microcredits) DESC, name LIMIT :limit",
            {"me": self._me(), "start": start, "limit": limit},
        ).fetchall()
        return EarningsGroups(tuple(_group(name, row, start, now) for name, *row in rows))

    def _me(self) -> int:
        """Return our account; 0, which is nobody's, before the first entry."""
        row = self._database.execute("SELECT id FROM account WHERE key = ?", (self._owner,)).fetchone()
        return int(row[0]) if row else 0


def period_starts(period: Period, count: int, now: float) -> list[float]:
    """Return when the last `count` periods begin in local time, oldest first, and when the present one ends."""
    moment = datetime.datetime.fromtimestamp(now)
    start = moment.replace(minute=0, second=0, microsecond=0)
    if period is Period.HOUR:
        hour = start.timestamp()
        return [hour + 3600 * index for index in range(1 - count, 2)]
    start = start.replace(hour=0)
    if period is Period.MONTH:
        months = start.year * 12 + start.month - 1
        firsts = [divmod(months + index, 12) for index in range(1 - count, 2)]
        return [datetime.datetime(year, month + 1, 1).timestamp() for year, month in firsts]
    step = 7 if period is Period.WEEK else 1
    if period is Period.WEEK:
        start -= datetime.timedelta(days=start.weekday())
    return [(start + datetime.timedelta(days=step * index)).timestamp() for index in range(1 - count, 2)]


def _midnight(now: float) -> float:
    return time.mktime((*time.localtime(now)[:3], 0, 0, 0, 0, 0, -1))


def _group(name: object, sums: Sequence[int], start: float, end: float) -> Group:
    return Group(peer_id_of(name) if isinstance(name, bytes) else str(name), Earned(float(start), end, *sums))
