"""`potluck earnings`: reports what this machine gave, what that cost, and the points for it."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

from potluck_control.methods import contribution, earnings
from potluck_control.methods.contribution import Contribution, ContributionNow, ContributionSeries
from potluck_control.methods.earnings import Earned, Earnings, EarningsGroups, EarningsSeries
from potluck_control.methods.periods import MAX_PERIODS, Period, SeriesParams

from potluck.formatting import duration, size
from potluck_cli.connect import daemon
from potluck_cli.options import answer, positive
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Report points, tokens, people helped, time served, traffic and energy, today and in total, or for the last periods.
Clients sign for points: one is a million parameter-tokens, so a token through a block of 200 million parameters is 200
points, a backward pass twice that. Points move your requests up the queue of those you served.
They are not money and cannot be bought or sold. Energy is measured if this machine can do that, else estimated; its
cost uses your own price (limits.price_kwh)."""
EXAMPLES = """\
  potluck earnings
  potluck earnings --by day -n 7
  potluck earnings --by month --json
  potluck earnings --by person"""


@dataclass(frozen=True, slots=True)
class EarningsNow:
    points: Earnings
    contribution: ContributionNow


@dataclass(frozen=True, slots=True)
class EarningsHistory:
    """Holds two reports with the same periods."""

    points: EarningsSeries
    contribution: ContributionSeries


RESULT = (EarningsNow, EarningsHistory, EarningsGroups)

_GROUPS = {"model": earnings.BY_MODEL, "person": earnings.BY_PERSON}
_FORMATS = {Period.HOUR: "%a %H:%M", Period.DAY: "%a %d %b", Period.WEEK: "week of %d %b", Period.MONTH: "%B %Y"}
_COLUMNS = ("WHEN", "EARNED", "RECEIVED", "TOKENS", "PEOPLE", "SERVED", "UPLOAD", "DOWNLOAD", "ENERGY", "COST")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by",
        choices=(*map(str, Period), *_GROUPS),
        help="one line for each of the last N, or for each model or person",
    )
    parser.add_argument("-n", type=positive, default=14, metavar="N", dest="count", help="how many (default: 14)")


def run(args: argparse.Namespace) -> int:
    client = daemon()
    if args.by in _GROUPS:
        groups = client.call(_GROUPS[args.by], earnings.GroupParams(0, min(args.count, MAX_PERIODS)))
        rows = [(group.name, *_points(group.sums), str(group.sums.tokens)) for group in groups.groups]
        return answer(args, groups, Terminal().table((args.by.upper(), "EARNED", "RECEIVED", "TOKENS"), rows))
    if args.by is not None:
        wanted = SeriesParams(Period(args.by), min(args.count, MAX_PERIODS))
        both = EarningsHistory(client.call(earnings.SERIES, wanted), client.call(contribution.SERIES, wanted))
        names = [time.strftime(_FORMATS[wanted.period], time.localtime(sums.start)) for sums in both.points.periods]
        return answer(args, both, _table(names, both.points.periods, both.contribution.periods))
    now = EarningsNow(client.call(earnings.SUMMARY), client.call(contribution.NOW))
    return answer(args, now, _page(now.points, now.contribution))


def _page(earned: Earnings, gave: ContributionNow) -> list[str]:
    lines = _table(["today", "ever"], (earned.today, earned.total), (gave.today, gave.total))
    lines.append(f"{_days(gave.streak_days)} in a row, longest {_days(gave.longest_streak_days)}")
    if gave.swarm_share is not None:
        lines.append(f"This machine does {100 * gave.swarm_share:.0f} % of the model's work")
    used = " and ".join(str(source.name) for source in gave.sources if source.is_used)
    lines.append(f"{gave.watts:g} W now, according to {used}")
    for source in gave.sources:
        if source.problem and source.kind in ("nvml", "rapl") and not source.is_used:
            lines.append(Terminal().faint(f"  {source.name}: {source.problem}"))
    return lines


def _table(names: list[str], earned: tuple[Earned, ...], gave: tuple[Contribution, ...]) -> list[str]:
    rows = [(name, *_points(sums), *_cells(item)) for name, sums, item in zip(names, earned, gave, strict=True)]
    return Terminal().table(_COLUMNS, rows)


def _points(sums: Earned) -> tuple[str, str]:
    return f"{sums.earned:,}", f"{sums.received:,}"


def _cells(item: Contribution) -> tuple[str, ...]:
    people = "-" if item.people is None else str(item.people)
    cost = "-" if item.cost is None else f"{item.cost:.2f}"
    traffic = (size(item.sent_bytes), size(item.received_bytes))
    return (str(item.tokens), people, duration(item.served_s), *traffic, f"{item.energy_wh / 1000:.3f} kWh", cost)


def _days(number: int) -> str:
    return f"{number} day{'' if number == 1 else 's'}"
