"""The ledger of one computer: every operation on its file, for one thread at a time.

A batch is booked in one transaction, so a crash at any instruction leaves all of it or nothing. Receipts are
cumulative: booking one adds the difference to what its tab has booked so far, and booking it twice adds nothing. A
sender that doesn't know whether a receipt arrived therefore sends it again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import compress, pairwise
from pathlib import Path

from msgspec import structs
from potluck_control.methods import earnings
from potluck_control.methods.earnings import LedgerCheck, Period

from potluck.checked_files import DamagedError
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking
from potluck.protocol.receipts import Receipt, ReceiptError, Work, opened_at, parse_receipt, read_receipt
from potluck.sentences import sentence
from potluck_daemon.accounting.checked_database import close_checked, merge_large_log, merge_log, open_checked
from potluck_daemon.accounting.tables import connect, unusable_error
from potluck_daemon.accounting.usage import Amounts, period_starts

MODEL = "COALESCE((SELECT name FROM model WHERE model.swarm = entry.swarm), lower(hex(entry.swarm)))"
PERSON = "person"
_EARNED = """
    COALESCE(SUM(points) FILTER (WHERE is_earned), 0),
    COALESCE(SUM(points) FILTER (WHERE NOT is_earned), 0),
    COALESCE(SUM(tokens) FILTER (WHERE is_earned), 0),
    COUNT(DISTINCT person) FILTER (WHERE is_earned)
