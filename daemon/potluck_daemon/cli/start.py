"""`potluck start`: the daemon in the background."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from potluck_daemon.cli.connect import daemon, hello_or_none, start_daemon
from potluck_daemon.cli.options import add_json, print_json
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.control import schema
from potluck_daemon.units import installed, start_service

DESCRIPTION = """\
Start the daemon in the background, unless it runs already. It serves blocks of the swarm you joined and steps aside
when a game starts. If the service is installed, the service is started."""
EXAMPLES = """\
  potluck start
  potluck start --demo
  potluck status"""


@dataclass(frozen=True, slots=True)
class Started:
    """The daemon that runs now; `swarm`: the one that --demo made."""

    pid: int
    swarm: str | None


RESULT = Started


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--demo",
        action="store_true",
        help="also start a private swarm with the small model that comes with Potluck, and serve it",
    )
    add_json(parser, "the process, and the name of a swarm that was made")


def run(args: argparse.Namespace) -> int:
    words = ensure_started()
    made = daemon().call(schema.CREATE) if args.demo else None
    if args.json:
        print_json(Started(daemon().hello("potluck start").pid, made.name if made is not None else None))
        return 0
    terminal = Terminal(sys.stdout)
    terminal.line(words)
    if made is not None:
        terminal.line(
            f"Started the swarm {made.name}. See: potluck status; invite others: potluck swarm invite {made.name}"
        )
    return 0


def ensure_started() -> str:
    """Start the service if there is one, else a daemon of one's own; returns what was done, for people."""
    hello = hello_or_none()
    if hello is not None:
        return f"The daemon runs already as process {hello.pid}."
    if (unit := installed()) is not None:
        start_service(unit)
        return "Started the service potluckd."
    return f"Started the daemon as process {start_daemon().pid}. See: potluck status"
