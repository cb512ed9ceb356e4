"""`potluck offload`: give the device's memory back now."""

from __future__ import annotations

import argparse
import sys
import time

from potluck_control import schema

from potluck.errors import UsageError
from potluck_cli.connect import daemon
from potluck_cli.durations import clock, parse_duration
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Free the memory of the device in a fraction of a second, for something that needs it now, and serve again after a while.
As `potluck pause`, in another order: the memory first, everything else after that."""
EXAMPLES = """\
  potluck offload                       for a quarter of an hour
  potluck offload 2h"""
RESULT = schema.Status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("time", metavar="TIME", nargs="?", default="15m", help="how long (default: %(default)s)")
    add_json(parser, "the status")


def run(args: argparse.Namespace) -> int:
    try:
        params = schema.OffloadParams(parse_duration(args.time))
    except ValueError as error:
        raise UsageError(str(error), hint="potluck pause forever lasts until potluck resume") from None
    status = daemon().call(schema.OFFLOAD, params)
    if args.json:
        print_json(status)
        return 0
    until = f" until {clock(status.until, time.time())}" if status.until else ""
    Terminal(sys.stdout).line(f"{status.text}{until}. Sooner: potluck resume")
    return 0
