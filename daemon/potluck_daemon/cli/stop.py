"""`potluck stop`: end the daemon and its engine."""

from __future__ import annotations

import argparse
import sys
import time

from potluck.errors import PotluckError
from potluck_daemon.cli.connect import daemon, hello_or_none
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.control import schema

DESCRIPTION = """\
End the daemon: it leaves the swarm, lets running steps end, and takes the engine with it. To stop serving for a while
only, use `potluck pause`."""
EXAMPLES = """\
  potluck stop"""

TIMEOUT_S = 30.0
_POLL_S = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    if hello_or_none() is None:
        terminal.line("The daemon is not running.")
        return 0
    daemon().call(schema.SHUTDOWN)
    deadline = time.monotonic() + TIMEOUT_S
    while hello_or_none() is not None:
        if time.monotonic() > deadline:
            raise PotluckError("the daemon does not stop", hint="potluck logs")
        time.sleep(_POLL_S)
    terminal.line("The daemon has ended.")
    return 0
