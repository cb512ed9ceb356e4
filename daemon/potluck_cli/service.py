"""`potluck service`: lets systemd, or launchd on a Mac, start the daemon.

Have systemd (launchd on a Mac) start the daemon when you log in, or with --system when the machine starts. The system
service is for machines that nobody plays on: it runs as its own user and sees no games. Your own service takes the
place of a daemon that runs already. Installing a service again restarts it. Removing it keeps settings, swarms and
identity. `loginctl enable-linger` keeps your own service running after you log out.

  potluck service install
  potluck service remove
  sudo potluck service install --system
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass

from potluck_daemon.host import launch_agents, units

from potluck.errors import UsageError
from potluck_cli.options import answer
from potluck_cli.parser import Action, argument
from potluck_cli.stop import end_daemon


@dataclass(frozen=True, slots=True)
class InstalledService:
    """The unit's file, and whether it exists now."""

    unit: str
    is_installed: bool


def _change(args: argparse.Namespace) -> int:
    if args.system and launch_agents.is_mac():
        raise UsageError("Potluck has no system service on a Mac", hint="potluck service install")
    if args.system and os.geteuid() != 0:
        raise UsageError("only root can change the system service", hint="sudo potluck service install --system")
    installs = args.action == "install"
    if installs and not args.system:
        end_daemon()  # two cannot run
    if launch_agents.is_mac():
        if installs:
            launch_agents.install(launch_agents.DAEMON, units.program("potluckd"))
        else:
            launch_agents.remove(launch_agents.DAEMON)
        path = launch_agents.agent_path(launch_agents.DAEMON)
    else:
        (units.install if installs else units.remove)(is_system=args.system)
        path = units.unit_path(is_system=args.system)
    line = f"Installed and started {path}." if installs else f"Stopped and removed {path}."
    if installs and args.system:
        line += f" {units.STARTS_WITH_MACHINE}"
    return answer(args, InstalledService(str(path), installs), [line])


_SYSTEM = argument("--system", action="store_true", help="for the whole machine; needs root")
ACTIONS = {
    "install": Action(_change, InstalledService, _SYSTEM, help="write the unit, enable it, and start or restart it"),
    "remove": Action(_change, InstalledService, _SYSTEM, help="stop and disable it, and delete the unit"),
}
