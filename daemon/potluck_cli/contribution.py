"""`potluck contribution`: what this machine gave, and what that took."""

from __future__ import annotations

import argparse
import sys
import time

from potluck_control.formatting import duration, size
from potluck_control.methods import contribution
from potluck_control.methods.contribution import Contribution, ContributionNow, ContributionSeries
from potluck_control.methods.periods import MAX_PERIODS, Period, SeriesParams

from potluck_cli.connect import daemon
from potluck_cli.options import add_json, positive, print_json
from potluck_cli.terminal import Style, Terminal, table

DESCRIPTION = """\
Time served, tokens, people helped, traffic and energy, today and since the beginning, or by hour, day, week or month.
Energy is measured where this machine tells it, and an estimate otherwise; its cost is at your own price
(limits.price_kwh). Credits are in `potluck earnings`."""
EXAMPLES = """\
  potluck contribution
  potluck contribution --by day -n 7
  potluck contribution --by month --json"""
RESULT = (ContributionNow, ContributionSeries)

_FORMATS = {Period.HOUR: "%a %H:%M", Period.DAY: "%a %d %b", Period.WEEK: "week of %d %b", Period.MONTH: "%B %Y"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by", choices=tuple(map(str, Period)), help="one line for each of the last so many")
    parser.add_argument("-n", type=positive, default=14, metavar="N", dest="count", help="how many (default: 14)")
    add_json(parser, "the sums")


def run(args: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    if args.by is not None:
        period = Period(args.by)
        series = daemon().call(contribution.SERIES, SeriesParams(period, min(args.count, MAX_PERIODS)))
        if args.json:
            print_json(series)
            return 0
        named = {time.strftime(_FORMATS[period], time.localtime(item.start)): item for item in series.periods}
        _table(named, terminal)
        return 0
    now = daemon().call(contribution.NOW)
    if args.json:
        print_json(now)
        return 0
    _table({"today": now.today, "ever": now.total}, terminal)
    terminal.line(f"{_days(now.streak_days)} in a row, {now.longest_streak_days} at most")
    if now.swarm_share is not None:
        terminal.line(f"{100 * now.swarm_share:.0f} % of the model's work falls on this machine")
    used = " and ".join(source.name for source in now.sources if source.is_used)
    terminal.line(f"{now.watts:g} W now, by: {used}")
    for source in now.sources:
        if source.problem and source.kind in ("nvml", "rapl") and not source.is_used:
            terminal.line(terminal.styled(f"  {source.name}: {source.problem}", Style.FAINT))
    return 0


def _table(named: dict[str, Contribution], terminal: Terminal) -> None:
    rows = [(name, *_cells(item)) for name, item in named.items()]
    heading, *lines = table(("WHEN", "SERVED", "TOKENS", "PEOPLE", "SENT", "RECEIVED", "ENERGY", "COST"), rows)
    terminal.line(terminal.styled(heading, Style.BOLD))
    for line in lines:
        terminal.line(line)


def _cells(item: Contribution) -> tuple[str, ...]:
    people = "-" if item.people is None else str(item.people)
    cost = "-" if item.cost is None else f"{item.cost:.2f}"
    traffic = (size(item.sent_bytes), size(item.received_bytes))
    return (duration(item.served_s), str(item.tokens), people, *traffic, f"{item.energy_wh / 1000:.3f} kWh", cost)


def _days(number: int) -> str:
    return f"{number} day{'' if number == 1 else 's'}"
