"""Reports what this machine gave, what that cost, and the points for it: `potluck earnings`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable

from potluck_control.api.client import ControlClient
from potluck_control.methods import earnings, members
from potluck_control.methods.earnings import (
    MAX_PERIODS,
    Earned,
    Earnings,
    EarningsGroups,
    EarningsSeries,
    Period,
    SeriesParams,
    Sums,
)

from potluck.errors import PotluckError
from potluck.formatting import duration, size
from potluck_cli.daemon_access import daemon
from potluck_cli.options import positive, print_result
from potluck_cli.parser import Subcommand, argument
from potluck_cli.terminal import Terminal

_ID_LETTERS = 8  # shown letters of a key
_GROUPS = {"model": earnings.BY_MODEL, "person": earnings.BY_PERSON}
_FORMATS = {Period.HOUR: "%a %H:%M", Period.DAY: "%a %d %b", Period.WEEK: "week of %d %b", Period.MONTH: "%B %Y"}
_COLUMNS = ("WHEN", "EARNED", "RECEIVED", "TOKENS", "PEOPLE", "SERVED", "UPLOAD", "DOWNLOAD", "ENERGY", "COST")


def report_earnings(args: argparse.Namespace) -> int:
    """Report what this machine gave, what that cost, and the points for it.

    Report points, tokens, people helped, time served, traffic and energy, today and in total, or for the last
    periods. Clients sign for points: one is a million parameter-tokens, so a token through a layer of 200 million
    parameters is 200 points, a backward pass twice that. Points move your requests up the queue of those you
    served. They are not money and cannot be bought or sold. Energy is measured if this machine can do that, else
    estimated; its cost uses your own price (limits.price_kwh).

      potluck earnings
      potluck earnings --by day -n 7
      potluck earnings --by month --json
      potluck earnings --by person
    """
    client = daemon()
    if args.by in _GROUPS:
        groups = client.call(_GROUPS[args.by], earnings.GroupParams(0, min(args.count, MAX_PERIODS)))
        people = _people(client) if args.by == "person" else None
        named = [(group.name if people is None else _named(group.name, people), group) for group in groups.groups]
        rows = [(name, *_points(group.sums), str(group.sums.tokens)) for name, group in named]
        return print_result(args, groups, Terminal().table((args.by.upper(), "EARNED", "RECEIVED", "TOKENS"), rows))
    if args.by is not None:
        params = SeriesParams(Period(args.by), min(args.count, MAX_PERIODS))
        series = client.call(earnings.SERIES, params)
        names = [time.strftime(_FORMATS[params.period], time.localtime(sums.start)) for sums in series.periods]
        return print_result(args, series, _table(names, series.periods))
    now = client.call(earnings.SUMMARY)
    return print_result(args, now, _page(now))


def _people(client: ControlClient) -> tuple[members.Member, ...]:
    try:
        return client.call(members.LIST, members.SwarmParams()).members
    except PotluckError:  # no swarm, or one without members
        return ()


def _named(key: str, people: Iterable[members.Member]) -> str:
    """Return the person's name in the list of members, or the start of the key, as other lists show it."""
    return next((person.name for person in people if key.startswith(person.id)), key[:_ID_LETTERS])


def _page(now: Earnings) -> list[str]:
    lines = _table(["today", "ever"], (now.today, now.total))
    if now.sources:
        used = " and ".join(str(source.name) for source in now.sources)
        lines.append(f"{sum(source.watts for source in now.sources):.0f} W now, according to {used}")
    return lines


def _table(names: list[str], sums: tuple[Sums, ...]) -> list[str]:
    return Terminal().table(
        _COLUMNS, [(name, *_points(each), *_cells(each)) for name, each in zip(names, sums, strict=True)]
    )


def _points(sums: Earned) -> tuple[str, str]:
    return f"{sums.earned:,}", f"{sums.received:,}"


def _cells(sums: Sums) -> tuple[str, ...]:
    cost = "-" if sums.cost is None else f"{sums.cost:.2f}"
    traffic = (size(sums.sent_bytes), size(sums.received_bytes))
    served = (str(sums.tokens), str(sums.people), duration(sums.served_s))
    return (*served, *traffic, f"{sums.energy_wh / 1000:.3f} kWh", cost)


COMMANDS = {
    "earnings": Subcommand(
        report_earnings,
        (Earnings, EarningsSeries, EarningsGroups),
        argument(
            "--by",
            choices=(*map(str, Period), *_GROUPS),
            help="one line for each of the last N, or for each model or person",
        ),
        argument("-n", type=positive, default=14, metavar="N", dest="count", help="how many (default: 14)"),
    ),
}
