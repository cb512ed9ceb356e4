"""`earnings.*`: points that this computer's owner earned and received, and what serving took.

Others sign for points earned; serving takes time, energy and traffic. Periods are local hours, days, weeks and months.
Points are whole numbers. One is a million parameter-tokens: tokens times the parameters of the blocks that they passed,
backward twice. Points aren't money. They move requests up the queues of those whom their holder served.
The only money is the cost of electricity at the user's price (limits.price_kwh).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from potluck.protocol.blocks import Booking
from potluck.sentences import Sentence
from potluck_control.api.method import Empty, Limit, Method, ModelName

MAX_PERIODS = 1000
MAX_RECORDED = 64  # receipts in one call


class Period(StrEnum):
    """A period in local time. Days begin at midnight, weeks on Monday."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class SeriesParams(Struct, frozen=True):
    """The last `count` periods, up to and including the present one."""

    period: Period = Period.DAY
    count: Annotated[int, Meta(ge=1, le=MAX_PERIODS)] = 30


class Earned(Struct, frozen=True):
    """Sums over [start, end), Unix seconds; `start` 0 in a sum of everything."""

    start: float
    end: float
    earned: int = 0  # points for work done for others
    received: int = 0  # points of work that others did for the owner's own programs
    tokens: int = 0  # served to those who signed, each row counted
    people: int = 0  # people served; in an open swarm each program counts anew at each start


class Sums(Earned, frozen=True):
    """What was earned, and what serving took. Longer periods are sums of local hours."""

    served_s: float = 0.0  # time in which blocks were served
    energy_wh: float = 0.0  # used by serving, not by the whole computer
    cost: float | None = None  # cost of that energy at today's price; None: no price is set
    sent_bytes: int = 0
    received_bytes: int = 0


class EnergySource(Struct, frozen=True):
    """A source of watts. `kind`: nvml (measured by the GPU), given (limits.serving_w), estimate (the processor)."""

    kind: str
    name: Sentence
    watts: float  # recent power of serving; less than can be measured is left out


class Earnings(Struct, frozen=True):
    """Sums of today and longer. `total` counts from the first receipt on."""

    today: Sums
    week: Sums  # the last seven days, today included
    month: Sums  # the last thirty
    total: Sums
    sources: tuple[EnergySource, ...] = ()  # sources of the power that serving takes now


class EarningsSeries(Struct, frozen=True):
    """Periods without gaps, oldest first. Hours are kept for 92 days, days for good."""

    period: Period
    periods: tuple[Sums, ...]


class GroupParams(Struct, frozen=True):
    """The groups to return.

    `days`: how many, today included; 0: all. `limit`: how many groups, those with the largest amounts.
    """

    days: Annotated[int, Meta(ge=0, le=36600)] = 30
    limit: Limit = 100


class Group(Struct, frozen=True):
    """Sums for a model or a person.

    `name`: a model, or a person: a member's key in hexadecimal text, in an open swarm a peer id.
    """

    name: str
    sums: Earned


class EarningsGroups(Struct, frozen=True):
    """Sums by model or by person."""

    groups: tuple[Group, ...]  # largest earned plus received first


class LedgerCheck(Struct, frozen=True):
    """The result of a check.

    `problems` empty: all receipts verify, and the entries of each session add up to its last receipt.
    """

    people: int
    receipts: int
    entries: int
    problems: tuple[Sentence, ...] = ()


class RecordParams(Struct, frozen=True):
    """Receipts that the owner's own program signed for the work of others on the model of this name."""

    bookings: Annotated[tuple[Booking, ...], Meta(min_length=1, max_length=MAX_RECORDED)]
    model: ModelName


SUMMARY = Method("earnings.summary", Empty, Earnings)
SERIES = Method("earnings.series", SeriesParams, EarningsSeries)
BY_MODEL = Method("earnings.by_model", GroupParams, EarningsGroups)
BY_PERSON = Method("earnings.by_person", GroupParams, EarningsGroups)
CHECK = Method("earnings.check", Empty, LedgerCheck)
RECORD = Method("earnings.record", RecordParams, Empty)
