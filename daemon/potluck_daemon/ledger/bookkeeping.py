"""Turns receipts into entries: the only code that moves credit.

A batch is booked in one transaction, so a crash at any instruction leaves all of it or nothing. Receipts are
cumulative: booking one moves the difference to what its tab has booked so far, and booking it twice moves nothing. A
sender that doesn't know whether a receipt arrived therefore sends it again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from enum import StrEnum

from potluck_control.outbox import Booking

from potluck.protocol.receipts import COUNTERSIGNED_BYTES, ReceiptError, opened_at
from potluck_daemon.ledger.tables import LedgerError, transaction

KEEP_S = 92 * 86400
"""How long tabs and hours are kept. Receipts of older tabs are refused, so that none is booked twice."""
_CLOCKS_S = 86400  # how far another server's clock may be ahead
_HOUR_S = 3600


class Outcome(StrEnum):
    BOOKED = "booked"
    KNOWN = "known"  # the tab has booked this receipt or a later one
    REFUSED = "refused"


class Books:
    """The writer of `owner`'s ledger; `owner` is a public key."""

    def __init__(self, database: sqlite3.Connection, owner: bytes) -> None:
        self._database = database
        self._owner = owner

    def book(self, bookings: Sequence[Booking], now: float) -> list[Outcome]:
        """Book receipts to the disk and return the outcome of each. Raises LedgerError if nothing could be booked."""
        wanted = [self._is_ours(booking, now) for booking in bookings]  # check signatures before the transaction begins
        try:
            with transaction(self._database):
                return [
                    self._book(booking, now) if is_ours else Outcome.REFUSED
                    for booking, is_ours in zip(bookings, wanted, strict=True)
                ]
        except sqlite3.Error as error:
            raise LedgerError(f"cannot write to the ledger: {error}") from error

    def name_model(self, swarm: bytes, model: str) -> None:
        """Remember what people call the model of a swarm."""
        self._database.execute(
            "INSERT INTO model VALUES (?, ?) ON CONFLICT DO UPDATE SET name = excluded.name", (swarm, model)
        )

    def _is_ours(self, booking: Booking, now: float) -> bool:
        """Return whether the receipt is genuine, recent, and about our work for others or their work for us."""
        try:
            receipt, payer = booking.receipt, booking.payer
        except ReceiptError:
            return False
        if not now - KEEP_S < opened_at(receipt.tab) < now + _CLOCKS_S:
            return False
        if payer == receipt.server:
            return False  # work for oneself is worth nothing
        was_served = payer == self._owner and len(booking.data) == COUNTERSIGNED_BYTES
        return was_served or receipt.server == self._owner

    def _book(self, booking: Booking, now: float) -> Outcome:
        receipt, work = booking.receipt, booking.receipt.work
        payer, payee = self._account(booking.payer), self._account(receipt.server)
        found = self._database.execute(
            "SELECT id, payer, client, swarm, seq, microcredits, tokens FROM tab WHERE payee = ? AND name = ?",
            (payee, receipt.tab),
        ).fetchone()
        before, tokens_before = (found[5], found[6]) if found else (0, 0)
        if found:
            if found[1:4] != (payer, receipt.client, receipt.swarm):
                return Outcome.REFUSED
            if receipt.seq <= found[4]:
                return Outcome.KNOWN
            if work.microcredits < before or work.tokens < tokens_before:
                return Outcome.REFUSED
        tab = self._keep(found[0] if found else None, booking, payer, payee)
        self._move(tab, int(now), payer, payee, receipt.swarm, work.microcredits - before, work.tokens - tokens_before)
        return Outcome.BOOKED

    def _account(self, key: bytes) -> int:
        self._database.execute("INSERT INTO account (key) VALUES (?) ON CONFLICT DO NOTHING", (key,))
        return int(self._database.execute("SELECT id FROM account WHERE key = ?", (key,)).fetchone()[0])

    def _keep(self, tab: int | None, booking: Booking, payer: int, payee: int) -> int:
        """Store the receipt as the last one of its tab and return the tab's id."""
        receipt, work, data = booking.receipt, booking.receipt.work, booking.data
        if tab is not None:
            self._database.execute(
                "UPDATE tab SET seq = ?, microcredits = ?, tokens = ?, receipt = ? WHERE id = ?",
                (receipt.seq, work.microcredits, work.tokens, data, tab),
            )
            return tab
        made = self._database.execute(
            "INSERT INTO tab (name, payer, payee, client, swarm, seq, microcredits, tokens, receipt, delegation)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(receipt.tab, payer, payee, receipt.client, receipt.swarm, receipt.seq),
                *(work.microcredits, work.tokens, data, booking.delegation),
            ),
        )
        assert made.lastrowid is not None
        return made.lastrowid

    def _move(self, tab: int, now: int, payer: int, payee: int, swarm: bytes, microcredits: int, tokens: int) -> None:
        """Add an entry and both of its sides to the accounts."""
        self._database.execute("UPDATE account SET debits = debits + ? WHERE id = ?", (microcredits, payer))
        self._database.execute("UPDATE account SET credits = credits + ? WHERE id = ?", (microcredits, payee))
        self._database.execute(
            "INSERT INTO entry (at, tab, payer, payee, swarm, microcredits, tokens) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (tab, at) DO UPDATE"
            " SET microcredits = microcredits + excluded.microcredits, tokens = tokens + excluded.tokens",
            (now - now % _HOUR_S, tab, payer, payee, swarm, microcredits, tokens),
        )
