"""`potluck earnings`: reports what this machine gave, what that cost, and the points for it.

Report points, tokens, people helped, time served, traffic and energy, today and in total, or for the last periods.
Clients sign for points: one is a million parameter-tokens, so a token through a layer of 200 million parameters is 200
points, a backward pass twice that. Points move your requests up the queue of those you served.
They are not money and cannot be bought or sold. Energy is measured if this machine can do that, else estimated; its
cost uses your own price (limits.price_kwh).

  potluck earnings
  potluck earnings --by day -n 7
  potluck earnings --by month --json
  potluck earnings --by person
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from dataclasses import dataclass

from potluck_control.client import ControlClient
from potluck_control.methods import contribution, earnings, members
from potluck_control.methods.contribution import Contribution, ContributionNow, ContributionSeries
from potluck_control.methods.earnings import Earned, Earnings, EarningsGroups, EarningsSeries
from potluck_control.methods.periods import MAX_PERIODS, Period, SeriesParams

from potluck.errors import PotluckError
from potluck.formatting import count, duration, size
from potluck_cli.connect import daemon
from potluck_cli.options import answer, positive
from potluck_cli.terminal import Terminal


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

_ID_LETTERS = 8  # of a key that are shown
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
        people = _people(client) if args.by == "person" else None
        named = [(group.name if people is None else _named(group.name, people), group) for group in groups.groups]
        rows = [(name, *_points(group.sums), str(group.sums.tokens)) for name, group in named]
        return answer(args, groups, Terminal().table((args.by.upper(), "EARNED", "RECEIVED", "TOKENS"), rows))
    if args.by is not None:
        wanted = SeriesParams(Period(args.by), min(args.count, MAX_PERIODS))
        both = EarningsHistory(client.call(earnings.SERIES, wanted), client.call(contribution.SERIES, wanted))
        names = [time.strftime(_FORMATS[wanted.period], time.localtime(sums.start)) for sums in both.points.periods]
        return answer(args, both, _table(names, both.points.periods, both.contribution.periods))
    now = EarningsNow(client.call(earnings.SUMMARY), client.call(contribution.NOW))
    return answer(args, now, _page(now.points, now.contribution))


def _people(client: ControlClient) -> tuple[members.Member, ...]:
    try:
        return client.call(members.LIST, members.SwarmParams()).members
    except PotluckError:  # no swarm, or one without members
        return ()


def _named(key: str, people: Iterable[members.Member]) -> str:
    """Return the person's name in the list of members, or the start of the key, as other lists show it."""
    return next((person.name for person in people if key.startswith(person.id)), key[:_ID_LETTERS])


def _page(earned: Earnings, gave: ContributionNow) -> list[str]:
    lines = _table(["today", "ever"], (earned.today, earned.total), (gave.today, gave.total))
    lines.append(f"{count(gave.streak_days, 'day')} in a row, longest {count(gave.longest_streak_days, 'day')}")
    if gave.swarm_share is not None:
        lines.append(f"This machine does {100 * gave.swarm_share:.0f} % of the model's work")
    used = " and ".join(str(source.name) for source in gave.sources if source.is_used)
    if gave.watts:
        lines.append(f"{gave.watts:.0f} W now, according to {used}")
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
