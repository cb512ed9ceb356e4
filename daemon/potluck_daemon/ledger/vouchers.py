"""What others received from each other: vouchers that were shown to us, a bounded number of them; and ours to show.

Nobody has to gossip: whoever wants to be known brings the papers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from potluck.p2p.identity import Identity
from potluck.protocol.receipts import ReceiptError, countersign, read_receipt, read_voucher
from potluck_daemon.ledger.tables import transaction

MAX_KEPT = 4096
MAX_SHOWN = 8


def keep(database: sqlite3.Connection, vouchers: Iterable[bytes], owner: bytes, now: float) -> int:
    """Remember those that are genuine, tell something new, and can matter here; how many. The oldest make room."""
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
        return 0  # what we gave or received is in our own books
    return database.execute(
        "INSERT INTO voucher VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
        " SET seq = excluded.seq, microcredits = excluded.microcredits, seen_at = excluded.seen_at"
        " WHERE excluded.seq > seq AND excluded.owner = owner",
        (giver, receipt.tab, receiver, receipt.seq, receipt.work.microcredits, int(now)),
    ).rowcount


def _is_known(database: sqlite3.Connection, receiver: bytes) -> bool:
    """Whether the word of this donor is worth anything: it did something for us, or for somebody whose word is.

    Anything else would only push out what matters.
    """
    found = database.execute(
        "SELECT EXISTS (SELECT 1 FROM account WHERE key = :key AND credits > 0)"
        " OR EXISTS (SELECT 1 FROM voucher WHERE server = :key)",
        {"key": receiver},
    ).fetchone()
    return bool(found[0])


def vouched(database: sqlite3.Connection) -> dict[tuple[bytes, bytes], int]:
    """(who received, who gave) -> microcredits."""
    rows = database.execute("SELECT owner, server, SUM(microcredits) FROM voucher GROUP BY owner, server")
    return {(owner, server): amount for owner, server, amount in rows}


def to_show(database: sqlite3.Connection, identity: Identity) -> tuple[bytes, ...]:
    """For strangers: the largest receipt of each of the donors for whom we did most."""
    rows = database.execute(
        "SELECT receipt, delegation, MAX(microcredits) AS most FROM tab"
        " WHERE delegation IS NOT NULL AND payee = (SELECT id FROM account WHERE key = ?)"
        " GROUP BY payer ORDER BY most DESC LIMIT ?",
        (identity.public_key, MAX_SHOWN),
    )
    return tuple(countersign(read_receipt(receipt), identity.sign).data + delegation for receipt, delegation, _ in rows)
