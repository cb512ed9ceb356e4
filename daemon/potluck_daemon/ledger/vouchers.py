"""Vouchers: signed proof of what others received from each other. We keep a bounded number, and show our own.

Nobody has to gossip: a peer that wants its work to count shows its vouchers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from potluck.membership.identity import Identity
from potluck.protocol.receipts import ReceiptError, countersign, read_receipt, read_voucher
from potluck_daemon.ledger.tables import transaction

MAX_KEPT = 4096
MAX_SHOWN = 8


def keep(database: sqlite3.Connection, vouchers: Iterable[bytes], owner: bytes, now: float) -> int:
    """Keep the vouchers that are genuine, new and relevant, in place of the oldest; return how many."""
    with transaction(database):
        kept = sum(_keep(database, data, owner, now) for data in vouchers)
        database.execute(
            "DELETE FROM voucher WHERE (server, name) IN"
            " (SELECT server, name FROM voucher ORDER BY seen_at DESC, microcredits DESC LIMIT -1 OFFSET ?)",
            (MAX_KEPT,),
        )
    return kept


def _keep(database: sqlite3.Connection, data: bytes, owner: bytes, now: float) -> int:
    try:
        voucher = read_voucher(data)
    except ReceiptError:
        return 0
    receipt, receiver = voucher.countersigned.receipt, voucher.delegation.owner
    giver = receipt.server
    if owner in (giver, receiver) or giver == receiver or not _is_known(database, receiver):
        return 0  # our own books have what we gave or received
    return database.execute(
        "INSERT INTO voucher VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
        " SET seq = excluded.seq, microcredits = excluded.microcredits, seen_at = excluded.seen_at"
        " WHERE excluded.seq > seq AND excluded.owner = owner",
        (giver, receipt.tab, receiver, receipt.seq, receipt.work.microcredits, int(now)),
    ).rowcount


def _is_known(database: sqlite3.Connection, receiver: bytes) -> bool:
    """Return whether this donor's word counts: it worked for us, or for somebody whose word counts.

    Vouchers of others would only push out those that matter.
    """
    found = database.execute(
        "SELECT EXISTS (SELECT 1 FROM account WHERE key = :key AND credits > 0)"
        " OR EXISTS (SELECT 1 FROM voucher WHERE server = :key)",
        {"key": receiver},
    ).fetchone()
    return bool(found[0])


def vouched(database: sqlite3.Connection) -> dict[tuple[bytes, bytes], int]:
    """Return (receiver, giver) -> microcredits."""
    rows = database.execute("SELECT owner, server, SUM(microcredits) FROM voucher GROUP BY owner, server")
    return {(owner, server): amount for owner, server, amount in rows}


def to_show(database: sqlite3.Connection, identity: Identity) -> tuple[bytes, ...]:
    """Return the largest receipt of each donor that we worked for most, to show to strangers."""
    rows = database.execute(
        "SELECT receipt, delegation, MAX(microcredits) AS most FROM tab"
        " WHERE delegation IS NOT NULL AND payee = (SELECT id FROM account WHERE key = ?)"
        " GROUP BY payer ORDER BY most DESC LIMIT ?",
        (identity.public_key, MAX_SHOWN),
    )
    return tuple(countersign(read_receipt(receipt), identity.sign).data + delegation for receipt, delegation, _ in rows)
