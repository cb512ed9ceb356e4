"""Allows one daemon for each user, by a lock that the kernel releases however the daemon ends."""

from __future__ import annotations

import os
from pathlib import Path

from potluck.errors import PotluckError
from potluck.locks import LOOKED_AT_S, is_locked, open_locked
from potluck.sentences import sentence

EXIT_ALREADY_RUNNING = 3  # the exit code of `potluckd`


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
        try:
            handle = open_locked(self._path, within_s=LOOKED_AT_S)
        except BlockingIOError:
            number = _pid_in(self._path) or "unknown"
            text = sentence("the daemon is already running as process {number}", number=number)
            raise AlreadyRunningError(text, hint="see: potluck status") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self._handle = handle

    def release(self) -> None:
        """Release the lock but keep the file: two daemons could otherwise lock two files of one name."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def lock_holder(path: Path) -> int | None:
    """Return the id of the process that holds the lock, even if it does not answer yet or any more; None: none does.

    0 stands for a process that can't be found here, because it belongs to another user or runs on another computer or
    in another container that shares the folder.
    """
    if not is_locked(path):
        return None
    import psutil  # here, because it loads slowly and most commands do not need it

    try:
        process = psutil.Process(_pid_in(path))
        return process.pid if os.path.realpath(path) in (file.path for file in process.open_files()) else 0
    except psutil.Error:
        return 0


def _pid_in(path: Path) -> int:
    """Return the id of the process that wrote the file; 0: the file has none."""
    try:
        return int(path.read_text()[:20])
    except (OSError, ValueError):
        return 0
