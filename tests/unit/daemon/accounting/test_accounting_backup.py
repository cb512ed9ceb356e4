"""Ledger and identity move to another machine together, and nothing that is there is destroyed."""

import tarfile
from pathlib import Path

import pytest
from helpers.receipts import NOW, Session
from potluck_control.places import Places
from potluck_daemon.accounting.backup import back_up, restore
from potluck_daemon.accounting.ledger import Ledger
from potluck_daemon.host.instance import AlreadyRunningError, InstanceLock

from potluck.errors import UsageError
from potluck.membership.identity import Identity


def places(folder: Path) -> Places:
    return Places(folder / "config", folder / "state", folder / "run", folder / "cache")


@pytest.fixture
def old(tmp_path: Path) -> Places:
    """A machine that earned 7."""
    made = places(tmp_path / "old")
    identity = Identity.load_or_create(made.identity_file)
    ledger = Ledger(made.ledger_file, identity)
    ledger.book([Session(identity).booking(7)], NOW)
    ledger.close()
    return made


def earned(machine: Places) -> tuple[str, int]:
    identity = Identity.load_or_create(machine.identity_file)
    ledger = Ledger(machine.ledger_file, identity)
    try:
        return identity.peer_id, ledger.summary(NOW + 1).total.earned
    finally:
        ledger.close()


def test_a_backup_is_private_and_moves_everything_also_what_a_running_daemon_has_in_its_log(
    old: Places, tmp_path: Path
) -> None:
    file, new = tmp_path / "backup.tar", places(tmp_path / "new")
    identity = Identity.load_or_create(old.identity_file)
    ledger = Ledger(old.ledger_file, identity)
    ledger.book([Session(identity).booking(5)], NOW)
    back_up(old, file)
    ledger.close()
    assert file.stat().st_mode & 0o077 == 0
    restore(new, file, replace=False)
    assert earned(new) == earned(old) == (identity.peer_id, 12)
    assert new.ledger_file.stat().st_mode & 0o077 == new.identity_file.stat().st_mode & 0o077 == 0


def test_what_is_there_is_replaced_on_request_only_and_kept_beside(old: Places, tmp_path: Path) -> None:
    file = tmp_path / "backup.tar"
    back_up(old, file)
    new = places(tmp_path / "new")
    before = Identity.load_or_create(new.identity_file).peer_id
    with pytest.raises(UsageError, match="already"):
        restore(new, file, replace=False)
    assert Identity.load_or_create(new.identity_file).peer_id == before
    with pytest.raises(UsageError, match="no ledger"):
        back_up(new, tmp_path / "other.tar")
    restore(new, file, replace=True)
    assert earned(new) == earned(old)
    (kept,) = new.state.glob("identity.key.before-*")
    assert Identity.from_bytes(kept.read_bytes()).peer_id == before
    with pytest.raises(UsageError, match="exists"):
        back_up(new, file)


def test_nothing_is_restored_under_a_running_daemon(old: Places, tmp_path: Path) -> None:
    back_up(old, tmp_path / "backup.tar")
    lock = InstanceLock(old.lock_file)
    lock.acquire()
    with pytest.raises(AlreadyRunningError):
        restore(old, tmp_path / "backup.tar", replace=True)
    lock.release()


def _links(file: Path) -> None:
    with tarfile.open(file, "w") as archive:
        for name in ("ledger.sqlite", "identity.key"):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(member)


def test_what_is_no_backup_is_refused_and_changes_nothing(old: Places, tmp_path: Path) -> None:
    whole, file, new = tmp_path / "whole.tar", tmp_path / "backup.tar", places(tmp_path / "new")
    back_up(old, whole)
    for damage in (
        lambda: file.write_bytes(whole.read_bytes()[:700]),
        lambda: file.write_bytes(b"hello" * 1000),
        lambda: _links(file),
    ):
        damage()
        with pytest.raises(UsageError, match="not a backup"):
            restore(new, file, replace=False)
    assert not new.ledger_file.exists()
    assert not new.identity_file.exists()
