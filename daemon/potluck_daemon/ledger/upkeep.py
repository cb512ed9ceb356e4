"""Upkeep of the ledger: adds up old entries by day, and checks that everything is in order."""

from __future__ import annotations

import sqlite3

from potluck_control.methods.earnings import LedgerCheck
from potluck_control.outbox import Booking

from potluck.protocol.receipts import ReceiptError
from potluck_daemon.ledger.bookkeeping import KEEP_S
from potluck_daemon.ledger.tables import transaction

MAX_PROBLEMS = 20

_LOCAL_DAY = "CAST(strftime('%s', at, 'unixepoch', 'localtime', 'start of day', 'utc') AS INTEGER)"


def add_up_old(database: sqlite3.Connection, now: float) -> None:
    """Add up entries of tabs that can get no more receipts by day, payer, payee and model; no total changes."""
    horizon = int(now) - KEEP_S
    old = "FROM entry WHERE tab IN (SELECT tab FROM entry WHERE tab IS NOT NULL GROUP BY tab HAVING MAX(at) < ?)"
    with transaction(database):
        database.execute(
            "INSERT INTO entry (at, payer, payee, swarm, microcredits, tokens)"
            f" SELECT {_LOCAL_DAY}, payer, payee, swarm, SUM(microcredits), SUM(tokens) {old}"
            f" GROUP BY {_LOCAL_DAY}, payer, payee, swarm",
            (horizon,),
        )
        database.execute(f"DELETE {old}", (horizon,))
        database.execute("DELETE FROM tab WHERE id NOT IN (SELECT tab FROM entry WHERE tab IS NOT NULL)")


def check(database: sqlite3.Connection) -> LedgerCheck:
    """Derive every number anew, beginning with the receipts, and report what differs."""
    problems = [f"the file: {text}" for (text,) in database.execute("PRAGMA integrity_check") if text != "ok"]
    problems += _wrong_tabs(database)
    problems += [
        f"account {key.hex()[:16]} is not the sum of its entries"
        for (key,) in database.execute(
            "SELECT key FROM account WHERE"
            " credits != (SELECT COALESCE(SUM(microcredits), 0) FROM entry WHERE payee = account.id)"
            " OR debits != (SELECT COALESCE(SUM(microcredits), 0) FROM entry WHERE payer = account.id)"
        )
    ]
    (total,) = database.execute("SELECT COALESCE(SUM(credits), 0) - COALESCE(SUM(debits), 0) FROM account").fetchone()
    if total:
        problems.append(f"all accounts together are {total} microcredits, not 0")
    return LedgerCheck(
        accounts=_count(database, "account"),
        receipts=_count(database, "tab"),
        entries=_count(database, "entry"),
        sum_points=total,
        problems=tuple(problems[:MAX_PROBLEMS]),
    )


def _wrong_tabs(database: sqlite3.Connection) -> list[str]:
    """Return the tabs whose credits don't follow from their receipt."""
    rows = database.execute(
        "SELECT name, receipt, delegation, microcredits, tokens, payer.key, payee.key,"
        " (SELECT COALESCE(SUM(microcredits), 0) FROM entry WHERE entry.tab = tab.id)"
        " FROM tab JOIN account payer ON payer.id = tab.payer JOIN account payee ON payee.id = tab.payee"
    )
    problems = []
    for name, data, delegation, microcredits, tokens, payer, payee, entered in rows:
        booking = Booking(data, delegation)
        try:
            receipt = booking.receipt
            stated = (receipt.tab, receipt.work.microcredits, receipt.work.tokens, booking.payer, receipt.server)
        except ReceiptError as error:
            problems.append(f"the receipt of {name.hex()}: {error.message}")
            continue
        if stated != (name, microcredits, tokens, payer, payee) or entered != microcredits:
            problems.append(f"what is booked of {name.hex()} is not what its receipt says")
    return problems


def _count(database: sqlite3.Connection, table: str) -> int:
    return int(database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
