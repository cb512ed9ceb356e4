"""Allows one daemon for each user, by a lock that the kernel releases however the daemon ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from potluck.errors import PotluckError

EXIT_ALREADY_RUNNING = 3  # the exit code of `potluckd`
_PAUSE_S = 0.02


class AlreadyRunningError(PotluckError):
    """Another daemon of this user holds the lock."""


class InstanceLock:
    """A lock held from `acquire()` until `release()` or the end of the process. Engines don't inherit it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock. Raises AlreadyRunningError with the process id of the daemon that holds it."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _take(handle)
        except BlockingIOError:
            other = os.read(handle, 20).decode(errors="replace").strip()
            os.close(handle)
            raise AlreadyRunningError(
                f"the daemon is already running as process {other or 'unknown'}", hint="see: potluck status"
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self._handle = handle

    def release(self) -> None:
        """Release the lock but keep the file: two daemons could otherwise lock two files of one name."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def is_locked(path: Path) -> bool:
    """Return whether a daemon holds the lock, also one that starts or ends and does not answer."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # root may look at what the service's user made
    try:
        handle = os.open(path, flags)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _take(handle: int) -> None:
    """Take the lock, which a command that looks at it may hold for a moment. Raises BlockingIOError."""
    for is_last in (False, False, True):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if is_last:
                raise
            time.sleep(_PAUSE_S)
