"""What others received from each other: vouchers that were shown to us, a bounded number of them; and ours to show.

Nobody has to gossip: whoever wants to be known brings the papers.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from potluck.p2p.identity import Identity
from potluck.protocol.receipts import ReceiptError, countersign, read_receipt, read_voucher

MAX_KEPT = 4096
MAX_SHOWN = 8


def keep(database: sqlite3.Connection, vouchers: Iterable[bytes], owner: bytes, now: float) -> int:
    """Remember those that are genuine and tell something new; how many. The oldest make room."""
    kept = 0
    for data in vouchers:
        try:
            voucher = read_voucher(data)
        except ReceiptError:
            continue
        receipt, giver = voucher.countersigned.receipt, voucher.countersigned.receipt.server
        if owner in (giver, voucher.delegation.owner) or giver == voucher.delegation.owner:
            continue  # what we received or gave is in our own books
        row = (giver, receipt.tab, voucher.delegation.owner, receipt.seq, receipt.work.microcredits, int(now))
        kept += database.execute(
            "INSERT INTO voucher VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
            " SET seq = excluded.seq, microcredits = excluded.microcredits, seen_at = excluded.seen_at"
            " WHERE excluded.seq > seq AND excluded.owner = owner",
            row,
        ).rowcount
    database.execute(
        "DELETE FROM voucher WHERE (server, name) IN"
        " (SELECT server, name FROM voucher ORDER BY seen_at DESC, microcredits DESC LIMIT -1 OFFSET ?)",
        (MAX_KEPT,),
    )
    return kept


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
