"""`potluck resume`: end a pause."""

from __future__ import annotations

import argparse
import sys

from potluck_daemon.cli.connect import daemon
from potluck_daemon.cli.options import add_json, print_json
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.control import schema

DESCRIPTION = """\
End a pause or a drain now. A game that runs is still given way to; a wait after a game or after a failure is cut
short."""
EXAMPLES = """\
  potluck resume"""
RESULT = schema.Status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser, "the status")


def run(args: argparse.Namespace) -> int:
    status = daemon().call(schema.RESUME)
    if args.json:
        print_json(status)
    else:
        Terminal(sys.stdout).line(f"{status.text}.")
    return 0
