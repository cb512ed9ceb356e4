"""Locks of files and folders, on file systems with `flock`, without it, and without any lock."""

import errno
import fcntl
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from potluck.locks import NoLocksError, is_locked, locked, locked_folder, open_locked

NFS = "NFS"  # locks files that are open for writing, and so no folders


@pytest.fixture(params=["flock", errno.ENOLCK, errno.EOPNOTSUPP, NFS])
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    real = fcntl.flock

    def flock(file: int, kind: int) -> None:
        if isinstance(request.param, int):
            raise OSError(request.param, os.strerror(request.param))
        if request.param == NFS and kind & fcntl.LOCK_EX and fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(file, kind)

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.usefixtures("file_system")
def test_a_lock_is_held_by_one_and_only_until_its_own_descriptor_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    held = open_locked(path)
    path.read_text()  # POSIX's own locks would be lost with this descriptor
    assert is_locked(path)
    with pytest.raises(BlockingIOError):
        open_locked(path, within_s=0.05)
    os.close(held)
    assert not is_locked(path)
    os.close(open_locked(path))


@pytest.mark.usefixtures("file_system")
def test_changes_in_a_folder_and_of_a_file_are_made_one_after_the_other(tmp_path: Path) -> None:
    for context in (lambda: locked_folder(tmp_path), lambda: locked(tmp_path / "lock")):
        count = tmp_path / "count"
        count.write_text("0")

        def add(context: Any = context, count: Path = count) -> None:
            for _ in range(50):
                with context():
                    before = int(count.read_text())
                    count.write_text(str(before + 1))

        threads = [threading.Thread(target=add) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert count.read_text() == "200"


def test_without_any_lock_the_file_system_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    for name in ("flock", "fcntl", "lockf"):
        monkeypatch.setattr(fcntl, name, refuse)
    for take in (lambda: open_locked(tmp_path / "lock"), lambda: locked_folder(tmp_path).__enter__()):
        with pytest.raises(NoLocksError, match=r"/\.?lock cannot be locked: its file system \(\w+ at /") as refused:
            take()
        assert "XDG_STATE_HOME" in str(refused.value.hint)
