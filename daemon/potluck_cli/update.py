"""`potluck update`: looks for a newer version and switches to it.

Look for a newer version at the address in the setting updates.url, show what changes, and switch to it. The new version
is checked against the publisher's key (updates.key), installed beside the old one, and started once open sessions have
ended. If it does not start and keep running, the old version is used again. If a package manager or pip installed
Potluck, this only shows what is available.

  potluck update --check
  potluck update
  potluck update --rollback
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from msgspec import structs
from potluck_control import schema
from potluck_control.client import ControlClient
from potluck_control.methods.setup import Problem
from potluck_control.methods.updates import UpdateProgress
from potluck_control.own_python import python_command
from potluck_control.places import Places, find_places
from potluck_daemon.host.units import installed
from potluck_daemon.settings.store import load
from potluck_daemon.updates.freshness import publisher_of
from potluck_daemon.updates.manifest import is_newer, require_publisher
from potluck_daemon.updates.notes import Notes, NotesFile
from potluck_daemon.updates.succession import LocalSuccessor
from potluck_daemon.updates.update import look, stage, switch
from potluck_daemon.updates.versions import Versions, not_ours, own_versions

from potluck.errors import PotluckError, UsageError
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_cli.options import answer
from potluck_cli.terminal import Steps, say

_NOTE_INTERVAL_S = 0.3


@dataclass(frozen=True, slots=True)
class Updated:
    """The version after this command; `offered`: the publisher's, null if it was not asked."""

    running: str
    offered: str | None
    is_newer: bool
    changes: tuple[str, ...] = ()
    notices: tuple[Sentence, ...] = ()  # of the daemon after a rollback, such as which settings it obeys


RESULT = Updated


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="only show what is offered")
    parser.add_argument("--rollback", action="store_true", help="return to the previous version")


def run(args: argparse.Namespace) -> int:
    versions = own_versions()
    _stay_on_this_version(versions, args)
    places = find_places()
    file = NotesFile(places)
    with file.lock() as notes:
        progress = _ProgressNotes(file, notes, shows=not args.json)
        try:
            if args.rollback:
                result = _roll_back(versions, places, progress)
            else:
                result = _update(versions, places, progress, check_only=args.check)
        except PotluckError as error:
            progress.note(problem=Problem(error.sentence, error.advice))
            raise
        progress.note(problem=None)
    return answer(args, result, [*map(str, result.notices), f"Potluck {result.running} is in use."])


class _ProgressNotes:
    """Progress of an update, noted for the daemon, and shown to people step by step."""

    def __init__(self, file: NotesFile, notes: Notes, *, shows: bool) -> None:
        self.notes = notes
        self.shows = shows
        self._file = file
        self._steps = Steps(shows=shows)
        self._noted = (NOTHING, 0.0)

    def note(self, **changed: object) -> None:
        """Write changes to the notes and end the step in progress."""
        self.notes = structs.replace(self.notes, step=None, **changed)
        self._file.write(self.notes)

    def __call__(self, text: Sentence, done: int, total: int) -> None:
        now = time.monotonic()
        if self._noted[0] != text or now - self._noted[1] > _NOTE_INTERVAL_S:
            self._noted = (text, now)
            self.notes = structs.replace(self.notes, step=UpdateProgress(text, done, total))
            with contextlib.suppress(OSError):  # a full disk must not end the update
                self._file.write(self.notes)
        self._steps(str(text), done, total)


def _update(versions: Versions | None, places: Places, progress: _ProgressNotes, *, check_only: bool) -> Updated:
    settings = load(places.settings_file).settings.updates
    require_publisher(settings)
    running = version("potluck")
    progress.note(asked_at=time.time(), problem=None)
    progress(sentence("asking the publisher"), 0, 0)
    offer, seen = look(settings.url, publisher_of(settings.key, progress.notes.seen), time.time())
    progress.note(seen=seen, checked_at=time.time())  # on the disk before anything is done with it
    newer = is_newer(offer.version, running)
    if progress.shows and newer:
        changes = "".join(f"\n  - {line}" for line in offer.changes)
        say(f"Version {offer.version} is available, {running} is running. What changes:{changes}", flush=True)
    if check_only or not newer:
        return Updated(running, offer.version, newer, offer.changes)
    if versions is None:
        raise not_ours()
    stage(offer, settings.url, versions, progress)
    switch(offer.version, versions, _successor(places), progress)
    return Updated(offer.version, offer.version, False, offer.changes)


def _roll_back(versions: Versions | None, places: Places, progress: _ProgressNotes) -> Updated:
    if versions is None:
        raise UsageError(
            "another program installed this version of Potluck", hint="install the earlier version with that program"
        )
    progress(sentence("waiting for open sessions to end"), 0, 0)
    successor = _successor(places)
    was_running = successor.drain()
    old = versions.roll_back()
    versions.tidy()
    notices: tuple[Sentence, ...] = ()
    if was_running:
        successor.start(versions.root / "current")
        with contextlib.suppress(PotluckError):  # the rollback is done, whatever the daemon answers
            notices = ControlClient(places.socket).call(schema.STATUS).notices
    return Updated(old, None, False, notices=notices)


def _successor(places: Places) -> LocalSuccessor:
    return LocalSuccessor(places.socket, installed())


def _stay_on_this_version(versions: Versions | None, args: argparse.Namespace) -> None:
    """Restart under this version's own folder, because `current` will soon lead to another version."""
    if versions is None or Path(sys.prefix).name != "current":
        return
    python = versions.folder(versions.current()) / "bin" / "python3"
    options = [f"--{name}" for name in ("check", "rollback", "json") if getattr(args, name)]
    os.execv(python, python_command(python, "-m", "potluck_cli.main", "update", *options))
