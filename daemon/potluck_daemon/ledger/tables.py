"""The tables of the ledger, and opening its file.

    model     the name that people give the swarm of a receipt
    tab       one session of one client at one server: its last receipt, and the person on the other side
    entry     points of one tab within an hour: earned by this computer, or received from somebody else's;
              old entries are added up by day and lose their tab

All numbers are integers of 64 bits. Times are Unix seconds.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from potluck.errors import PotluckError
from potluck.membership.identity import peer_id_of
from potluck.protocol.receipts import RECEIPT_BYTES

VERSION = 2

_TABLES = """
CREATE TABLE IF NOT EXISTS model (swarm BLOB PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE tab (
    id INTEGER PRIMARY KEY,
    server BLOB NOT NULL,
    name BLOB NOT NULL,
    person TEXT NOT NULL,
    receipt BLOB NOT NULL,
    UNIQUE (server, name)
) STRICT;
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    tab INTEGER REFERENCES tab,
    person TEXT NOT NULL,
    swarm BLOB NOT NULL,
    is_earned INTEGER NOT NULL,
    points INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    UNIQUE (tab, at)
) STRICT;
CREATE INDEX entry_at ON entry (at);
"""

# Version 1 had accounts of computers, and booked who paid whom. Countersignatures followed the receipts.
_SET_ASIDE = """
DROP INDEX entry_at;
ALTER TABLE tab RENAME TO old_tab;
ALTER TABLE entry RENAME TO old_entry;
"""
_TAKE_OVER = f"""
CREATE TEMP VIEW side AS
    SELECT payer.id AS payer, payee.id AS payee, payee.key AS server, payee.key = owner() AS is_earned,
        peer_id(CASE WHEN payee.key = owner() THEN payer.key ELSE payee.key END) AS person
    FROM main.account payer, main.account payee;
INSERT INTO tab SELECT id, server, name, person, substr(receipt, 1, {RECEIPT_BYTES})
    FROM old_tab JOIN side USING (payer, payee);
INSERT INTO entry SELECT number, at, tab, person, swarm, is_earned, microcredits, tokens
    FROM old_entry JOIN side USING (payer, payee);
DROP VIEW side;
DROP TABLE old_entry;
DROP TABLE old_tab;
DROP TABLE account;
DROP TABLE voucher;
"""


class LedgerError(PotluckError):
    """The ledger's file cannot be used; it stays as it is."""


def connect(path: Path, owner: bytes) -> sqlite3.Connection:
    """Open or create the file of the computer with the key `owner`, for use by one thread at a time.

    Only the file's owner may read it. Committed changes survive a crash and a power cut.

    Raises:
        LedgerError: a newer version made the file.
        OSError, sqlite3.Error: it cannot be read or written.
    """
    path.touch(mode=0o600)
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            database.execute(f"PRAGMA {pragma}")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise LedgerError(f"the ledger {path} was made by a newer version", hint="install that version again")
        if version < VERSION:
            database.create_function("owner", 0, lambda: owner)
            database.create_function("peer_id", 1, peer_id_of)
            before, after = (_SET_ASIDE, _TAKE_OVER) if version else ("", "")
            database.executescript(
                f"BEGIN IMMEDIATE; {before} {_TABLES} {after} PRAGMA user_version = {VERSION}; COMMIT"
            )
    except BaseException:
        database.close()
        raise
    return database
