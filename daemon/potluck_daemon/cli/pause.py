"""`potluck pause`: stop serving for a while."""

from __future__ import annotations

import argparse
import sys
import time

from potluck_daemon.cli.connect import daemon
from potluck_daemon.cli.durations import clock, parse_duration
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.control import schema

DESCRIPTION = """\
Give memory and device back now and serve again later, by itself. Conversations of others go on elsewhere."""
EXAMPLES = """\
  potluck pause            for an hour
  potluck pause 2h30m
  potluck pause forever    until `potluck resume`"""

FOREVER = "forever"
_DEFAULT = "1h"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "time", metavar="TIME", nargs="?", type=_time, default=_time(_DEFAULT), help=f"30m, 1h, 2d or {FOREVER} (1h)"
    )


def run(args: argparse.Namespace) -> int:
    status = daemon().call(schema.PAUSE, schema.PauseParams(args.time[0]))
    until = f"until {clock(status.until, time.time())}" if status.until else "until `potluck resume`"
    Terminal(sys.stdout).line(f"Paused {until}.")
    return 0


def _time(text: str) -> tuple[float | None]:
    """In a tuple, because argparse treats None as "not given"."""
    if text == FOREVER:
        return (None,)
    try:
        return (schema.PauseParams(parse_duration(text)).seconds,)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
