"""The ledger of one computer: every operation on its file, for one thread at a time.

A batch is booked in one transaction, so a crash at any instruction leaves all of it or nothing. Receipts are
cumulative: booking one adds the difference to what its tab has booked so far, and booking it twice adds nothing. A
sender that doesn't know whether a receipt arrived therefore sends it again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path

from potluck_control.methods.earnings import LedgerCheck

from potluck.checked_files import DamagedError
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking
from potluck.protocol.receipts import Receipt, ReceiptError, Work, opened_at, parse_receipt, read_receipt
from potluck.sentences import sentence
from potluck_daemon.checked_database import close_checked, open_checked, settle, settle_if_large
from potluck_daemon.ledger.history import LedgerHistory
from potluck_daemon.ledger.tables import connect, unusable
from potluck_daemon.metering.usage import Amounts

KEEP_S = 92 * 86400
"""How long tabs and hours are kept. Receipts of older tabs are refused, so that none is booked twice."""
MAX_PEOPLE = 1024  # people whose work the engine hears of
_MAX_PROBLEMS = 20
_RESTORE = sentence("restore a backup: potluck ledger restore FILE")
_CLOCKS_S = 86400  # how far another server's clock may be ahead
_HOUR_S = 3600
_LOCAL_DAY = "CAST(strftime('%s', at, 'unixepoch', 'localtime', 'start of day', 'utc') AS INTEGER)"


class Ledger:
    """One open ledger. The constructor opens it, or raises LedgerError; everything else may raise sqlite3.Error."""

    def __init__(self, path: Path, identity: Identity) -> None:
        self._owner = identity.public_key
        self._path = path
        try:
            self._database = open_checked(path, connect)
        except (DamagedError, OSError, sqlite3.Error) as error:
            raise unusable(path, error, hint=_RESTORE) from error
        self.history = LedgerHistory(self._database)

    def close(self) -> None:
        close_checked(self._database, self._path)

    def book(self, bookings: Sequence[Booking], now: float) -> list[bool]:
        """Book receipts for work of this computer to the disk. Return whether each one was genuine and new."""
        return self._write(bookings, now, is_earned=True)

    def record(self, bookings: Sequence[Booking], model: str, now: float) -> list[bool]:
        """Book receipts for work of other computers, as the owner's own programs hand them in, likewise."""
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

    def hours(self, since: float) -> dict[float, Amounts]:
        """Return what serving took, by the start of each hour."""
        rows = self._database.execute("SELECT * FROM hour WHERE start >= ?", (since,))
        return {start: Amounts(*amounts) for start, *amounts in rows}

    def keep_hours(self, hours: Mapping[float, Amounts], *, are_new: bool = True) -> None:
        """Write hours as they are now; hours that the ledger has stay as they are unless `are_new`."""
        rows = [(start, *amounts) for start, amounts in hours.items()]
        how = "REPLACE" if are_new else "IGNORE"
        with self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(f"INSERT OR {how} INTO hour VALUES (?, ?, ?, ?, ?)", rows)

    def add_up_old(self, now: float) -> None:
        """Add up entries of tabs that can get no more receipts by day, person and model; no total changes.

        The checked copy is brought up to date, too.
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
        settle(self._database, self._path)

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

    def _write(self, bookings: Sequence[Booking], now: float, *, is_earned: bool) -> list[bool]:
        """Raises sqlite3.Error if nothing could be booked."""
        receipts = [self._read(booking, now, is_earned=is_earned) for booking in bookings]  # before the transaction
        with self._database:  # commits, or takes everything back
            self._database.execute("BEGIN IMMEDIATE")
            booked = [
                receipt is not None and self._book(receipt, booking, now, is_earned=is_earned)
                for booking, receipt in zip(bookings, receipts, strict=True)
            ]
        settle_if_large(self._database, self._path)
        return booked

    def _read(self, booking: Booking, now: float, *, is_earned: bool) -> Receipt | None:
        """Return the receipt if it is genuine, recent, and for work of this computer or of another one, as said."""
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
