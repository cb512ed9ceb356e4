"""`potluck earnings`: what this machine did for others, and what others did for its donor."""

from __future__ import annotations

import argparse
import sys
import time

from potluck_control.methods import earnings
from potluck_control.methods.earnings import MICROCREDITS, Earned, Earnings, EarningsGroups, EarningsSeries
from potluck_control.methods.periods import Period, SeriesParams

from potluck_cli.connect import daemon
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Style, Terminal, table

DESCRIPTION = """\
Credits that clients signed for, and what your own requests cost. A credit is 10^12 parameter-tokens: a token through a
block of 200 million parameters is 0.0002 credits, a backward pass twice that. Credit buys an earlier place in the
queues of those you served, and of those they trust. It is not money and cannot be bought or sold."""
EXAMPLES = """\
  potluck earnings
  potluck earnings --week
  potluck earnings --by model
  potluck earnings --month --by peer --json"""
RESULT = (Earnings, EarningsSeries, EarningsGroups)

_DAYS = {"day": 1, "week": 7, "month": 30}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    periods = parser.add_mutually_exclusive_group()
    periods.add_argument("--day", dest="period", action="store_const", const="day", help="today, hour by hour")
    periods.add_argument("--week", dest="period", action="store_const", const="week", help="seven days, day by day")
    periods.add_argument("--month", dest="period", action="store_const", const="month", help="thirty days, day by day")
    parser.add_argument("--by", choices=("model", "peer"), help="sums of each model or peer instead of a history")
    add_json(parser, "the sums, in microcredits,")


def run(args: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    found: Earnings | EarningsSeries | EarningsGroups
    if args.by:
        method = earnings.BY_MODEL if args.by == "model" else earnings.BY_PEER
        found = daemon().call(method, earnings.GroupParams(days=_DAYS.get(args.period, 0)))
        rows = [_row(group.name, group.sums) for group in found.groups]
    elif args.period:
        hours = time.localtime().tm_hour + 1
        wanted = SeriesParams(Period.HOUR, hours) if args.period == "day" else SeriesParams(count=_DAYS[args.period])
        found = daemon().call(earnings.SERIES, wanted)
        shown = "%H:%M" if args.period == "day" else "%a %d %b"
        rows = [_row(time.strftime(shown, time.localtime(item.start)), item) for item in found.periods]
    else:
        found = daemon().call(earnings.SUMMARY)
        named = {"today": found.today, "7 days": found.week, "30 days": found.month, "ever": found.total}
        rows = [_row(name, sums) for name, sums in named.items()]
    if args.json:
        print_json(found)
        return 0
    heading, *lines = table(((args.by or "when").upper(), "EARNED", "SPENT", "TOKENS", "PEOPLE"), rows)
    terminal.line(terminal.styled(heading, Style.BOLD))
    for line in lines:
        terminal.line(line)
    if isinstance(found, Earnings):
        terminal.line(f"Balance: {credits(found.balance)} credits")
    return 0


def credits(microcredits: int) -> str:
    """As people read them: whole microcredits are shown exactly."""
    return f"{microcredits / MICROCREDITS:.6f}".rstrip("0").rstrip(".")


def _row(name: str, sums: Earned) -> tuple[str, ...]:
    return (name, credits(sums.earned), credits(sums.spent), str(sums.tokens), str(sums.people))
