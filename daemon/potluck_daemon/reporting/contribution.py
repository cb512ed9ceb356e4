"""Records what this machine contributed, by the hour and across restarts, in a small SQLite file.

It counts in memory and writes once a minute in one transaction, so a crash loses at most a minute and never the file.
Hours follow the local clock, so that days, weeks and months are sums of them. Tokens are the ledger's; their column is
one that earlier versions filled.
"""

from __future__ import annotations

import logging
import operator
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from potluck_control.methods.contribution import Contribution, ContributionSeries
from potluck_control.methods.periods import Period

from potluck.checked_files import DamagedError
from potluck_daemon.checked_database import close_checked, open_checked, set_aside, settle
from potluck_daemon.ledger.history import period_starts
from potluck_daemon.metering.usage import DayUse

log = logging.getLogger(__name__)

SAVE_INTERVAL_S = 60.0
SETTLE_INTERVAL_S = 3600.0
STREAK_S = 60.0  # served on a day, for the day to count
_TABLE = """
    CREATE TABLE IF NOT EXISTS hour (
        start INTEGER PRIMARY KEY, served_s REAL NOT NULL, tokens INTEGER NOT NULL, energy_wh REAL NOT NULL,
        sent_bytes INTEGER NOT NULL, received_bytes INTEGER NOT NULL
    ) STRICT
"""
_ADD = """
    INSERT INTO hour VALUES (?, ?, 0, ?, ?, ?) ON CONFLICT (start) DO UPDATE SET
        served_s = served_s + excluded.served_s, energy_wh = energy_wh + excluded.energy_wh,
        sent_bytes = sent_bytes + excluded.sent_bytes, received_bytes = received_bytes + excluded.received_bytes
"""
_SUMS = """
    SELECT COALESCE(SUM(served_s), 0.0), COALESCE(SUM(energy_wh), 0.0), COALESCE(SUM(sent_bytes), 0),
        COALESCE(SUM(received_bytes), 0)
    FROM hour WHERE start >= ? AND start < ?
"""


@dataclass(frozen=True, slots=True)
class Amounts:
    served_s: float = 0.0
    energy_wh: float = 0.0
    sent_bytes: int = 0
    received_bytes: int = 0

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(*map(operator.add, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters that grow while this daemon runs; `at`: monotonic seconds."""

    at: float
    is_serving: bool  # since the counters before these
    use: DayUse


def given(before: Counters, now: Counters) -> Amounts:
    """Return what was given between two readings; a day's counters begin anew at midnight. Pure."""
    use = before.use if before.use.day == now.use.day else DayUse()
    return Amounts(
        served_s=now.at - before.at if now.is_serving else 0.0,
        energy_wh=max(now.use.energy_wh - use.energy_wh, 0.0),
        sent_bytes=max(now.use.sent_bytes - use.sent_bytes, 0),
        received_bytes=max(now.use.received_bytes - use.received_bytes, 0),
    )


class ContributionBook:
    """The file of contributions. Call `open` first; `add` counts, `save` writes. Times are Unix seconds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None
        self._waiting: dict[int, Amounts] = {}
        self._problem = ""
        self._saved_at = self._settled_at = time.monotonic()

    def open(self) -> None:
        """Open the file, or begin anew and keep a damaged one aside. Never raises: failures are logged."""
        try:
            try:
                self._database = open_checked(self._path, _connect)
            except DamagedError as error:
                log.warning("%s; beginning anew", error.message)
                set_aside(self._path)
                self._database = open_checked(self._path, _connect)
        except (OSError, sqlite3.Error) as error:
            log.warning("cannot keep what was contributed in %s: %s", self._path, error)

    def add(self, now: float, amounts: Amounts) -> None:
        if amounts == Amounts():
            return
        hour = int(datetime.fromtimestamp(now).replace(minute=0, second=0, microsecond=0).timestamp())
        self._waiting[hour] = self._waiting.get(hour, Amounts()) + amounts

    def save_if_due(self) -> None:
        """Write if the last time was long ago; one of the daemon's chores."""
        if time.monotonic() - self._saved_at >= SAVE_INTERVAL_S:
            self.save()

    def save(self) -> None:
        """Write what was counted; keep it if that fails."""
        self._saved_at = time.monotonic()
        if self._database is None or not self._waiting:
            return
        rows = [(hour, *astuple(amounts)) for hour, amounts in self._waiting.items()]
        try:
            with self._database:
                self._database.executemany(_ADD, rows)
        except sqlite3.Error as error:
            if str(error) != self._problem:  # report a full disk once
                self._problem = str(error)
                log.warning("cannot write %s: %s", self._path, error)
            return
        self._waiting.clear()
        if time.monotonic() - self._settled_at >= SETTLE_INTERVAL_S:
            self._settled_at = time.monotonic()
            settle(self._database, self._path)

    def close(self) -> None:
        self.save()
        if self._database is not None:
            close_checked(self._database, self._path)
            self._database = None

    def series(self, period: Period, count: int, now: float) -> ContributionSeries:
        """Return the last `count` periods with all that was added so far."""
        self.save()
        bounds = period_starts(period, count, now)
        return ContributionSeries(period, tuple(self._sums(start, end) for start, end in pairwise(bounds)))

    def total(self, now: float) -> Contribution:
        """Return the sum since the first hour that was counted."""
        self.save()
        row = self._database.execute("SELECT MIN(start) FROM hour").fetchone() if self._database else None
        start = float(row[0]) if row and row[0] is not None else now
        return self._sums(start, max(now, start) + 1)

    def streaks(self, today: date) -> tuple[int, int]:
        """Return the days in a row up to today or yesterday, and the most ever."""
        self.save()
        if self._database is None:
            return 0, 0
        query = "SELECT date(start, 'unixepoch', 'localtime') FROM hour GROUP BY 1 HAVING SUM(served_s) >= ?"
        days = [date.fromisoformat(day) for (day,) in self._database.execute(query, (STREAK_S,))]
        return streaks(days, today)

    def _sums(self, start: float, end: float) -> Contribution:
        row = self._database.execute(_SUMS, (start, end)).fetchone() if self._database else (0.0, 0.0, 0, 0)
        served_s, energy_wh, sent, received = row
        return Contribution(start, end, round(served_s, 1), 0, round(energy_wh, 4), None, sent, received)


def streaks(days: Iterable[date], today: date) -> tuple[int, int]:
    """Return the length of the run up to today or yesterday, and of the longest one. Pure."""
    longest = run = current = 0
    before: date | None = None
    for day in sorted(set(days)):
        run = run + 1 if before is not None and day - before == timedelta(days=1) else 1
        longest, before = max(longest, run), day
        if day in (today, today - timedelta(days=1)):
            current = run
    return current, longest


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=1.0)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        with database:
            database.execute(_TABLE)
        database.execute("SELECT COUNT(*) FROM hour")
    except sqlite3.Error:
        database.close()
        raise
    return database
