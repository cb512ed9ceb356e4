"""`earnings.*`: points that others signed for, and those that others' computers did for this computer's owner.

Points are whole numbers. One is a million parameter-tokens: tokens times the parameters of the blocks that they passed,
backward twice. Points aren't money. They move requests up the queues of those whom their holder served.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from potluck.protocol.receipts import Booking
from potluck_control.method import Empty, Method
from potluck_control.methods.periods import Period, SeriesParams

MAX_RECORDED = 64  # receipts in one call


@dataclass(frozen=True, slots=True)
class Earned:
    """Sums over [start, end), Unix seconds; `start` 0 in a sum of everything."""

    start: float
    end: float
    earned: int = 0  # points for work done for others
    received: int = 0  # points of work that others did for the owner's own programs
    tokens: int = 0  # served to those who signed, each row counted
    people: int = 0  # that were served; in an open swarm each program counts anew at each start


@dataclass(frozen=True, slots=True)
class Earnings:
    """`total` counts from the first receipt on."""

    today: Earned
    week: Earned  # the last seven days, today included
    month: Earned  # the last thirty
    total: Earned


@dataclass(frozen=True, slots=True)
class EarningsSeries:
    """Periods without gaps, oldest first. Hours are kept for 92 days, days for good."""

    period: Period
    periods: tuple[Earned, ...]


@dataclass(frozen=True, slots=True)
class GroupParams:
    """`days`: how many, today included; 0: all. `limit`: how many groups, those with the largest amounts."""

    days: int = 30
    limit: int = 100

    def __post_init__(self) -> None:
        if not 0 <= self.days <= 36600:
            raise ValueError("days is between 0 (everything) and 36600")
        if not 1 <= self.limit <= 1000:
            raise ValueError("limit is between 1 and 1000")


@dataclass(frozen=True, slots=True)
class Group:
    """`name`: a model, or a person: a member's key in hexadecimal text, in an open swarm a peer id."""

    name: str
    sums: Earned


@dataclass(frozen=True, slots=True)
class EarningsGroups:
    groups: tuple[Group, ...]  # largest earned plus received first


@dataclass(frozen=True, slots=True)
class ExportParams:
    """A page of at most `limit` entries, which begins after the number `after`."""

    after: int = 0
    limit: int = 500

    def __post_init__(self) -> None:
        if not 0 <= self.after < 1 << 62:
            raise ValueError("after is the number of an entry, or 0")
        if not 1 <= self.limit <= 1000:
            raise ValueError("limit is between 1 and 1000")


class Direction(StrEnum):
    EARNED = "earned"  # this computer worked for the person
    RECEIVED = "received"  # a computer of the person worked for this one's owner


@dataclass(frozen=True, slots=True)
class Entry:
    """Points of one session's receipts within an hour."""

    number: int
    at: float  # start of the hour (of the day, once old), Unix seconds
    direction: Direction
    person: str  # see `Group`
    model: str
    session: str  # of the receipt, in hexadecimal; empty once old entries were added up by day
    points: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Entries:
    """`next`: the next page's `after`; None: this is the last page."""

    entries: tuple[Entry, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """`problems` empty: all receipts verify, and the entries of each session add up to its last receipt."""

    people: int
    receipts: int
    entries: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordParams:
    """Receipts that the owner's own program signed for the work of others on the model of this name."""

    bookings: tuple[Booking, ...]
    model: str

    def __post_init__(self) -> None:
        if not 1 <= len(self.bookings) <= MAX_RECORDED or len(self.model) > 4096:
            raise ValueError(f"between 1 and {MAX_RECORDED} receipts at a time")
        if any(not 1 <= len(booking.person) <= 64 for booking in self.bookings):
            raise ValueError("a person has between 1 and 64 letters")


SUMMARY = Method("earnings.summary", Empty, Earnings)
SERIES = Method("earnings.series", SeriesParams, EarningsSeries)
BY_MODEL = Method("earnings.by_model", GroupParams, EarningsGroups)
BY_PERSON = Method("earnings.by_person", GroupParams, EarningsGroups)
EXPORT = Method("earnings.export", ExportParams, Entries)
CHECK = Method("earnings.check", Empty, LedgerCheck)
RECORD = Method("earnings.record", RecordParams, Empty)
