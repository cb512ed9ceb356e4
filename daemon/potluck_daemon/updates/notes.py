"""What is remembered of updates, in one file of the state folder, and the lock of those who write it.

Only a process that looks for updates or makes one writes, one at a time; the daemon reads. A note of progress that
nobody holds the lock of was left by a process that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from potluck_control.codec import CodecError, dumps, from_json, loads
from potluck_control.methods.setup import Problem
from potluck_control.methods.updates import UpdateProgress
from potluck_control.places import Places

from potluck.errors import PotluckError
from potluck.files import keep_aside, write_atomically
from potluck_daemon.updates.freshness import KnownPublisher

_TRIES = 5
_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Notes:
    """`asked_at`: when the publisher was last asked; `checked_at`: when it last answered. Unix seconds."""

    seen: KnownPublisher = field(default_factory=KnownPublisher)
    asked_at: float = 0.0
    checked_at: float | None = None
    progress: UpdateProgress | None = None
    error: Problem | None = None


class NotesFile:
    """The notes of the daemon that has these places."""

    def __init__(self, places: Places) -> None:
        self._path = places.state / "updates.json"
        self._lock = places.state / "updates.lock"
        self._known: tuple[object, Notes] = (None, Notes())  # as of that stamp

    def read(self) -> Notes:
        """A file that is not there, or not understood, counts as empty; the same object while the file is the same."""
        stamp = self._stamp()
        if stamp != self._known[0]:
            self._known = stamp, self._understood() or Notes()
        return self._known[1]

    def write(self, notes: Notes) -> None:
        """By who holds the lock. Raises PotluckError."""
        try:
            write_atomically(self._path, dumps(notes))
        except OSError as error:
            raise PotluckError(f"cannot write {self._path}: {error.strerror}", hint="is the disk full?") from error

    @contextlib.contextmanager
    def lock(self) -> Iterator[Notes]:
        """The notes as they are; one process at a time. Raises PotluckError if another one is at it."""
        self._lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:  # root does not follow a link of the service's user
            hint = "remove it if it is a link, and make room if the disk is full"
            raise PotluckError(f"cannot open {self._lock}: {error.strerror}", hint=hint) from error
        try:
            _take(handle)
            if self._path.exists() and self._understood() is None:
                keep_aside(self._path)  # what was seen is lost with it, so somebody may want to look
            yield self.read()
        finally:
            os.close(handle)

    def is_locked(self) -> bool:
        """Whether somebody looks for updates, or makes one, right now."""
        try:
            handle = os.open(self._lock, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def _stamp(self) -> object:
        """Another one for each content, because the file is always replaced."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _understood(self) -> Notes | None:
        try:
            return from_json(Notes, loads(self._path.read_bytes()), "updates")
        except (OSError, CodecError):
            return None


def _take(handle: int) -> None:
    """Raises PotluckError if another process keeps it; the daemon has it for a moment when it looks."""
    for _ in range(_TRIES):
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE_S)
    raise PotluckError("another update runs already", hint="wait for its end: potluck status")
