"""Reads the ledger: sums by period, by model and by person, and the entries themselves."""

from __future__ import annotations

import datetime
import sqlite3
from itertools import pairwise

from potluck_control.methods.earnings import (
    Direction,
    Earned,
    Earnings,
    EarningsGroups,
    EarningsSeries,
    Entries,
    Entry,
    Group,
)
from potluck_control.methods.periods import Period

_SUMS = """
    COALESCE(SUM(points) FILTER (WHERE is_earned), 0),
    COALESCE(SUM(points) FILTER (WHERE NOT is_earned), 0),
    COALESCE(SUM(tokens) FILTER (WHERE is_earned), 0),
    COUNT(DISTINCT person) FILTER (WHERE is_earned)
"""


class LedgerHistory:
    """The reader of an open ledger."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def summary(self, now: float) -> Earnings:
        days = period_starts(Period.DAY, 30, now)
        starts = (days[-2], days[-8], days[0], 0)
        today, week, month, total = (self._sums(start, now) for start in starts)
        return Earnings(today, week, month, total)

    def today(self, now: float) -> Earned:
        return self._sums(midnight(now), now)

    def series(self, period: Period, count: int, now: float) -> EarningsSeries:
        bounds = period_starts(period, count, now)
        return EarningsSeries(period, tuple(self._sums(start, end) for start, end in pairwise(bounds)))

    def by_model(self, days: int, limit: int, now: float) -> EarningsGroups:
        named = "COALESCE((SELECT name FROM model WHERE model.swarm = entry.swarm), lower(hex(entry.swarm)))"
        return self._groups(named, days, limit, now)

    def by_person(self, days: int, limit: int, now: float) -> EarningsGroups:
        return self._groups("person", days, limit, now)

    def entries(self, after: int, limit: int) -> Entries:
        rows = self._database.execute(
            "SELECT number, at, is_earned, entry.person, COALESCE(model.name, lower(hex(entry.swarm))),"
            " COALESCE(lower(hex(tab.name)), ''), points, tokens FROM entry"
            " LEFT JOIN model ON model.swarm = entry.swarm LEFT JOIN tab ON tab.id = entry.tab"
            " WHERE number > ? ORDER BY number LIMIT ?",
            (after, limit),
        ).fetchall()
        found = tuple(
            Entry(number, float(at), Direction.EARNED if is_earned else Direction.RECEIVED, *rest)
            for number, at, is_earned, *rest in rows
        )
        return Entries(found, found[-1].number if len(found) == limit else None)

    def _sums(self, start: float, end: float) -> Earned:
        row = self._database.execute(
            f"SELECT {_SUMS} FROM entry WHERE at >= :start AND at < :end",
            {"start": start, "end": end},
        ).fetchone()
        return Earned(float(start), float(end), *row)

    def _groups(self, key: str, days: int, limit: int, now: float) -> EarningsGroups:
        start = period_starts(Period.DAY, days, now)[0] if days else 0
        rows = self._database.execute(
            f"SELECT {key} AS name, {_SUMS} FROM entry WHERE at >= :start GROUP BY name"
            " ORDER BY SUM(points) DESC, name LIMIT :limit",
            {"start": start, "limit": limit},
        ).fetchall()
        return EarningsGroups(tuple(Group(name, Earned(float(start), now, *row)) for name, *row in rows))


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


def midnight(now: float) -> float:
    return period_starts(Period.DAY, 1, now)[0]
