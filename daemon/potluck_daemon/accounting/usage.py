"""What serving takes, by local hour: time, energy and traffic. Pure.

The hours of this month are kept in memory, for the caps of a day and a month (`policy.hours_and_caps`); the ledger has
all hours. Each is written there as a whole, so that writing it twice changes nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from potluck_control.methods.earnings import Period


def period_starts(period: Period, count: int, now: float) -> list[float]:
    """Return when the last `count` periods begin in local time, oldest first, and when the present one ends."""
    moment = datetime.datetime.fromtimestamp(now)
    start = moment.replace(minute=0, second=0, microsecond=0)
    if period is Period.HOUR:
        hour = start.timestamp()
        return [hour + 3600 * index for index in range(1 - count, 2)]
    start = start.replace(hour=0)
    if period is Period.MONTH:
        months = start.year * 12 + start.month - 1
        firsts = [divmod(months + index, 12) for index in range(1 - count, 2)]
        return [datetime.datetime(year, month + 1, 1).timestamp() for year, month in firsts]
    step = 7 if period is Period.WEEK else 1
    if period is Period.WEEK:
        start -= datetime.timedelta(days=start.weekday())
    return [(start + datetime.timedelta(days=step * index)).timestamp() for index in range(1 - count, 2)]


class Amounts(NamedTuple):
    """What serving took within some time: the columns of the ledger's hours."""

    served_s: float = 0.0
    energy_wh: float = 0.0
    sent_bytes: int = 0
    received_bytes: int = 0

    def cost(self, price_kwh: float) -> float:
        """Return the cost of the energy, in the currency of the price."""
        return self.energy_wh / 1000 * price_kwh


_NOTHING = Amounts()


@dataclass(frozen=True, slots=True)
class Use:
    """What serving took since midnight, and since the month began, as far as that is known."""

    today: Amounts = _NOTHING
    month: Amounts = _NOTHING
    is_today_known: bool = True  # False: the ledger may have more of it, but cannot be read
    is_month_known: bool = True


class ServingHours:
    """The hours of this month. `load` first what the ledger has of them. Times are Unix seconds.

    Attributes:
        known_since: when counting began, if the ledger cannot be read; 0: everything is known.
    """

    def __init__(self) -> None:
        self._hours: dict[float, Amounts] = {}
        self._saved: dict[float, Amounts] = {}
        self.known_since = 0.0

    def load(self, hours: Mapping[float, Amounts]) -> None:
        """Continue from the hours in the ledger."""
        self._hours, self._saved = dict(hours), dict(hours)

    def add(self, now: float, amounts: Amounts) -> None:
        """Add amounts to the hour of `now`."""
        if any(amounts):
            hour = period_starts(Period.HOUR, 1, now)[0]
            self._hours[hour] = _added_up(self._hours.get(hour, _NOTHING), amounts)

    def use(self, now: float) -> Use:
        """Return what was used until `now`."""
        starts = [period_starts(period, 1, now)[0] for period in (Period.DAY, Period.MONTH)]
        today, month = (
            _added_up(*(amounts for hour, amounts in self._hours.items() if start <= hour <= now)) for start in starts
        )
        return Use(today, month, *(self.known_since <= start for start in starts))

    def unsaved(self) -> dict[float, Amounts]:
        """Return the hours that differ from the ledger's."""
        return dict(self._hours.items() - self._saved.items())

    def confirm(self, hours: Mapping[float, Amounts]) -> None:
        """Remember that the ledger has these hours."""
        self._saved |= hours


def _added_up(*amounts: Amounts) -> Amounts:
    return Amounts(*map(sum, zip(_NOTHING, *amounts, strict=True)))
