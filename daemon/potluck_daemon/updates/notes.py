"""The notes about the publisher, one file in the state folder, and the lock that its writers hold.

Only a process that looks for updates or installs one writes, one at a time; the daemon reads.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from msgspec import Struct
from potluck_control.places import Places

from potluck.checked_files import state_file
from potluck.errors import PotluckError
from potluck.locks import LOOKED_AT_S, open_locked
from potluck.sentences import sentence
from potluck_daemon.updates.freshness import KnownPublisher


class Notes(Struct, frozen=True):
    """The notes. The publisher was last asked at `asked_at` and last answered at `checked_at`, in Unix seconds."""

    seen: KnownPublisher = KnownPublisher()
    asked_at: float = 0.0
    checked_at: float | None = None


class NotesFile:
    """The notes of the daemon that has these places."""

    def __init__(self, places: Places) -> None:
        self._file = state_file(places.state / "updates.json", Notes)
        self._lock = places.state / "updates.lock"

    def read(self) -> Notes:
        """Return the notes, empty if they are missing or unreadable."""
        try:
            return self._file.read() or Notes()
        except OSError:
            return Notes()

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
