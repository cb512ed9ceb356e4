"""`potluck service`: lets systemd, or launchd on a Mac, start the daemon."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from potluck_daemon.host import launch_agents, units

from potluck.errors import UsageError
from potluck_cli.options import answer

DESCRIPTION = """\
Have systemd (launchd on a Mac) start the daemon when you log in, or with --system when the machine starts. The system
service is for machines that nobody plays on: it runs as its own user and sees no games. Installing it again restarts
it. Removing it keeps settings, swarms and identity. `loginctl enable-linger` keeps your own service running after you
log out."""
EXAMPLES = """\
  potluck service install
  potluck service remove
  sudo potluck service install --system"""


@dataclass(frozen=True, slots=True)
class InstalledService:
    """The unit's file, and whether it exists now."""

    unit: str
    is_installed: bool


RESULT = InstalledService


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, act, summary in (
        ("install", _install, "write the unit, enable it, and start or restart it"),
        ("remove", _remove, "stop and disable it, and delete the unit"),
    ):
        action = actions.add_parser(name, help=summary)
        action.add_argument("--system", action="store_true", help="for the whole machine; needs root")
        action.set_defaults(act=act)


def run(args: argparse.Namespace) -> int:
    if args.system and launch_agents.is_mac():
        raise UsageError("Potluck has no system service on a Mac", hint="potluck service install")
    if args.system and os.geteuid() != 0:
        raise UsageError("only root can change the system service", hint="sudo potluck service install --system")
    args.act(is_system=args.system)
    path, is_there = _path(is_system=args.system), args.action == "install"
    done = f"Installed and started {path}." if is_there else f"Stopped and removed {path}."
    line = f"{done} {units.STARTS_WITH_MACHINE}" if is_there and args.system else done
    return answer(args, InstalledService(str(path), is_there), [line])


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
    if launch_agents.is_mac():
        return launch_agents.agent_path(launch_agents.DAEMON)
    return units.unit_path(is_system=is_system)
