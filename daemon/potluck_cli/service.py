"""`potluck service`: let systemd, or launchd on a Mac, start the daemon."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from potluck_daemon.host import launch_agents, units

from potluck.errors import UsageError
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Have systemd start the daemon: when you log in, or, with --system, when the machine starts, for a machine that nobody
plays on. The system service runs as a user of its own and sees no games. To install again after an update restarts it.
Settings, swarms and identity stay when it is removed. `loginctl enable-linger` keeps your own one after you log out. On
a Mac launchd does it, when you log in."""
EXAMPLES = """\
  potluck service install
  potluck service remove
  sudo potluck service install --system"""


@dataclass(frozen=True, slots=True)
class Service:
    """The unit, and whether it is there now."""

    unit: str
    is_installed: bool


RESULT = Service


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, act, summary in (
        ("install", _install, "write the unit, enable and start it, or start it anew"),
        ("remove", _remove, "stop and disable it, delete the unit"),
    ):
        action = actions.add_parser(name, help=summary)
        action.add_argument("--system", action="store_true", help="for the whole machine; needs root")
        add_json(action, "the unit's file")
        action.set_defaults(act=act)


def run(args: argparse.Namespace) -> int:
    if args.system and launch_agents.is_mac():
        raise UsageError("a Mac has no system service of Potluck", hint="potluck service install")
    if args.system and os.geteuid() != 0:
        raise UsageError("a system service is installed by root", hint="sudo potluck service install --system")
    args.act(is_system=args.system)
    path, is_there = _path(is_system=args.system), args.action == "install"
    if args.json:
        print_json(Service(str(path), is_there))
    else:
        done = f"Installed and started {path}." if is_there else f"Stopped and removed {path}."
        words = f"{done} {units.STARTS_WITH_MACHINE}" if is_there and args.system else done
        Terminal(sys.stdout).line(words)
    return 0


def _install(*, is_system: bool) -> None:
    if launch_agents.is_mac():
        launch_agents.install(launch_agents.DAEMON, units.program("potluckd"))
    else:
        units.install(is_system=is_system)


def _remove(*, is_system: bool) -> None:
    if launch_agents.is_mac():
        launch_agents.remove(launch_agents.DAEMON)
    else:
        units.remove(is_system=is_system)


def _path(*, is_system: bool) -> Path:
    """Of the file that says so to the service manager."""
    if launch_agents.is_mac():
        return launch_agents.agent_path(launch_agents.DAEMON)
    return units.unit_path(is_system=is_system)
