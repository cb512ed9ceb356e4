"""Keeps a checked copy beside an SQLite file, and repairs the file from it.

    FILE       changed by `merge_log` only
    FILE-wal   SQLite's log of the changes since then; it has checksums of its own
    FILE.copy  the file's bytes below a line with their SHA-256; gone while `merge_log` moves the log into the file

A file that differs from its copy is therefore damaged, and copy and log together hold everything. A damaged log loses
what was written since the last `merge_log`. A file that is damaged after a crash in the middle of `merge_log` loses
everything, which is reported.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from potluck.checked_files import HEAD_BYTES, DamagedError, copy_of, head, repair
from potluck.files import replacing
from potluck.sentences import sentence

log = logging.getLogger(__name__)

_MANY_BYTES = 4 << 20  # the size from which the log is merged


def open_checked(path: Path, connect: Callable[[Path], sqlite3.Connection]) -> sqlite3.Connection:
    """Repair the file at `path` and open it by `connect`, which makes the tables of a new one.

    Raises:
        DamagedError: the file is damaged and has no good copy; it stays as it is.
        OSError: the file cannot be read or written.
        Exception: `connect` raised it.
    """
    copy = copy_of(path)
    if not path.exists() and not copy.exists():
        _create(path, connect)
    copied = _copied_digest(copy)
    if copied is not None:
        if _digest(path) != copied:
            _restore(path, copy)
    elif (problem := _problem(path)) is not None:
        raise DamagedError(sentence("{file} is damaged: {why}", file=str(path), why=problem))
    database = connect(path)
    database.execute("PRAGMA wal_autocheckpoint = 0")
    if copied is None:
        merge_log(database, path)
    return database


def merge_log(database: sqlite3.Connection, path: Path) -> None:
    """Move the log, if there is one, into the file and copy the file. A failure is logged and loses nothing."""
    copy = copy_of(path)
    try:
        if copy.exists() and not _log_bytes(path):
            return
        copy.unlink(missing_ok=True)
        (is_busy, *_) = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not is_busy:  # another process may be reading; then the next call gets further
            with path.open("rb") as source, replacing(copy) as target:
                target.write(head(hashlib.file_digest(source, "sha256").hexdigest()))
                source.seek(0)
                shutil.copyfileobj(source, target)
    except (OSError, sqlite3.Error) as error:
        log.warning("cannot copy %s: %s", path, error)


def merge_large_log(database: sqlite3.Connection, path: Path) -> None:
    """Merge the log once it is as large as the file, so that copying takes no more time than writing did."""
    if _log_bytes(path) >= max(path.stat().st_size, _MANY_BYTES):
        merge_log(database, path)


def close_checked(database: sqlite3.Connection, path: Path) -> None:
    """Merge the log and close. SQLite's own `close` moves the log into the file, which then looks damaged."""
    merge_log(database, path)
    database.close()


def remove_copies(path: Path) -> None:
    """Delete the copy and the logs beside a file that is about to be replaced."""
    wal = _wal_of(path)
    for place in (copy_of(path), wal, wal.with_name(f"{path.name}-shm")):
        place.unlink(missing_ok=True)


def _create(path: Path, connect: Callable[[Path], sqlite3.Connection]) -> None:
    """Make the file under another name first, because an empty one counts as damaged."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    connect(new).close()
    new.replace(path)


def _restore(path: Path, copy: Path) -> None:
    with copy.open("rb") as source:
        source.seek(HEAD_BYTES)
        repair(path, lambda target: shutil.copyfileobj(source, target))


def _problem(path: Path) -> str | None:
    """Return what is wrong with a file that has no copy; None: SQLite finds no mistake in it."""
    if not path.exists():
        return "it is gone"
    if not path.stat().st_size:
        return "it is empty"
    try:
        with closing(sqlite3.connect(path)) as database:
            (answer,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if answer == "ok" else str(answer)


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _copied_digest(copy: Path) -> str | None:
    """Return the digest of the bytes in a copy; None if there is none, or it is damaged."""
    try:
        with copy.open("rb") as file:
            first = file.read(HEAD_BYTES)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
    return digest if first == head(digest) else None


def _log_bytes(path: Path) -> int:
    try:
        return _wal_of(path).stat().st_size
    except OSError:
        return 0


def _wal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
