"""`potluck update`: look for a newer version and change over to it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from potluck.errors import PotluckError, UsageError
from potluck_daemon.cli.connect import hello_or_none
from potluck_daemon.cli.options import add_json, print_json
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.settings.places import find_places
from potluck_daemon.settings.store import load
from potluck_daemon.updates.manifest import is_newer
from potluck_daemon.updates.update import Daemon, Source, look, stage, switch, wait_for_version
from potluck_daemon.updates.versions import Versions, own_versions

DESCRIPTION = """\
Look for a newer version where the setting updates.url points, show what changes, and change over to it: it is fetched
and checked against the publisher's key (updates.key), laid beside the version in use, and started once open sessions
ended. If it does not come up, the version before is used again. An installation that a package manager or pip looks
after is updated by that; then this only tells what there is."""
EXAMPLES = """\
  potluck update --check
  potluck update
  potluck update --rollback"""

_START_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Updated:
    """`offered`: what the publisher has, null if it was not asked; `running`: the version after this command."""

    running: str
    offered: str | None
    is_newer: bool
    changes: tuple[str, ...] = ()


RESULT = Updated


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="only tell what is offered")
    parser.add_argument("--rollback", action="store_true", help="go back to the version before")
    add_json(parser, "the versions")


def run(args: argparse.Namespace) -> int:
    terminal = None if args.json else Terminal(sys.stdout)
    versions = own_versions()
    result = _roll_back(versions) if args.rollback else _update(versions, terminal, check_only=args.check)
    if terminal is None:
        print_json(result)
    else:
        terminal.line(f"Potluck {result.running} is in use.")
    return 0


def _update(versions: Versions | None, terminal: Terminal | None, *, check_only: bool) -> Updated:
    settings = load(find_places().settings_file).settings.updates
    if not settings.url or not settings.key:
        raise UsageError("where updates come from is not said", hint="set updates.url and updates.key, as published")
    source = Source(settings.url, settings.key)
    offer, running = look(source), version("potluck")
    newer = is_newer(offer.version, running)
    if terminal is not None and newer:
        terminal.line(f"Version {offer.version} is offered, {running} runs. What changes:")
        for line in offer.changes:
            terminal.line(f"  - {line}")
    if check_only or not newer:
        return Updated(running, offer.version, newer, offer.changes)
    if versions is None:
        raise UsageError("this installation is updated by what installed it", hint="apt, pip, ... as the manual says")
    told = _Told(terminal)
    stage(offer, source, versions, told)
    switch(offer.version, versions, Daemon(_drain, _start), told)
    return Updated(offer.version, offer.version, False, offer.changes)


def _roll_back(versions: Versions | None) -> Updated:
    if versions is None:
        raise UsageError("this installation is kept by what installed it", hint="install the earlier version with that")
    was_running = _drain()
    old = versions.roll_back()
    if was_running:
        _start(versions.root / "current")
    return Updated(old, None, False)


class _Told:
    """Progress for people: each thing once, and every tenth of what is fetched."""

    def __init__(self, terminal: Terminal | None) -> None:
        self._terminal = terminal
        self._last: tuple[str, int] = ("", 0)

    def __call__(self, text: str, done: int, total: int) -> None:
        tenth = done * 10 // total if total else 0
        if self._terminal is None or (text, tenth) == self._last:
            return
        self._last = (text, tenth)
        share = f"  {done / 1e6:.0f} of {total / 1e6:.0f} MB" if total else ""
        self._terminal.line(f"{text}{share}")


def _drain() -> bool:
    """Let the running daemon finish, by the program that runs now; returns whether there was one."""
    if hello_or_none() is None:
        return False
    command = [sys.executable, "-m", "potluck_daemon.cli.main", "drain", "--within", "10m"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise PotluckError(f"the daemon does not end: {done.stderr.strip()}", hint="potluck logs")
    return True


def _start(folder: Path) -> str:
    """Start the daemon of that version as it was started before: by systemd if it looks after it, else by itself."""
    subprocess.run(
        [str(folder / "bin" / "potluck"), "start"], capture_output=True, check=False, timeout=_START_TIMEOUT_S
    )

    def ask() -> str | None:
        try:
            hello = hello_or_none()
        except PotluckError:  # it speaks another version of the control API, and so it runs
            return None
        return hello.version if hello is not None else None

    return wait_for_version(ask, _START_TIMEOUT_S)
