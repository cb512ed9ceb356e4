"""`contribution.*`: the time and energy that this machine gave. Points and tokens are those of `earnings`.

`sources` says where each watt comes from, so an estimate is always called one. The only money is the cost of
electricity at the user's price (limits.price_kwh).
"""

from __future__ import annotations

from msgspec import Struct

from potluck.sentences import NOTHING, Sentence
from potluck_control.method import Empty, Method
from potluck_control.methods.periods import Period, SeriesParams


class Contribution(Struct, frozen=True):
    """Sums over [start, end), in Unix seconds. Longer periods are sums of hours."""

    start: float
    end: float
    served_s: float = 0.0  # time in which blocks were served
    tokens: int = 0  # that others signed for, as in `earnings`
    energy_wh: float = 0.0  # used by serving, not by the whole computer
    cost: float | None = None  # of that energy at today's price, in its currency; None: no price is set
    sent_bytes: int = 0
    received_bytes: int = 0
    people: int | None = None  # different clients who signed for work; None: not known


class EnergySource(Struct, frozen=True):
    """One meter. `kind`: nvml (the GPU's own), rapl (the processor's own), given (limits.serving_w), estimate."""

    kind: str
    name: Sentence
    is_used: bool
    watts: float = 0.0  # of serving, lately; 0: less than can be measured
    problem: Sentence = NOTHING  # why it cannot be used, and what to do about it


class ContributionNow(Struct, frozen=True):
    today: Contribution
    total: Contribution  # since the first day that was counted
    streak_days: int  # days in a row, up to today or yesterday, with at least a minute served
    longest_streak_days: int
    swarm_share: float | None  # of the model's work that falls on this machine now, 0 to 1; None: nothing served
    watts: float  # of serving, lately; 0: less than can be measured
    sources: tuple[EnergySource, ...]


class ContributionSeries(Struct, frozen=True):
    """Periods without gaps, oldest first. One in which nothing was served has zeros."""

    period: Period
    periods: tuple[Contribution, ...]


NOW = Method("contribution.now", Empty, ContributionNow)
SERIES = Method("contribution.series", SeriesParams, ContributionSeries)
