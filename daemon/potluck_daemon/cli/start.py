"""`potluck start`: the daemon in the background."""

from __future__ import annotations

import argparse
import sys

from potluck_daemon.cli.connect import hello_or_none, start_daemon
from potluck_daemon.cli.service import is_installed, start_service
from potluck_daemon.cli.terminal import Terminal

DESCRIPTION = """\
Start the daemon in the background, unless it runs already. It serves blocks of the swarm you joined and steps aside
when a game starts. If the service is installed, the service is started."""
EXAMPLES = """\
  potluck start
  potluck status"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    hello = hello_or_none()
    if hello is not None:
        terminal.line(f"The daemon runs already as process {hello.pid}.")
        return 0
    if is_installed():
        start_service()
        terminal.line("Started the service potluckd.")
        return 0
    terminal.line(f"Started the daemon as process {start_daemon().pid}. See: potluck status")
    return 0
