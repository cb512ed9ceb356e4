"""Remembers the publisher of updates, and tells the newest signed description from an old one that is shown again.

A signature doesn't age, so a server could repeat, hide or mix descriptions. The Update Framework's answers apply
(theupdateframework.io, specification 1.0, section 5): descriptions only go forward (no rollback), they expire (no
freezing), one description names all files by their hashes (no mixing), and a key names its successor.

The notes are one file in the state folder. Only a process that checks for updates or installs one writes them, one at
a time, under a lock; the daemon reads.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from msgspec import Struct
from potluck_control.places import Places

from potluck.checked_files import state_file
from potluck.errors import PotluckError
from potluck.locks import LOOKED_AT_S, open_locked
from potluck.sentences import sentence
from potluck_daemon.updates.manifest import BadManifestError, Offer, is_newer

_MAX_CLOCK_ERROR_S = 86400.0


@dataclass(frozen=True, slots=True)
class KnownPublisher:
    """The state of one publisher, as its newest description left it.

    Attributes:
        anchor: the key that the user set, in base64; with another one, nothing is known.
        key: the key that is valid now.
        next_key: its successor, which takes its place as soon as something signed with it arrives.
    """

    anchor: str = ""
    key: str = ""
    next_key: str = ""
    issued_at: int = 0
    version: str = ""
    changes: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys whose signatures are valid."""
        return tuple(filter(None, (self.key, self.next_key)))


def known_publisher(anchor: str, seen: KnownPublisher) -> KnownPublisher:
    """Return what is known of the publisher with the key `anchor`, which may be another one than before."""
    return seen if seen.anchor == anchor else KnownPublisher(anchor=anchor, key=anchor)


def accept(offer: Offer, signer: str, seen: KnownPublisher, now: float) -> KnownPublisher:
    """Return what is known after this offer, which `signer`, one of `seen.keys`, signed. `now`: Unix seconds.

    Raises:
        BadManifestError: the offer is old, repeated, or from the future.
    """
    if offer.issued_at > now + _MAX_CLOCK_ERROR_S:
        raise BadManifestError(
            sentence("the update's description is from the future"), hint=sentence("set this computer's clock")
        )
    if offer.expires_at <= now:
        text = sentence("the update's description has expired: the publisher is gone, or somebody hides newer ones")
        raise BadManifestError(text, hint=sentence("see the publisher's page"))
    is_repeated = offer.issued_at == seen.issued_at and offer.version != seen.version
    if offer.issued_at < seen.issued_at or is_repeated or is_newer(seen.version, offer.version):
        text = sentence(
            "version {offered} is offered, but {number} was earlier: somebody shows an old description",
            offered=offer.version,
            number=seen.version,
        )
        raise BadManifestError(text, hint=sentence("see the publisher's page"))
    known = replace(seen, issued_at=offer.issued_at, version=offer.version, changes=offer.changes)
    return replace(known, key=signer, next_key=offer.next_key if offer.next_key != signer else "")


class UpdateNotes(Struct, frozen=True):
    """The notes. The publisher was last asked at `asked_at` and last answered at `checked_at`, in Unix seconds."""

    seen: KnownPublisher = KnownPublisher()
    asked_at: float = 0.0
    checked_at: float | None = None


class NotesFile:
    """The notes of the daemon that has these places."""

    def __init__(self, places: Places) -> None:
        self._file = state_file(places.state / "updates.json", UpdateNotes)
        self._lock = places.state / "updates.lock"

    def read(self) -> UpdateNotes:
        """Return the notes, empty if they are missing or unreadable."""
        try:
            return self._file.read() or UpdateNotes()
        except OSError:
            return UpdateNotes()

    def write(self, notes: UpdateNotes) -> None:
        """Replace the notes; the caller holds the lock. Raises OSError."""
        self._file.write(notes)

    @contextlib.contextmanager
    def lock(self) -> Iterator[UpdateNotes]:
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
