"""State files with a checked copy: what damage does to them, and what a full disk does not."""

import errno
import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import Struct

from potluck import checked_files
from potluck.checked_files import (
    CheckedFile,
    CheckedLog,
    DamagedError,
    damage_notices,
    read_copy,
    state_file,
    write_copy,
)
from potluck.errors import UsageError


def parse(data: bytes) -> bytes:
    if not data.startswith(b"{"):
        raise ValueError("no brace")
    return data


class Kept(Struct):
    number: int


@pytest.fixture
def file(tmp_path: Path) -> CheckedFile[bytes]:
    return CheckedFile(tmp_path / "state", parse, bytes)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: os.truncate(path, 3),
    "emptied": lambda path: os.truncate(path, 0),
    "zeroed": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "flipped": flip,
    "deleted": Path.unlink,
}


@pytest.mark.parametrize("which", ["file", "copy"])
@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_to_the_file_or_its_copy_is_repaired(file: CheckedFile[bytes], which: str, kind: str) -> None:
    file.write(b"{old}")
    file.write(b"{some state}")
    DAMAGE[kind](file.path if which == "file" else file.copy)
    assert file.read() == b"{some state}"
    assert file.path.read_bytes() == read_copy(file.copy) == b"{some state}"
    notices = list(damage_notices((file.path.parent,), time.time()))
    assert len(notices) == (which == "file" and kind != "deleted")
    assert all("state was damaged and has been repaired" in str(notice) for notice in notices)


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_to_both_is_refused_and_told_once_it_is_set_aside(file: CheckedFile[bytes], kind: str) -> None:
    file.write(b"{some state}")
    DAMAGE["zeroed"](file.path)
    DAMAGE["flipped"](file.copy)
    before = file.path.read_bytes()
    with pytest.raises(DamagedError, match="is damaged: no brace"):
        file.read_or_refuse()
    assert file.read() is None
    (aside,) = file.path.parent.glob("state.broken-*")
    assert aside.read_bytes() == before
    assert file.read_or_refuse() is None
    (notice,) = damage_notices((file.path.parent,), time.time())
    assert "state was damaged and could not be repaired" in str(notice)
    assert not list(damage_notices((file.path.parent,), time.time() + 8 * 86400))


def test_a_copy_that_cannot_be_read_either_is_damage_without_the_file(file: CheckedFile[bytes]) -> None:
    file.write(b"{}")
    file.path.unlink()
    flip(file.copy)
    with pytest.raises(DamagedError, match="it is gone"):
        file.read_or_refuse()


def test_a_file_from_before_there_were_copies_gets_one(file: CheckedFile[bytes]) -> None:
    assert file.read() is None
    file.path.write_bytes(b"{}")
    assert file.read() == b"{}"
    assert read_copy(file.copy) == b"{}"


def test_content_that_another_version_wrote_is_refused_and_kept(file: CheckedFile[bytes]) -> None:
    file.write(b"new format")
    with pytest.raises(DamagedError):
        file.read_or_refuse()
    assert read_copy(file.copy) == file.path.read_bytes() == b"new format"


@pytest.mark.parametrize("call", [1, 2], ids=["file", "copy"])
def test_a_full_disk_changes_neither(file: CheckedFile[bytes], monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    file.write(b"{old}")
    sync, calls = os.fsync, 0

    def full(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            file.write(b"{new}")
    assert file.read() == b"{old}"
    assert sorted(os.listdir(file.path.parent)) == ["state", "state.copy"]


def test_a_crash_between_the_two_leaves_one_of_them(file: CheckedFile[bytes]) -> None:
    file.write(b"{old}")
    write_copy(file.copy, b"{new}")
    assert file.read() == b"{new}"


def test_readers_beside_writers_never_see_damage(file: CheckedFile[bytes]) -> None:
    file.write(b"{0}")

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for number in range(40):
            if rng.random() < 0.5:
                file.write(b"{%d}" % number)
            else:
                assert file.read()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    assert sorted(os.listdir(file.path.parent)) == ["state", "state.copy"]


def test_two_that_create_a_file_make_one(file: CheckedFile[bytes]) -> None:
    def make() -> bytes:
        return b"{%d}" % random.getrandbits(64)

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(lambda _: file.read_or_create(make), range(8)))) == 1


def test_errors_for_people_count_as_damage_too(tmp_path: Path) -> None:
    def refuse(_: bytes) -> bytes:
        raise UsageError("the invite is damaged")

    (tmp_path / "f").write_bytes(b"x")
    with pytest.raises(DamagedError, match="the invite is damaged"):
        CheckedFile(tmp_path / "f", refuse, bytes).read_or_refuse()


def test_a_value_is_read_by_its_type_and_fields_of_a_newer_version_are_ignored(tmp_path: Path) -> None:
    file = state_file(tmp_path / "state.json", Kept)
    file.write(Kept(3))
    assert file.path.read_bytes() == b'{"number":3}'
    file.path.write_bytes(b'{"number":4,"new":[]}')
    file.copy.unlink()
    assert file.read() == Kept(4)
    file.path.write_bytes(b'{"number":"four"}')
    file.copy.unlink()
    assert file.read() is None
    assert [path.name.partition("-")[0] for path in tmp_path.iterdir()] == ["state.json.broken"]


def test_a_file_that_is_too_large_is_damaged_and_its_copy_replaces_it(
    file: CheckedFile[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_files, "MAX_BYTES", 10)
    file.write(b"{small}")
    file.path.write_bytes(b"{" * 100)
    assert file.read() == b"{small}"
    for path in (file.path, file.copy):
        path.write_bytes(b"{" * 100)
    with pytest.raises(DamagedError, match="too large"):
        file.read_or_refuse()


@pytest.mark.parametrize("which", ["log", "log.copy"])
@pytest.mark.parametrize("kind", DAMAGE)
def test_a_log_gets_lost_lines_back_from_the_other_file(tmp_path: Path, which: str, kind: str) -> None:
    log = CheckedLog(tmp_path / "log")
    lines = [b'{"at": %d}' % number for number in range(20)]
    for line in lines:
        log.append(line)
    DAMAGE[kind](tmp_path / which)
    assert log.read() == lines
    assert (tmp_path / "log").read_bytes() == (tmp_path / "log.copy").read_bytes()


def test_a_log_takes_each_line_from_where_it_is_good(tmp_path: Path) -> None:
    log = CheckedLog(tmp_path / "log")
    lines = [b'{"at": %d}' % number for number in range(10, 20)]
    log.write(lines)
    for name, broken in (("log", 3), ("log.copy", 7)):
        raw = (tmp_path / name).read_bytes().splitlines(keepends=True)
        raw[broken] = raw[broken].replace(b"1", b"7")
        (tmp_path / name).write_bytes(b"".join(raw) + b'{"at": 20')
    assert log.read() == lines
