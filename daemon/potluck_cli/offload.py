"""`potluck offload`: frees the device's memory now."""

from __future__ import annotations

import argparse

from potluck_control import schema

from potluck.errors import UsageError
from potluck_cli.connect import daemon
from potluck_cli.durations import parse_duration
from potluck_cli.options import answer
from potluck_cli.pause import paused_line

DESCRIPTION = """\
Free the device's memory within a fraction of a second, for something that needs it now, and serve again later. Like
`potluck pause`, but the memory comes first."""
EXAMPLES = """\
  potluck offload                       for a quarter of an hour
  potluck offload 2h"""
RESULT = schema.Status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("time", metavar="TIME", nargs="?", default="15m", help="how long (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    try:
        params = schema.OffloadParams(parse_duration(args.time))
    except ValueError as error:
        raise UsageError(str(error), hint="potluck pause forever lasts until potluck resume") from None
    status = daemon().call(schema.OFFLOAD, params)
    return answer(args, status, [paused_line(status)])
