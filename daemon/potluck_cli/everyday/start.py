"""`potluck start`: starts the daemon in the background.

Start the daemon in the background, unless it is already running. It serves layers of the swarm you joined and steps
aside when a game starts. If the service is installed, this starts the service, and as root also enables it.

  potluck start
  potluck start --demo
  potluck status
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from potluck_control.api import schema
from potluck_control.methods import swarms
from potluck_control.resources import DEMO_MODEL
from potluck_daemon.host.systemd import STARTS_WITH_MACHINE, enable_system_service, start_service
from potluck_daemon.updates.versions import MAX_STARTS, TRIAL_S, own_versions

from potluck.errors import PotluckError
from potluck_cli.daemon_access import START_TIMEOUT_S, DaemonUnreachableError, daemon, hello_or_none, start_daemon
from potluck_cli.options import print_result
from potluck_cli.swarm_choice import add_move, add_names, move_or_stay, own_names


@dataclass(frozen=True, slots=True)
class Started:
    """The daemon is running; `swarm`: the one of --demo."""

    pid: int
    swarm: str | None


RESULT = Started


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--demo",
        action="store_true",
        help="also serve a private swarm of the small model that comes with Potluck",
    )
    add_names(parser)
    add_move(parser)


def run(args: argparse.Namespace) -> int:
    lines = [ensure_started()]
    if enable_system_service():
        lines[0] += f" {STARTS_WITH_MACHINE}"
    name = None
    if args.demo:
        name = _demo_swarm(args)
        see = f"It serves the swarm {name}. See: potluck status; invite others: potluck swarm invite {name}"
        lines += move_or_stay(args, name) or [see]
    pid = daemon().hello("potluck start").pid if args.json else 0
    return print_result(args, Started(pid, name), lines)


def _demo_swarm(args: argparse.Namespace) -> str:
    """Find or create the demo swarm, so that the command may be repeated; returns its name."""
    known = [swarm for swarm in daemon().call(swarms.LIST).swarms if swarm.model == DEMO_MODEL and not swarm.is_open]
    if known:
        return known[-1].name
    names = own_names(args)
    return daemon().call(schema.CREATE, schema.CreateParams(person=names.person, computer=names.computer)).name


def ensure_started() -> str:
    """Start the service if it is installed, else a daemon; returns a line for people.

    A version that is new gets as many tries as lead back to the one before. Raises PotluckError.
    """
    versions, left = own_versions(), MAX_STARTS
    while True:
        is_on_trial = versions is not None and versions.is_on_trial()
        try:
            return _start(TRIAL_S / 2 if is_on_trial else START_TIMEOUT_S)
        except PotluckError:
            if left == 0 or not is_on_trial:
                raise
            left -= 1


def _start(within_s: float) -> str:
    silent = 0
    try:
        pid = hello.pid if (hello := hello_or_none(or_silent=False)) is not None else 0
    except DaemonUnreachableError as error:
        if not error.pid:
            raise
        pid, silent = 0, error.pid  # it starts or ends, or makes its socket again
    if not pid and not silent and start_service():
        return "Started the service potluckd."
    started = pid or start_daemon(within_s).pid
    if started in (pid, silent):
        return f"The daemon is already running as process {started}."
    return f"Started the daemon as process {started}. See: potluck status"
