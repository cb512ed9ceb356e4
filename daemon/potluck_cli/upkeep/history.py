"""`potluck history`: lists what the daemon did, when and why.

List every change of state with its reason, newest last: when Potluck served, when it stepped aside, and for what.

  potluck history
  potluck history --since 12h --state yielded
  potluck history --words blender
  potluck history -n 200 --json
"""

from __future__ import annotations

import argparse
import time

from potluck_control.api import schema
from potluck_control.states import State

from potluck_cli.daemon_access import daemon
from potluck_cli.options import parse_duration, positive, print_result
from potluck_cli.terminal import Terminal

RESULT = schema.HistoryPage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=positive, default=20, metavar="N", dest="limit", help="how many (default: 20)")
    parser.add_argument("--since", metavar="TIME", type=parse_duration, help="only the last 30m, 12h, 2d, ...")
    parser.add_argument(
        "--state",
        action="append",
        choices=[str(state) for state in State if state is not State.UNKNOWN],
        default=[],
        help="only changes to this state; repeatable",
    )
    parser.add_argument("--words", default="", help="only lines that contain all of these words")


def run(args: argparse.Namespace) -> int:
    wanted = schema.HistoryParams(
        limit=min(args.limit, 1000),
        since=time.time() - args.since if args.since is not None else None,
        states=tuple(map(State, args.state)),
        words=args.words[:200],
    )
    found = daemon().call(schema.HISTORY, wanted).transitions
    rows = [(time.strftime("%a %d %b %H:%M:%S", time.localtime(item.at)), item.state, str(item.text)) for item in found]
    return print_result(args, schema.HistoryPage(found), Terminal().table(("WHEN", "STATE", "WHY"), rows))
