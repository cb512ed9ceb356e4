"""Backs up ledger and identity, which belong together, to one file, and restores them on this or another machine.

The file is a tar of two files with mode 0600. SQLite itself copies the ledger, so the daemon may write meanwhile.
"""

from __future__ import annotations

import io
import os
import sqlite3
import tarfile
import tempfile
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from potluck_control.places import Places

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck_daemon.accounting.checked_database import remove_copies
from potluck_daemon.accounting.ledger import Ledger
from potluck_daemon.accounting.tables import unusable_error
from potluck_daemon.host.instance import InstanceLock
from potluck_daemon.host.owner import files_as_owner

_LEDGER = "ledger.sqlite"
_IDENTITY = "identity.key"
_MAX_BYTES = 1 << 34


def back_up(places: Places, file: Path) -> None:
    """Write a backup to `file`, which must not exist. Raises UsageError, LedgerError, OSError."""
    try:
        with files_as_owner(places):
            ledger, identity = _copies(places)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as raw, tarfile.open(fileobj=raw, mode="w") as archive:
            for name, content in ((_LEDGER, ledger), (_IDENTITY, identity)):
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(content), 0o600
                archive.addfile(member, io.BytesIO(content))
    except FileExistsError:
        raise UsageError(f"{file} exists already", hint="name another file") from None


def restore(places: Places, file: Path, *, replace: bool) -> None:
    """Put both files where the daemon reads them. With `replace`, existing ones are kept under another name.

    Raises:
        UsageError: the file is no backup, or there is a ledger or an identity here already.
        LedgerError: the backup is damaged.
        AlreadyRunningError: a daemon is running.
    """
    ledger, identity = _read(file)
    with files_as_owner(places):
        lock = InstanceLock(places.lock_file)
        lock.acquire()
        try:
            _install(places, ledger, identity, replace=replace)
        finally:
            lock.release()


def _copies(places: Places) -> tuple[bytes, bytes]:
    """Return copies of ledger and identity. Raises UsageError, LedgerError, OSError."""
    if not places.ledger_file.exists() or not places.identity_file.exists():
        raise UsageError("there is no ledger here yet", hint="start the daemon once: potluck start")
    identity = Identity.load_or_create(places.identity_file)
    # Open it read-only: the last writer to close it would move SQLite's log into the file, which then looks damaged.
    address = f"file:{quote(str(places.ledger_file))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as ledger:
            return ledger.serialize(), identity.to_bytes()
    except sqlite3.Error as error:
        raise unusable_error(places.ledger_file, error) from error


def _install(places: Places, ledger: bytes, identity: bytes, *, replace: bool) -> None:
    there = [path for path in (places.ledger_file, places.identity_file) if path.exists()]
    if there and not replace:
        raise UsageError("this machine has a ledger and an identity already", hint="put them aside with --replace")
    with tempfile.TemporaryDirectory(dir=places.state) as folder:
        copy = Path(folder) / _LEDGER
        copy.write_bytes(ledger)
        with closing(Ledger(copy, Identity.from_bytes(identity))) as opened:
            problems = opened.check().problems
        if problems:
            raise UsageError(f"the backup is damaged: {problems[0]}")
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for path in there:
            path.rename(path.with_name(f"{path.name}.before-{stamp}"))
        remove_copies(places.ledger_file)
        Identity.file(places.identity_file).write(Identity.from_bytes(identity))
        copy.chmod(0o600)
        copy.rename(places.ledger_file)


def _read(file: Path) -> tuple[bytes, bytes]:
    """Read ledger and identity without unpacking anything to the disk. Raises UsageError, OSError."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(file, mode="r:") as archive:
            for name in (_LEDGER, _IDENTITY):
                member = archive.getmember(name)
                content = archive.extractfile(member) if member.isreg() and member.size <= _MAX_BYTES else None
                found[name] = (content or io.BytesIO()).read()
        Identity.from_bytes(found[_IDENTITY])
    except (tarfile.TarError, KeyError, ValueError) as error:
        raise UsageError(f"{file} is not a backup of this program") from error
    return found[_LEDGER], found[_IDENTITY]
