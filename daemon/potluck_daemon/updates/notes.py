"""The notes about updates, one file in the state folder, and the lock that its writers take.

Only a process that looks for updates or installs one writes, one at a time; the daemon reads. A progress note without a
lock was left by a process that was killed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from msgspec import Struct
from potluck_control.methods.setup import Problem
from potluck_control.methods.updates import UpdateProgress
from potluck_control.places import Places

from potluck.checked_files import state_file
from potluck.errors import PotluckError
from potluck.locks import LOOKED_AT_S, is_locked, open_locked
from potluck.sentences import sentence
from potluck_daemon.updates.freshness import KnownPublisher


class Notes(Struct, frozen=True):
    """The notes. The publisher was last asked at `asked_at` and last answered at `checked_at`, in Unix seconds."""

    seen: KnownPublisher = KnownPublisher()
    asked_at: float = 0.0
    checked_at: float | None = None
    step: UpdateProgress | None = None  # `progress` and `error` are those of versions that wrote English texts
    problem: Problem | None = None


class NotesFile:
    """The notes of the daemon that has these places."""

    def __init__(self, places: Places) -> None:
        self._file = state_file(places.state / "updates.json", Notes)
        self._lock = places.state / "updates.lock"
        self._known: tuple[object, Notes] = ("", Notes())  # the stamp of the file, and its content then

    def read(self) -> Notes:
        """Return the notes, the same object while the file is the same; empty if it is missing or unreadable."""
        stamp = self._stamp()
        if stamp != self._known[0]:
            try:
                notes = self._file.read() or Notes()
            except OSError:
                notes = Notes()
            self._known = self._stamp(), notes
        return self._known[1]

    def write(self, notes: Notes) -> None:
        """Replace the notes; the caller holds the lock. Raises OSError."""
        self._file.write(notes)

    @contextlib.contextmanager
    def lock(self) -> Iterator[Notes]:
        """Hold the lock and yield the notes. Raises PotluckError if another process holds it."""
        self._lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            handle = open_locked(self._lock, within_s=LOOKED_AT_S)
        except BlockingIOError:
            raise PotluckError(
                sentence("another update is running"), hint=sentence("wait for its end: potluck status")
            ) from None
        except OSError as error:  # root must not follow a link that the service's user made
            hint = sentence("remove it if it is a link, and make room if the disk is full")
            raise PotluckError(
                sentence("cannot open {path}: {why}", path=str(self._lock), why=str(error.strerror)), hint=hint
            ) from error
        try:
            yield self.read()
        finally:
            os.close(handle)

    def is_locked(self) -> bool:
        """Return whether a process is looking for updates or installing one."""
        return is_locked(self._lock)

    def _stamp(self) -> object:
        """Return a stamp that changes with the content, because the file is always replaced."""
        try:
            found = self._file.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size
