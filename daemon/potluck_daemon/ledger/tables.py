"""The tables of the ledger, and opening its file.

    account   a donor: `credits` were paid to it, `debits` by it; both have the same sum over all accounts
    model     the name that people give the swarm of a receipt
    tab       one session of one client at one server: its last receipt, and how much of it is booked
    entry     `microcredits` from payer to payee within an hour, from the receipts of one tab;
              old entries are added up by day and lose their tab
    voucher   what others say, with signatures, that they received from each other

All numbers are integers of 64 bits. Times are Unix seconds.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from potluck.errors import PotluckError

VERSION = 1

_TABLES = """
CREATE TABLE account (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    credits INTEGER NOT NULL DEFAULT 0,
    debits INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE model (swarm BLOB PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE tab (
    id INTEGER PRIMARY KEY,
    name BLOB NOT NULL,
    payer INTEGER NOT NULL REFERENCES account,
    payee INTEGER NOT NULL REFERENCES account,
    client BLOB NOT NULL,
    swarm BLOB NOT NULL,
    seq INTEGER NOT NULL,
    microcredits INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    receipt BLOB NOT NULL,
    delegation BLOB,
    UNIQUE (payee, name)
) STRICT;
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    tab INTEGER REFERENCES tab,
    payer INTEGER NOT NULL REFERENCES account,
    payee INTEGER NOT NULL REFERENCES account,
    swarm BLOB NOT NULL,
    microcredits INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    UNIQUE (tab, at)
) STRICT;
CREATE INDEX entry_at ON entry (at);
CREATE TABLE voucher (
    server BLOB NOT NULL,
    name BLOB NOT NULL,
    owner BLOB NOT NULL,
    seq INTEGER NOT NULL,
    microcredits INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (server, name)
) STRICT, WITHOUT ROWID;
"""


class LedgerError(PotluckError):
    """The ledger's file cannot be used; it stays as it is."""


def connect(path: Path) -> sqlite3.Connection:
    """Open or create the file, which only its owner may read, for use by one thread at a time.

    Committed changes survive a crash and a power cut.

    Raises:
        LedgerError: the file is damaged, of a newer version, or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
        try:
            _prepare(database, path)
        except BaseException:
            database.close()
            raise
        return database
    except OSError as error:
        raise LedgerError(f"cannot use the ledger {path}: {error.strerror}") from error
    except sqlite3.Error as error:
        hint = "restore a backup: potluck ledger restore FILE"
        raise LedgerError(f"the ledger {path} cannot be used: {error}", hint=hint) from error


@contextlib.contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Commit what the body writes, or nothing of it if the body or the commit fails."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        database.execute(f"PRAGMA {pragma}")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise LedgerError(f"the ledger {path} was made by a newer version", hint="install that version again")
    if version == 0:
        database.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
