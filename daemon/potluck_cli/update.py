"""`potluck update`: look for a newer version and change over to it."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from potluck_control import schema
from potluck_control.client import ControlClient
from potluck_control.formatting import part_size
from potluck_control.methods.setup import Problem
from potluck_control.methods.updates import UpdateProgress
from potluck_control.places import Places, find_places
from potluck_daemon.host.units import installed
from potluck_daemon.settings.schema import UpdateSettings
from potluck_daemon.settings.store import load
from potluck_daemon.updates.freshness import publisher_of
from potluck_daemon.updates.manifest import Offer, is_newer, require_publisher
from potluck_daemon.updates.notes import Notes, NotesFile
from potluck_daemon.updates.succession import LocalSuccessor
from potluck_daemon.updates.update import look, stage, switch
from potluck_daemon.updates.versions import Versions, not_ours, own_versions

from potluck.errors import PotluckError, UsageError
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Look for a newer version where the setting updates.url points, show what changes, and change over to it: it is fetched
and checked against the publisher's key (updates.key), laid beside the version in use, and started once open sessions
ended. If it does not come up and stay up, the version before is used again. An installation that a package manager or
pip looks after is updated by that; then this only tells what there is."""
EXAMPLES = """\
  potluck update --check
  potluck update
  potluck update --rollback"""

_NOTE_INTERVAL_S = 0.3


@dataclass(frozen=True, slots=True)
class Updated:
    """`offered`: what the publisher has, null if it was not asked; `running`: the version after this command."""

    running: str
    offered: str | None
    is_newer: bool
    changes: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()  # of the daemon after a way back, such as which settings it obeys


RESULT = Updated


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="only tell what is offered")
    parser.add_argument("--rollback", action="store_true", help="go back to the version before")
    add_json(parser, "the versions")


def run(args: argparse.Namespace) -> int:
    versions = own_versions()
    _stay_on_this_version(versions, args)
    terminal = None if args.json else Terminal(sys.stdout)
    places = find_places()
    file = NotesFile(places)
    with file.lock() as notes:
        told = _Told(terminal, file, notes)
        try:
            if args.rollback:
                result = _roll_back(versions, places, told)
            else:
                result = _Update(versions, places, told, terminal).run(check_only=args.check)
        except PotluckError as error:
            told.note(error=Problem(error.message, error.hint or ""))
            raise
        told.note(error=None)
    if terminal is None:
        print_json(result)
    else:
        for notice in result.notices:
            terminal.line(notice)
        terminal.line(f"Potluck {result.running} is in use.")
    return 0


class _Told:
    """Progress: for people each thing once and every tenth of what is fetched, for the daemon in the notes."""

    def __init__(self, terminal: Terminal | None, file: NotesFile, notes: Notes) -> None:
        self.notes = notes
        self._terminal = terminal
        self._file = file
        self._last: tuple[str, int] = ("", 0)
        self._noted = ("", 0.0)

    def note(self, **changed: object) -> None:
        """Write it down; what was being done is over."""
        self.notes = replace(self.notes, progress=None, **changed)  # type: ignore[arg-type]
        self._file.write(self.notes)

    def __call__(self, text: str, done: int, total: int) -> None:
        now = time.monotonic()
        if self._noted[0] != text or now - self._noted[1] > _NOTE_INTERVAL_S:
            self._noted = (text, now)
            self.notes = replace(self.notes, progress=UpdateProgress(text, done, total))
            with contextlib.suppress(PotluckError):  # of a full disk: what is under way goes on
                self._file.write(self.notes)
        tenth = done * 10 // total if total else 0
        if self._terminal is None or (text, tenth) == self._last:
            return
        self._last = (text, tenth)
        share = f"  {part_size(done, total)}" if total else ""
        self._terminal.line(f"{text}{share}")


@dataclass(frozen=True, slots=True)
class _Update:
    """One look, and the change over if there is something newer."""

    versions: Versions | None
    places: Places
    told: _Told
    terminal: Terminal | None

    def run(self, *, check_only: bool) -> Updated:
        settings = load(self.places.settings_file).settings.updates
        require_publisher(settings)
        running = version("potluck")
        offer = self._look(settings)
        newer = is_newer(offer.version, running)
        if self.terminal is not None and newer:
            self.terminal.line(f"Version {offer.version} is offered, {running} runs. What changes:")
            for line in offer.changes:
                self.terminal.line(f"  - {line}")
        if check_only or not newer:
            return Updated(running, offer.version, newer, offer.changes)
        if self.versions is None:
            raise not_ours()
        stage(offer, settings.url, self.versions, self.told)
        switch(offer.version, self.versions, _successor(self.places), self.told)
        return Updated(offer.version, offer.version, False, offer.changes)

    def _look(self, settings: UpdateSettings) -> Offer:
        """What was seen is on the disk before anything is done with it."""
        told = self.told
        told.note(asked_at=time.time(), error=None)
        told("asking the publisher", 0, 0)
        offer, seen = look(settings.url, publisher_of(settings.key, told.notes.seen), time.time())
        told.note(seen=seen, checked_at=time.time())
        return offer


def _roll_back(versions: Versions | None, places: Places, told: Callable[[str, int, int], None]) -> Updated:
    if versions is None:
        raise UsageError("this installation is kept by what installed it", hint="install the earlier version with that")
    told("waiting for open sessions to end", 0, 0)
    successor = _successor(places)
    was_running = successor.drain()
    old = versions.roll_back()
    versions.tidy()
    notices: tuple[str, ...] = ()
    if was_running:
        successor.start(versions.root / "current")
        with contextlib.suppress(PotluckError):  # the way back is done, whatever it has to say
            notices = ControlClient(places.socket).call(schema.STATUS).notices
    return Updated(old, None, False, notices=notices)


def _successor(places: Places) -> LocalSuccessor:
    return LocalSuccessor(places.socket, installed())


def _stay_on_this_version(versions: Versions | None, args: argparse.Namespace) -> None:
    """Go on under this version's own name: what `current` leads to is about to change under this process."""
    if versions is None or Path(sys.prefix).name != "current":
        return
    python = versions.folder(versions.current()) / "bin" / "python3"
    options = [f"--{name}" for name in ("check", "rollback", "json") if getattr(args, name)]
    os.execv(python, [str(python), "-m", "potluck_cli.main", "update", *options])
