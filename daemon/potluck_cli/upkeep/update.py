"""Switches to another version of Potluck: `potluck update`."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

from potluck_control.api import schema
from potluck_control.api.client import ControlClient
from potluck_control.methods.installation import WorkProgress
from potluck_control.places import Places, find_places
from potluck_control.processes.python_command import child_environment
from potluck_daemon.child_process import OnProgress
from potluck_daemon.settings.store import load_settings
from potluck_daemon.updates.manifest import is_newer
from potluck_daemon.updates.publisher import NotesFile
from potluck_daemon.updates.update import ask_publisher, stage
from potluck_daemon.updates.versions import Versions, failed_update_notice, other_tool_updates, own_versions

from potluck.errors import PotluckError, UsageError
from potluck.protocol.codec import decode
from potluck.sentences import Sentence, sentence
from potluck_cli.everyday.start_stop import Drained
from potluck_cli.options import print_result
from potluck_cli.parser import Subcommand, argument
from potluck_cli.terminal import Steps, say


@dataclass(frozen=True, slots=True)
class Updated:
    """The version after this command; `offered`: the publisher's, null if it was not asked."""

    running: str
    offered: str | None
    is_newer: bool
    changes: tuple[str, ...] = ()
    notices: tuple[Sentence, ...] = ()  # the daemon's notices after a rollback, such as which settings are in force


def update(args: argparse.Namespace) -> int:
    """Look for a newer version and switch to it.

    Look for a newer version at the address in the setting updates.url, show what changes, and switch to it. The new
    version is checked against the publisher's key (updates.key), installed beside the old one, and started once
    open sessions have ended. If it fails to start twice, the old version is used again. If a package manager or pip
    installed Potluck, this only shows what is available.

      potluck update --check
      potluck update
      potluck update --rollback
    """
    versions, places, shows = own_versions(), find_places(), not args.json
    file, on_progress = NotesFile(places), Steps(shows=shows)
    with file.lock():
        if args.rollback:
            result = _roll_back(versions, places, on_progress)
        else:
            result = _update(versions, places, file, on_progress, check_only=args.check, shows=shows)
    return print_result(args, result, [*map(str, result.notices), f"Potluck {result.running} is in use."])


def _update(
    versions: Versions | None,
    places: Places,
    file: NotesFile,
    on_progress: OnProgress,
    *,
    check_only: bool,
    shows: bool,
) -> Updated:
    settings, running = load_settings(places.settings_file).settings.updates, version("potluck")
    offer = ask_publisher(settings, file, on_progress)
    newer = is_newer(offer.version, running)
    if shows and newer:
        changes = "".join(f"\n  - {line}" for line in offer.changes)
        say(f"Version {offer.version} is available, {running} is running. What changes:{changes}", flush=True)
    if check_only or not newer:
        return Updated(running, offer.version, newer, offer.changes)
    if versions is None or not versions.is_writable:
        raise other_tool_updates()
    stage(offer, settings.url, versions, on_progress)
    try:
        _switch(versions, lambda: versions.begin_trial(offer.version), on_progress)
    except PotluckError:
        if versions.current() != offer.version:
            raise
        versions.abandon()
        _potluck(versions, "start")
    if failed := failed_update_notice(versions):
        raise PotluckError(failed, hint="potluck logs")
    return Updated(offer.version, offer.version, False, offer.changes)


def _roll_back(versions: Versions | None, places: Places, on_progress: OnProgress) -> Updated:
    if versions is None or not versions.is_writable:
        raise UsageError(
            "another program installed this version of Potluck", hint="install the earlier version with that program"
        )
    versions.earlier()  # raises before the daemon ends
    notices: tuple[Sentence, ...] = ()
    if _switch(versions, versions.roll_back, on_progress):
        with contextlib.suppress(PotluckError):  # the rollback is done, whatever the daemon answers
            notices = ControlClient(places.socket).call(schema.STATUS).notices
    return Updated(versions.current(), None, False, notices=notices)


def _switch(versions: Versions, switch: Callable[[], object], on_progress: OnProgress) -> bool:
    """End the daemon, switch to another version, and start its daemon if one was running; return whether one was.

    Raises:
        PotluckError: the daemon doesn't end, there is no such version, or its daemon doesn't start.
    """
    on_progress(WorkProgress(sentence("waiting for open sessions to end")))
    try:
        was_running = decode(Drained, _potluck(versions, "drain", "--json")).was_running
    except KeyboardInterrupt:
        with contextlib.suppress(PotluckError):  # it has just ended
            _potluck(versions, "resume")
        raise
    try:
        switch()
    finally:
        if was_running:
            _potluck(versions, "start")
    return was_running


def _potluck(versions: Versions, *words: str) -> bytes:
    """Run a command of the current version, whose modules this process doesn't have. Return its output."""
    program = versions.root / "current" / "bin" / "potluck"
    done = subprocess.run([program, *words], env=child_environment(python=program), capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().removeprefix("potluck: ")
        raise PotluckError(sentence("`{what}` failed: {why}", what=f"potluck {words[0]}", why=said or done.returncode))
    return done.stdout


COMMANDS = {
    "update": Subcommand(
        update,
        Updated,
        argument("--check", action="store_true", help="only show what is offered"),
        argument("--rollback", action="store_true", help="return to the previous version"),
    ),
}