"""
_USED = "TOTAL(served_s), TOTAL(energy_wh), COALESCE(SUM(sent_bytes), 0), COALESCE(SUM(received_bytes), 0)"

KEEP_S = 92 * 86400
"""How long tabs and hours are kept. Receipts of older tabs are refused, so that none is booked twice."""
MAX_PEOPLE = 1024  # the engine learns the worth of so many people's work
_MAX_PROBLEMS = 20
_RESTORE = sentence("restore a backup: potluck ledger restore FILE")
_CLOCKS_S = 86400  # how far another server's clock may be ahead
_HOUR_S = 3600
_LOCAL_DAY = "CAST(strftime('%s', at, 'unixepoch', 'localtime', 'start of day', 'utc') AS INTEGER)"


class Ledger:
    """One open ledger. The constructor opens it, or raises LedgerError; everything else may raise sqlite3.Error.

    Times are Unix seconds. `price_kwh` is the price of electricity; 0: not known.
    """

    def __init__(self, path: Path, identity: Identity) -> None:
        self._owner = identity.public_key
        self._path = path
        try:
            self._database = open_checked(path, connect)
        except (DamagedError, OSError, sqlite3.Error) as error:
            raise unusable_error(path, error, hint=_RESTORE) from error

    def close(self) -> None:
        """Close the file with its checked copy up to date."""
        close_checked(self._database, self._path)

    def book(self, bookings: Sequence[Booking], now: float) -> list[bool]:
        """Book receipts for work of this computer. Return for each whether it was genuine and new."""
        return self._write(bookings, now, is_earned=True)

    def record(self, bookings: Sequence[Booking], model: str, now: float) -> list[bool]:
        """Book receipts that the owner's own programs hand in for work of other computers, as `book` does."""
        booked = self._write(bookings, now, is_earned=False)
        for swarm in {parse_receipt(booking.receipt).swarm for booking in compress(bookings, booked)}:
            self.name_model(swarm, model)
        return booked

    def name_model(self, swarm: bytes, model: str) -> None:
        """Remember what people call the model of a swarm, if the disk has room."""
        with contextlib.suppress(sqlite3.Error):
            self._database.execute(
                "INSERT INTO model VALUES (?, ?) ON CONFLICT DO UPDATE SET name = excluded.name", (swarm, model)
            )

    def worth(self) -> tuple[tuple[str, int], ...]:
        """Return the people whose computers did most for the owner's programs, with the points of that work."""
        rows = self._database.execute(
            "SELECT person, SUM(points) AS points FROM entry WHERE NOT is_earned GROUP BY person"
            " ORDER BY points DESC, person LIMIT ?",
            (MAX_PEOPLE,),
        )
        return tuple(rows.fetchall())

    def summary(self, now: float, price_kwh: float = 0.0) -> earnings.Earnings:
        """Return the sums of today, of the last 7 and 30 days, and of all time."""
        days = period_starts(Period.DAY, 30, now)
        starts = (days[-2], days[-8], days[0], 0)
        today, week, month, total = (self._sums(start, now, price_kwh) for start in starts)
        return earnings.Earnings(today, week, month, total)

    def series(self, period: Period, count: int, now: float, price_kwh: float = 0.0) -> earnings.EarningsSeries:
        """Return the sums of each of the last `count` periods."""
        bounds = period_starts(period, count, now)
        return earnings.EarningsSeries(
            period, tuple(self._sums(start, end, price_kwh) for start, end in pairwise(bounds))
        )

    def groups(self, key: str, days: int, limit: int, now: float) -> earnings.EarningsGroups:
        """Return sums by `key`, `MODEL` or `PERSON`, over the last `days`, today included; 0: over all time."""
        start = period_starts(Period.DAY, days, now)[0] if days else 0
        rows = self._database.execute(
            f"SELECT {key} AS name, {_EARNED} FROM entry WHERE at >= ? GROUP BY name"
            " ORDER BY SUM(points) DESC, name LIMIT ?",
            (start, limit),
        )
        return earnings.EarningsGroups(
            tuple(earnings.Group(name, earnings.Earned(float(start), now, *row)) for name, *row in rows)
        )

    def hours(self, since: float) -> dict[float, Amounts]:
        """Return what serving took, by the start of each hour."""
        rows = self._database.execute("SELECT * FROM hour WHERE start >= ?", (since,))
        return {start: Amounts(*amounts) for start, *amounts in rows}

    def write_hours(self, hours: Mapping[float, Amounts], *, are_new: bool = True) -> None:
        """Write hours. With `are_new` False, hours that the ledger already has stay as they are."""
        rows = [(start, *amounts) for start, amounts in hours.items()]
        how = "REPLACE" if are_new else "IGNORE"
        with self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(f"INSERT OR {how} INTO hour VALUES (?, ?, ?, ?, ?)", rows)

    def add_up_old(self, now: float) -> None:
        """Add up, by day, person and model, the entries of tabs that can get no more receipts; no total changes.

        This also brings the checked copy up to date.
        """
        horizon = int(now) - KEEP_S
        old = "FROM entry WHERE tab IN (SELECT tab FROM entry WHERE tab IS NOT NULL GROUP BY tab HAVING MAX(at) < ?)"
        with self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute(
                "INSERT INTO entry (at, person, swarm, is_earned, points, tokens)"
                f" SELECT {_LOCAL_DAY}, person, swarm, is_earned, SUM(points), SUM(tokens) {old}"
                f" GROUP BY {_LOCAL_DAY}, person, swarm, is_earned",
                (horizon,),
            )
            self._database.execute(f"DELETE {old}", (horizon,))
            self._database.execute("DELETE FROM tab WHERE id NOT IN (SELECT tab FROM entry WHERE tab IS NOT NULL)")
        merge_log(self._database, self._path)

    def check(self) -> LedgerCheck:
        """Derive the entries of every tab anew from its receipt, and report what differs."""
        broken = self._database.execute("PRAGMA integrity_check")
        problems = [sentence("the file: {why}", why=text) for (text,) in broken if text != "ok"]
        tabs = self._database.execute(
            "SELECT server, name, receipt,"
            " (SELECT TOTAL(points) FROM entry WHERE entry.tab = tab.id AND entry.person = tab.person"
            "  AND is_earned = (server = :owner)),"
            " (SELECT TOTAL(tokens) FROM entry WHERE entry.tab = tab.id AND swarm = substr(receipt, 2, 16)) FROM tab",
            {"owner": self._owner},
        )
        for server, name, data, points, tokens in tabs:
            try:
                receipt = read_receipt(data)
            except ReceiptError as error:
                problems.append(sentence("the receipt of {name}: {why}", name=name.hex(), why=error.sentence))
                continue
            stated = (receipt.server, receipt.tab, receipt.work.points, receipt.work.tokens)
            if stated != (server, name, points, tokens):
                problems.append(sentence("what is booked of {name} is not what its receipt says", name=name.hex()))
        (receipts,) = self._database.execute("SELECT COUNT(*) FROM tab").fetchone()
        entries, people = self._database.execute("SELECT COUNT(*), COUNT(DISTINCT person) FROM entry").fetchone()
        return LedgerCheck(people, receipts, entries, tuple(problems[:_MAX_PROBLEMS]))

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

    def _write(self, bookings: Sequence[Booking], now: float, *, is_earned: bool) -> list[bool]:
        """Book all receipts in one transaction. Raises sqlite3.Error if nothing could be booked."""
        receipts = [
            self._read(booking, now, is_earned=is_earned) for booking in bookings
        ]  # signatures are checked outside the transaction
        with self._database:  # commits, or takes everything back
            self._database.execute("BEGIN IMMEDIATE")
            booked = [
                receipt is not None and self._book(receipt, booking, now, is_earned=is_earned)
                for booking, receipt in zip(bookings, receipts, strict=True)
            ]
        merge_large_log(self._database, self._path)
        return booked

    def _read(self, booking: Booking, now: float, *, is_earned: bool) -> Receipt | None:
        """Return the receipt if it is genuine, recent, and by this computer (`is_earned`) or by another one."""
        try:
            receipt = read_receipt(booking.receipt)
        except ReceiptError:
            return None
        is_recent = now - KEEP_S < opened_at(receipt.tab) < now + _CLOCKS_S
        return receipt if is_recent and (receipt.server == self._owner) is is_earned else None

    def _book(self, receipt: Receipt, booking: Booking, now: float, *, is_earned: bool) -> bool:
        person, work, before = booking.person, receipt.work, Work()
        found = self._database.execute(
            "SELECT id, person, receipt FROM tab WHERE server = ? AND name = ?", (receipt.server, receipt.tab)
        ).fetchone()
        if found is None:
            tab = self._database.execute(
                "INSERT INTO tab (server, name, person, receipt) VALUES (?, ?, ?, ?)",
                (receipt.server, receipt.tab, person, booking.receipt),
            ).lastrowid
        else:
            tab, last = found[0], parse_receipt(found[2])
            before = last.work
            is_same = (found[1], last.client, last.swarm) == (person, receipt.client, receipt.swarm)
            if not is_same or receipt.seq <= last.seq or work.points < before.points or work.tokens < before.tokens:
                return False
            self._database.execute("UPDATE tab SET receipt = ? WHERE id = ?", (booking.receipt, tab))
        points, tokens = work.points - before.points, work.tokens - before.tokens
        self._database.execute(
            "INSERT INTO entry (at, tab, person, swarm, is_earned, points, tokens) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (tab, at) DO UPDATE SET points = points + excluded.points, tokens = tokens + excluded.tokens",
            (int(now) - int(now) % _HOUR_S, tab, person, receipt.swarm, is_earned, points, tokens),
        )
        return True
