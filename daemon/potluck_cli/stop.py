"""`potluck stop`: end the daemon and its engine."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from potluck_control import schema

from potluck_cli.connect import daemon, hello_or_none, wait_until_ended
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
End the daemon: it leaves the swarm, lets running steps end, and takes the engine with it. Open sessions go on
elsewhere; to let them end here first, use `potluck drain`. To stop serving for a while only, use `potluck pause`."""
EXAMPLES = """\
  potluck stop"""


@dataclass(frozen=True, slots=True)
class Stopped:
    """After the daemon has ended."""

    was_running: bool


RESULT = Stopped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser, "what was done")


def run(args: argparse.Namespace) -> int:
    is_running = hello_or_none() is not None
    if is_running:
        daemon().call(schema.SHUTDOWN)
        wait_until_ended()
    if args.json:
        print_json(Stopped(is_running))
    else:
        Terminal(sys.stdout).line("The daemon has ended." if is_running else "The daemon is not running.")
    return 0
