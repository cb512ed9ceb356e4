"""`potluck start`: the daemon in the background."""

from __future__ import annotations

import argparse
import sys

from potluck_daemon.cli.connect import daemon, hello_or_none, start_daemon
from potluck_daemon.cli.service import is_installed, start_service
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.control import schema

DESCRIPTION = """\
Start the daemon in the background, unless it runs already. It serves blocks of the swarm you joined and steps aside
when a game starts. If the service is installed, the service is started."""
EXAMPLES = """\
  potluck start
  potluck start --demo
  potluck status"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--demo",
        action="store_true",
        help="also start a private swarm with the small model that comes with Potluck, and serve it",
    )


def run(args: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    _start(terminal)
    if args.demo:
        made = daemon().call(schema.CREATE)
        terminal.line(
            f"Started the swarm {made.name}. See: potluck status; invite others: potluck swarm invite {made.name}"
        )
    return 0


def _start(terminal: Terminal) -> None:
    hello = hello_or_none()
    if hello is not None:
        terminal.line(f"The daemon runs already as process {hello.pid}.")
        return
    if is_installed():
        start_service()
        terminal.line("Started the service potluckd.")
        return
    terminal.line(f"Started the daemon as process {start_daemon().pid}. See: potluck status")
