"""`potluck contribution`: reports what this machine gave, and what that cost."""

from __future__ import annotations

import argparse
import time

from potluck_control.formatting import duration, size
from potluck_control.methods import contribution
from potluck_control.methods.contribution import Contribution, ContributionNow, ContributionSeries
from potluck_control.methods.periods import MAX_PERIODS, Period, SeriesParams

from potluck_cli.connect import daemon
from potluck_cli.options import answer, positive
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Report time served, tokens, people helped, traffic and energy, today and in total, or by hour, day, week or month.
Energy is measured if this machine can do that, else estimated. Its cost uses your own price (limits.price_kwh). For
credits, see `potluck earnings`."""
EXAMPLES = """\
  potluck contribution
  potluck contribution --by day -n 7
  potluck contribution --by month --json"""
RESULT = (ContributionNow, ContributionSeries)

_FORMATS = {Period.HOUR: "%a %H:%M", Period.DAY: "%a %d %b", Period.WEEK: "week of %d %b", Period.MONTH: "%B %Y"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by", choices=tuple(map(str, Period)), help="one line for each of the last N")
    parser.add_argument("-n", type=positive, default=14, metavar="N", dest="count", help="how many (default: 14)")


def run(args: argparse.Namespace) -> int:
    if args.by is not None:
        period = Period(args.by)
        series = daemon().call(contribution.SERIES, SeriesParams(period, min(args.count, MAX_PERIODS)))
        named = {time.strftime(_FORMATS[period], time.localtime(item.start)): item for item in series.periods}
        return answer(args, series, _table(named))
    now = daemon().call(contribution.NOW)
    return answer(args, now, _page(now))


def _page(now: ContributionNow) -> list[str]:
    lines = _table({"today": now.today, "ever": now.total})
    lines.append(f"{_days(now.streak_days)} in a row, longest {_days(now.longest_streak_days)}")
    if now.swarm_share is not None:
        lines.append(f"This machine does {100 * now.swarm_share:.0f} % of the model's work")
    used = " and ".join(source.name for source in now.sources if source.is_used)
    lines.append(f"{now.watts:g} W now, according to {used}")
    for source in now.sources:
        if source.problem and source.kind in ("nvml", "rapl") and not source.is_used:
            lines.append(Terminal().faint(f"  {source.name}: {source.problem}"))
    return lines


def _table(named: dict[str, Contribution]) -> list[str]:
    rows = [(name, *_cells(item)) for name, item in named.items()]
    return Terminal().table(("WHEN", "SERVED", "TOKENS", "PEOPLE", "SENT", "RECEIVED", "ENERGY", "COST"), rows)


def _cells(item: Contribution) -> tuple[str, ...]:
    people = "-" if item.people is None else str(item.people)
    cost = "-" if item.cost is None else f"{item.cost:.2f}"
    traffic = (size(item.sent_bytes), size(item.received_bytes))
    return (duration(item.served_s), str(item.tokens), people, *traffic, f"{item.energy_wh / 1000:.3f} kWh", cost)


def _days(number: int) -> str:
    return f"{number} day{'' if number == 1 else 's'}"
