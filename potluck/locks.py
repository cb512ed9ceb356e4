"""Locks that the kernel releases however their holder ends, also on file systems without `flock`.

Where a file system lacks `flock` (Lustre without its option, some of 9p and FUSE), a lock of fcntl(2) takes its place.
On Linux it belongs to the open file, as flock's does, because POSIX's own is lost when its process closes any
descriptor of the file. A file system answers all processes alike, so all of them take the same kind.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from potluck.errors import PotluckError

_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
_PAUSE_S = 0.02
LOOKED_AT_S = 0.2  # how long to wait for a lock that `is_locked` holds for a moment


class NoLocksError(PotluckError):
    """The file system has no locks."""


def open_locked(path: Path, *, within_s: float | None = 0.0) -> int:
    """Open `path`, make it if need be, and lock it. Closing the descriptor releases the lock.

    Args:
        within_s: how long to wait for another process; None: without end.

    Raises:
        BlockingIOError: another process holds the lock.
        NoLocksError: the file system has no locks.
        OSError: the file cannot be opened for writing, or is a link, which root must not follow in a user's folder.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)  # NFS locks no read-only files
    try:
        lock(file, path, within_s=within_s)
    except BaseException:
        os.close(file)
        raise
    return file


def lock(file: int, path: Path, *, within_s: float | None = 0.0) -> None:
    """Lock an open file, whose name is `path`. Arguments and errors are those of `open_locked`."""
    if within_s is None:
        return _lock(file, path, fcntl.LOCK_EX)
    deadline = time.monotonic() + within_s
    while True:
        try:
            return _lock(file, path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(_PAUSE_S)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the file `path` inside the context, after every other process. Raises as `open_locked`."""
    file = open_locked(path, within_s=None)
    try:
        yield
    finally:
        os.close(file)


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Make changes in `folder` one process at a time, because two that read the same file would lose one.

    The folder itself is locked, which leaves no file in it and works where this user may not write. Where a folder
    cannot be locked, as over NFS, a file in it is.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        os.close(handle)
        if error.errno not in (*_UNSUPPORTED, errno.EBADF):
            raise
        handle = open_locked(folder / ".lock", within_s=None)
    try:
        yield
    finally:
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of the file `path`."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # root may look at what the service's user made
    try:
        file = os.open(path, flags)
    except OSError:
        return False
    try:
        _lock(file, path, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _lock(file: int, path: Path, kind: int) -> None:
    try:
        fcntl.flock(file, kind)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        _lock_range(file, path, kind)


def _lock_range(file: int, path: Path, kind: int) -> None:
    try:
        if sys.platform == "linux":
            command = fcntl.F_OFD_SETLK if kind & fcntl.LOCK_NB else fcntl.F_OFD_SETLKW
            access = fcntl.F_RDLCK if kind & fcntl.LOCK_SH else fcntl.F_WRLCK
            fcntl.fcntl(file, command, struct.pack("hhqqi", access, os.SEEK_SET, 0, 0, 0))  # the whole file
        else:
            fcntl.lockf(file, kind)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise BlockingIOError(error.errno, error.strerror, str(path)) from None
        if error.errno not in _UNSUPPORTED:
            raise
        text = f"{path} cannot be locked: its file system ({_file_system(path)}) has no locks"
        hint = "name folders on a local disk by XDG_STATE_HOME, XDG_CONFIG_HOME and XDG_RUNTIME_DIR"
        raise NoLocksError(text, hint=hint) from error


def _file_system(path: Path) -> str:
    """Return the type of the file system that has `path`, and where it is mounted."""
    import psutil

    mounts = (each for each in psutil.disk_partitions(all=True) if path.resolve().is_relative_to(each.mountpoint))
    found = max(mounts, key=lambda each: len(each.mountpoint), default=None)
    return f"{found.fstype} at {found.mountpoint}" if found is not None else "of an unknown type"
