"""`earnings.*`: points that others signed for, and those that others' computers did for this computer's owner.

Points are whole numbers. One is a million parameter-tokens: tokens times the parameters of the blocks that they passed,
backward twice. Points aren't money. They move requests up the queues of those whom their holder served.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from potluck.protocol.blocks import Booking
from potluck.sentences import Sentence
from potluck_control.method import Empty, Limit, Method, ModelName
from potluck_control.methods.periods import Period, SeriesParams

MAX_RECORDED = 64  # receipts in one call


class Earned(Struct, frozen=True):
    """Sums over [start, end), Unix seconds; `start` 0 in a sum of everything."""

    start: float
    end: float
    earned: int = 0  # points for work done for others
    received: int = 0  # points of work that others did for the owner's own programs
    tokens: int = 0  # served to those who signed, each row counted
    people: int = 0  # that were served; in an open swarm each program counts anew at each start


class Earnings(Struct, frozen=True):
    """`total` counts from the first receipt on."""

    today: Earned
    week: Earned  # the last seven days, today included
    month: Earned  # the last thirty
    total: Earned


class EarningsSeries(Struct, frozen=True):
    """Periods without gaps, oldest first. Hours are kept for 92 days, days for good."""

    period: Period
    periods: tuple[Earned, ...]


class GroupParams(Struct, frozen=True):
    """`days`: how many, today included; 0: all. `limit`: how many groups, those with the largest amounts."""

    days: Annotated[int, Meta(ge=0, le=36600)] = 30
    limit: Limit = 100


class Group(Struct, frozen=True):
    """`name`: a model, or a person: a member's key in hexadecimal text, in an open swarm a peer id."""

    name: str
    sums: Earned


class EarningsGroups(Struct, frozen=True):
    groups: tuple[Group, ...]  # largest earned plus received first


class ExportParams(Struct, frozen=True):
    """A page of at most `limit` entries, which begins after the number `after`."""

    after: Annotated[int, Meta(ge=0, lt=1 << 62)] = 0
    limit: Limit = 500


class Direction(StrEnum):
    EARNED = "earned"  # this computer worked for the person
    RECEIVED = "received"  # a computer of the person worked for this one's owner


class Entry(Struct, frozen=True):
    """Points of one session's receipts within an hour."""

    number: int
    at: float  # start of the hour (of the day, once old), Unix seconds
    direction: Direction
    person: str  # see `Group`
    model: str
    session: str  # of the receipt, in hexadecimal; empty once old entries were added up by day
    points: int
    tokens: int


class Entries(Struct, frozen=True):
    """`next`: the next page's `after`; None: this is the last page."""

    entries: tuple[Entry, ...]
    next: int | None


class LedgerCheck(Struct, frozen=True):
    """`problems` empty: all receipts verify, and the entries of each session add up to its last receipt."""

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
EXPORT = Method("earnings.export", ExportParams, Entries)
CHECK = Method("earnings.check", Empty, LedgerCheck)
RECORD = Method("earnings.record", RecordParams, Empty)
