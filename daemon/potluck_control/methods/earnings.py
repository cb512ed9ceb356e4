"""`earnings.*`: points that others signed for, those that this donor's requests cost, and delegations to spend them.

Points are whole numbers. One is a million parameter-tokens: tokens times the parameters of the blocks that they passed,
backward twice; receipts and the ledger call it a microcredit. Points aren't money. They move requests up the queues of
those who trust their holder.
"""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.method import Empty, Method
from potluck_control.methods.periods import Period, SeriesParams


@dataclass(frozen=True, slots=True)
class Earned:
    """Sums over [start, end), Unix seconds; `start` 0 in a sum of everything."""

    start: float
    end: float
    earned: int = 0  # points for work done for others
    spent: int = 0  # points for what others did for this donor
    tokens: int = 0  # served to those who signed, each row counted
    people: int = 0  # different donors and programs that were served; one without a daemon counts anew at each start


@dataclass(frozen=True, slots=True)
class Earnings:
    """`total` counts from the first receipt on; `balance`: earned less spent, points."""

    today: Earned
    week: Earned  # the last seven days, today included
    month: Earned  # the last thirty
    total: Earned
    balance: int = 0
    waiting: int = 0  # receipts that are signed and not yet on disk


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
    """`name`: a model, or a peer id."""

    name: str
    sums: Earned


@dataclass(frozen=True, slots=True)
class EarningsGroups:
    groups: tuple[Group, ...]  # largest earned plus spent first


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


@dataclass(frozen=True, slots=True)
class Entry:
    """Points that moved between two accounts within an hour, by the receipts of one session."""

    number: int
    at: float  # start of the hour (of the day, once old), Unix seconds
    payer: str  # peer id of who was served
    payee: str  # peer id of who served
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
    """`problems` empty: each account is the sum of its entries, their sum is zero, and all receipts verify."""

    accounts: int
    receipts: int
    entries: int
    sum_points: int  # of all accounts: 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DelegateParams:
    """`peer_id`: of the client that is to spend this donor's credit."""

    peer_id: str

    def __post_init__(self) -> None:
        if not 8 <= len(self.peer_id) <= 64:
            raise ValueError("a peer id has between 8 and 64 letters")


@dataclass(frozen=True, slots=True)
class Delegated:
    """Base64. `vouchers`: receipts for what this donor did, for servers that do not know it."""

    delegation: str
    vouchers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BookParams:
    """`receipts`: base64 of countersigned receipts for what others did for this donor, each with its delegation."""

    receipts: tuple[str, ...]
    model: str

    def __post_init__(self) -> None:
        if not 1 <= len(self.receipts) <= 64 or len(self.model) > 4096:
            raise ValueError("between 1 and 64 receipts at a time")


SUMMARY = Method("earnings.summary", Empty, Earnings)
SERIES = Method("earnings.series", SeriesParams, EarningsSeries)
BY_MODEL = Method("earnings.by_model", GroupParams, EarningsGroups)
BY_PEER = Method("earnings.by_peer", GroupParams, EarningsGroups)
EXPORT = Method("earnings.export", ExportParams, Entries)
CHECK = Method("earnings.check", Empty, LedgerCheck)
DELEGATE = Method("earnings.delegate", DelegateParams, Delegated)
BOOK = Method("earnings.book", BookParams, Empty)
