"""`potluck logs`: prints the daemon's log, also when the daemon is down.

Print the newest lines of the daemon's log, which includes the engine's output. Prompts, tokens and keys are never
logged.

  potluck logs
  potluck logs -n 1000
"""

from __future__ import annotations

import argparse

from potluck_control.api import schema
from potluck_control.logs import log_tail
from potluck_control.places import find_places

from potluck_cli.daemon_access import daemon, hello_or_none
from potluck_cli.options import positive, print_result

RESULT = schema.Logs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=positive, default=100, metavar="N", dest="lines", help="how many (default: 100)")


def run(args: argparse.Namespace) -> int:
    lines = _lines(min(args.lines, 2000))
    return print_result(args, schema.Logs(str(find_places().log_file), lines), lines)


def _lines(count: int) -> tuple[str, ...]:
    if hello_or_none() is None:
        return log_tail(find_places().log_file, count)
    return daemon().call(schema.LOGS, schema.LogsParams(count)).lines
