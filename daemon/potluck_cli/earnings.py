"""`potluck earnings`: reports the credits this machine earned and your requests spent."""

from __future__ import annotations

import argparse
import time

from potluck_control.methods import earnings
from potluck_control.methods.earnings import MICROCREDITS, Earned, Earnings, EarningsGroups, EarningsSeries
from potluck_control.methods.periods import Period, SeriesParams

from potluck_cli.connect import daemon
from potluck_cli.options import answer
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Report the credits that clients signed for, and what your own requests cost. One credit is 10^12 parameter-tokens: a
token through a block of 200 million parameters is 0.0002 credits, a backward pass twice that. Credits move your
requests up the queue of those you served, and of those they trust. They are not money and cannot be bought or sold."""
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
    parser.add_argument("--by", choices=("model", "peer"), help="sums per model or peer instead of a history")


def run(args: argparse.Namespace) -> int:
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
    lines = Terminal().table(((args.by or "when").upper(), "EARNED", "SPENT", "TOKENS", "PEOPLE"), rows)
    if isinstance(found, Earnings):
        lines.append(f"Balance: {credits(found.balance)} credits")
    return answer(args, found, lines)


def credits(microcredits: int) -> str:
    """Return credits as text, exact to the microcredit."""
    return f"{microcredits / MICROCREDITS:.6f}".rstrip("0").rstrip(".")


def _row(name: str, sums: Earned) -> tuple[str, ...]:
    return (name, credits(sums.earned), credits(sums.spent), str(sums.tokens), str(sums.people))
