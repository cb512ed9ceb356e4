"""SQLite files with a checked copy: damage at rest, after a crash, and in the middle of a copy."""

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from potluck_control.places import Places
from potluck_daemon.accounting.backup import back_up
from potluck_daemon.accounting.checked_database import close_checked, merge_log, open_checked
from potluck_daemon.accounting.ledger import Ledger

from potluck.checked_files import DamagedError
from potluck.membership.identity import Identity


def connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = OFF")  # no power is cut here
    database.execute("CREATE TABLE IF NOT EXISTS t (x INTEGER)")
    return database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.sqlite"


def numbers(path: Path) -> list[int]:
    database = open_checked(path, connect)
    found = [x for (x,) in database.execute("SELECT x FROM t ORDER BY x")]
    close_checked(database, path)
    return found


def filled(path: Path, *, settled: range, logged: range) -> None:
    """Leave a file as a killed process does: the log lies beside it."""
    work = path.parent / "work"
    work.mkdir()
    with closing(open_checked(work / path.name, connect)) as database:
        database.executemany("INSERT INTO t VALUES (?)", [(x,) for x in settled])
        merge_log(database, work / path.name)
        database.executemany("INSERT INTO t VALUES (?)", [(x,) for x in logged])
        for file in work.iterdir():
            if not file.name.endswith("-shm"):
                shutil.copy(file, path.parent)


def damage(path: Path, kind: str) -> None:
    size = path.stat().st_size
    match kind:
        case "emptied":
            os.truncate(path, 0)
        case "truncated":
            os.truncate(path, size // 2 + 7)
        case "zeroed":
            path.write_bytes(bytes(size))
        case "flipped":
            data = bytearray(path.read_bytes())
            data[random.Random(1).randrange(size)] ^= 4
            path.write_bytes(data)
        case "deleted":
            path.unlink()


@pytest.mark.parametrize("logged", [range(0), range(500, 510)], ids=["settled", "with-a-log"])
@pytest.mark.parametrize("end", ["", ".copy"], ids=["file", "copy"])
@pytest.mark.parametrize("kind", ["emptied", "truncated", "zeroed", "flipped", "deleted"])
def test_nothing_is_lost_when_file_or_copy_is_damaged(path: Path, kind: str, end: str, logged: range) -> None:
    filled(path, settled=range(500), logged=logged)
    damage(path.with_name(path.name + end), kind)
    for _ in range(2):
        assert numbers(path) == [*range(500), *logged]
    assert len(list(path.parent.glob("*.repaired-*"))) == (end == "" and kind != "deleted")


def test_a_file_that_a_crash_left_in_the_middle_of_a_copy_counts_if_it_is_sound(path: Path) -> None:
    filled(path, settled=range(500), logged=range(500, 510))
    path.with_name("x.sqlite.copy").unlink()
    connect(path).close()  # moves the log into the file
    assert numbers(path) == [*range(510)]


@pytest.mark.parametrize("kind", ["emptied", "truncated", "zeroed"])
def test_damage_without_any_copy_is_refused_and_stays(path: Path, kind: str) -> None:
    filled(path, settled=range(500), logged=range(0))
    path.with_name("x.sqlite.copy").unlink()
    damage(path, kind)
    before = path.read_bytes()
    with pytest.raises(DamagedError, match=r"x\.sqlite is damaged"):
        open_checked(path, connect)
    assert path.read_bytes() == before


def test_writing_leaves_the_file_as_its_copy_says(path: Path) -> None:
    with closing(open_checked(path, connect)) as database:
        before = path.read_bytes()
        database.executemany("INSERT INTO t VALUES (?)", [(x,) for x in range(2000)])  # 2000 pages of log
        assert path.read_bytes() == before
        merge_log(database, path)
        settled = path.read_bytes()
        assert settled != before
    assert path.read_bytes() == settled


def test_a_backup_beside_a_daemon_that_was_killed_takes_its_log_and_leaves_it(tmp_path: Path) -> None:
    places = Places(*[tmp_path] * 4)
    identity = Identity.load_or_create(places.identity_file)
    work = tmp_path / "work"
    ledger = Ledger(work / "ledger.sqlite", identity)
    ledger.name_model(b"swarm", "model")
    for file in work.iterdir():
        if not file.name.endswith("-shm"):
            shutil.copy(file, tmp_path)
    ledger.close()
    before = places.ledger_file.read_bytes()
    back_up(places, tmp_path / "backup.tar")
    assert places.ledger_file.read_bytes() == before
    assert b"model" in (tmp_path / "ledger.sqlite-wal").read_bytes()
    reopened = Ledger(places.ledger_file, identity)
    assert b"model" in places.ledger_file.read_bytes() + (tmp_path / "ledger.sqlite-wal").read_bytes()
    reopened.close()
    assert b"model" in places.ledger_file.read_bytes()
