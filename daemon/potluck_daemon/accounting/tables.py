"""The tables of the ledger, and opening its file.

    model     the name that people give the swarm of a receipt
    tab       one session of one client at one server: its last receipt, and the person on the other side
    entry     points of one tab within an hour: earned by this computer, or received from somebody else's;
              old entries are added up by day and lose their tab
    hour      what serving took in a local hour

All numbers are integers of 64 bits. Times are Unix seconds.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from potluck.errors import PotluckError
from potluck.sentences import Sentence, sentence

VERSION = 2

_HOURS = """
CREATE TABLE IF NOT EXISTS hour (
    start INTEGER PRIMARY KEY,
    served_s REAL NOT NULL,
    energy_wh REAL NOT NULL,
    sent_bytes INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL
) STRICT;
"""  # Earlier versions, to which a computer may go back, ignore this table.

_TABLES = """
CREATE TABLE model (swarm BLOB PRIMARY KEY, name TEXT NOT NULL) STRICT, WITHOUT ROWID;
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


class LedgerError(PotluckError):
    """The ledger's file cannot be used; it stays as it is."""


def unusable_error(path: Path, error: Exception, hint: Sentence | str = "potluck ledger check") -> LedgerError:
    """Return the error for a ledger that cannot be used because of another error."""
    why = error.sentence if isinstance(error, PotluckError) else str(error)
    return LedgerError(sentence("the ledger {path} cannot be used: {why}", path=str(path), why=why), hint=hint)


def connect(path: Path) -> sqlite3.Connection:
    """Open or create the file, for use by one thread at a time.

    Only the file's owner may read it. Committed changes survive a crash and a power cut.

    Raises:
        LedgerError: another version made the file.
        OSError, sqlite3.Error: it cannot be read or written.
    """
    path.touch(mode=0o600)
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            database.execute(f"PRAGMA {pragma}")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            hint = sentence("install that version again, or move the file away: then a new ledger begins")
            raise LedgerError(sentence("the ledger {path} was made by another version", path=str(path)), hint=hint)
        if version == 0:
            database.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT")
        database.execute(_HOURS)
    except BaseException:
        database.close()
        raise
    return database
