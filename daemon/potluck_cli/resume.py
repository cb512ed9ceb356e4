"""`potluck resume`: end a pause."""

from __future__ import annotations

import argparse
import sys

from potluck_control import schema

from potluck_cli.connect import daemon
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

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
