"""Reads the ledger: sums by period, by model and by person, with what serving took."""

from __future__ import annotations

import sqlite3
from itertools import pairwise

from msgspec import structs
from potluck_control.methods.earnings import (
    Earned,
    Earnings,
    EarningsGroups,
    EarningsSeries,
    Group,
    Sums,
)
from potluck_control.methods.periods import Period

from potluck_daemon.ledger.periods import midnight, period_starts
from potluck_daemon.metering.usage import Amounts

_EARNED = """
    COALESCE(SUM(points) FILTER (WHERE is_earned), 0),
    COALESCE(SUM(points) FILTER (WHERE NOT is_earned), 0),
    COALESCE(SUM(tokens) FILTER (WHERE is_earned), 0),
    COUNT(DISTINCT person) FILTER (WHERE is_earned)
"""
_USED = "TOTAL(served_s), TOTAL(energy_wh), COALESCE(SUM(sent_bytes), 0), COALESCE(SUM(received_bytes), 0)"


class LedgerHistory:
    """The reader of an open ledger. `price_kwh`: of electricity; 0: not known."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def summary(self, now: float, price_kwh: float = 0.0) -> Earnings:
        days = period_starts(Period.DAY, 30, now)
        starts = (days[-2], days[-8], days[0], 0)
        today, week, month, total = (self._sums(start, now, price_kwh) for start in starts)
        return Earnings(today, week, month, total)

    def tokens_today(self, now: float) -> tuple[float, int]:
        """Return when the day began, and the tokens that others signed for since then."""
        return midnight(now), self._earned(midnight(now), now).tokens

    def series(self, period: Period, count: int, now: float, price_kwh: float = 0.0) -> EarningsSeries:
        bounds = period_starts(period, count, now)
        return EarningsSeries(period, tuple(self._sums(start, end, price_kwh) for start, end in pairwise(bounds)))

    def by_model(self, days: int, limit: int, now: float) -> EarningsGroups:
        named = "COALESCE((SELECT name FROM model WHERE model.swarm = entry.swarm), lower(hex(entry.swarm)))"
        return self._groups(named, days, limit, now)

    def by_person(self, days: int, limit: int, now: float) -> EarningsGroups:
        return self._groups("person", days, limit, now)

    def _sums(self, start: float, end: float, price_kwh: float) -> Sums:
        row = self._database.execute(
            f"SELECT {_USED} FROM hour WHERE start >= ? AND start < ?", (start, end)
        ).fetchone()
        used = Amounts(*row)
        return Sums(
            **structs.asdict(self._earned(start, end)),
            served_s=round(used.served_s, 1),
            energy_wh=round(used.energy_wh, 4),
            cost=round(used.cost(price_kwh), 6) if price_kwh else None,
            sent_bytes=used.sent_bytes,
            received_bytes=used.received_bytes,
        )

    def _earned(self, start: float, end: float) -> Earned:
        row = self._database.execute(
            f"SELECT {_EARNED} FROM entry WHERE at >= :start AND at < :end",
            {"start": start, "end": end},
        ).fetchone()
        return Earned(float(start), float(end), *row)

    def _groups(self, key: str, days: int, limit: int, now: float) -> EarningsGroups:
        start = period_starts(Period.DAY, days, now)[0] if days else 0
        rows = self._database.execute(
            f"SELECT {key} AS name, {_EARNED} FROM entry WHERE at >= :start GROUP BY name"
            " ORDER BY SUM(points) DESC, name LIMIT :limit",
            {"start": start, "limit": limit},
        ).fetchall()
        return EarningsGroups(tuple(Group(name, Earned(float(start), now, *row)) for name, *row in rows))
