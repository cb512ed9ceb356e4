"""`potluck history`: what the daemon did, when and why."""

from __future__ import annotations

import argparse
import sys
import time

from potluck_daemon.cli.connect import daemon
from potluck_daemon.cli.options import add_json, positive, print_json
from potluck_daemon.cli.terminal import Style, Terminal, table
from potluck_daemon.control import schema

DESCRIPTION = """\
Every change of state with its reason, the newest last: when it served, when it stepped aside, and for what."""
EXAMPLES = """\
  potluck history
  potluck history -n 200 --json"""
RESULT = schema.History


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=positive, default=20, metavar="N", dest="limit", help="how many (20)")
    add_json(parser, "the transitions")


def run(args: argparse.Namespace) -> int:
    found = daemon().call(schema.HISTORY, schema.HistoryParams(min(args.limit, 1000))).transitions
    if args.json:
        print_json(schema.History(found))
        return 0
    terminal = Terminal(sys.stdout)
    rows = [(time.strftime("%a %d %b %H:%M:%S", time.localtime(item.at)), item.state, item.text) for item in found]
    heading, *lines = table(("WHEN", "STATE", "WHY"), rows)
    terminal.line(terminal.styled(heading, Style.BOLD))
    for line in lines:
        terminal.line(line)
    return 0
