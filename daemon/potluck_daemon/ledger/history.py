"""Reads the ledger: sums by period, by model and by person, with what serving took."""

from __future__ import annotations

import sqlite3
from itertools import pairwise

from msgspec import structs
from potluck_control.methods import earnings
from potluck_control.methods.periods import Period

from potluck_daemon.ledger.periods import period_starts
from potluck_daemon.metering.usage import Amounts

MODEL = "COALESCE((SELECT name FROM model WHERE model.swarm = entry.swarm), lower(hex(entry.swarm)))"
PERSON = "person"
_EARNED = """
    COALESCE(SUM(points) FILTER (WHERE is_earned), 0),
    COALESCE(SUM(points) FILTER (WHERE NOT is_earned), 0),
    COALESCE(SUM(tokens) FILTER (WHERE is_earned), 0),
    COUNT(DISTINCT person) FILTER (WHERE is_earned)
"""
_USED = "TOTAL(served_s), TOTAL(energy_wh), COALESCE(SUM(sent_bytes), 0), COALESCE(SUM(received_bytes), 0)"


class LedgerHistory:
    """The reader of an open ledger. `price_kwh`: of electricity; 0: not known. Times are Unix seconds."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def summary(self, now: float, price_kwh: float = 0.0) -> earnings.Earnings:
        days = period_starts(Period.DAY, 30, now)
        starts = (days[-2], days[-8], days[0], 0)
        today, week, month, total = (self._sums(start, now, price_kwh) for start in starts)
        return earnings.Earnings(today, week, month, total)

    def series(self, period: Period, count: int, now: float, price_kwh: float = 0.0) -> earnings.EarningsSeries:
        bounds = period_starts(period, count, now)
        return earnings.EarningsSeries(
            period, tuple(self._sums(start, end, price_kwh) for start, end in pairwise(bounds))
        )

    def groups(self, key: str, days: int, limit: int, now: float) -> earnings.EarningsGroups:
        """Return sums by `key`, which is `MODEL` or `PERSON`, of the last `days`, today included; 0: of all."""
        start = period_starts(Period.DAY, days, now)[0] if days else 0
        rows = self._database.execute(
            f"SELECT {key} AS name, {_EARNED} FROM entry WHERE at >= ? GROUP BY name"
            " ORDER BY SUM(points) DESC, name LIMIT ?",
            (start, limit),
        )
        return earnings.EarningsGroups(
            tuple(earnings.Group(name, earnings.Earned(float(start), now, *row)) for name, *row in rows)
        )

    def _sums(self, start: float, end: float, price_kwh: float) -> earnings.Sums:
        read, within = self._database.execute, (float(start), float(end))
        earned = read(f"SELECT {_EARNED} FROM entry WHERE at >= ? AND at < ?", within).fetchone()
        used = Amounts(*read(f"SELECT {_USED} FROM hour WHERE start >= ? AND start < ?", within).fetchone())
        return earnings.Sums(
            **structs.asdict(earnings.Earned(*within, *earned)),
            served_s=round(used.served_s, 1),
            energy_wh=round(used.energy_wh, 4),
            cost=round(used.cost(price_kwh), 6) if price_kwh else None,
            sent_bytes=used.sent_bytes,
            received_bytes=used.received_bytes,
        )
