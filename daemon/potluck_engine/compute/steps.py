"""Defines what the scheduler works on: steps of sessions, stateless calls, its decisions, and the cost of steps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, field
from typing import Any

from potluck.errors import PotluckError
from potluck.protocol.blocks import PersonId

PIECE_S = 0.1
"""The longest piece of a prefill or a call, as far as its time can be predicted: a game on the device waits for one."""

CPU_PIECE_S = 2.0
"""The same on a CPU, where a game doesn't wait: it gets the memory because the daemon ends the process after 3 s.

Prefill of one block of hidden size 2048 or 4096 on two busy cores, in pieces of 0.1, 0.5 and 2 s, ran at 0.15 to 0.3,
at 0.3 to 0.7 and at 0.8 to 1.0 of the speed of pieces of 512 tokens, which take 1.2 to 8.6 s.
"""

OnDone = Callable[[Any, PotluckError | None], None]
"""Called at a job's end with the job and its error, unless it was cancelled before."""


def longest_piece_s(device_kind: str) -> float:
    """Return how long a piece may take on a device of this kind, such as "cuda"."""
    return CPU_PIECE_S if device_kind == "cpu" else PIECE_S


def _nobody(_: object, __: PotluckError | None) -> None:
    pass


@dataclass(slots=True, eq=False)
class StepJob:
    """One step of one session: `tokens` new ones for each of its `rows`, `done` of which are computed."""

    session: Hashable
    client: PersonId
    rows: int
    tokens: int
    submitted_at: float  # monotonic seconds, as all times here
    deadline: float  # nobody waits for the answer after it
    is_alone: bool = False  # whether it never shares a step: it is `exact`, or the model's family cannot
    done: int = 0
    is_cancelled: bool = field(default=False, repr=False)
    compute_s: float = 0.0
    on_done: OnDone = field(default=_nobody, repr=False)

    @property
    def left(self) -> int:
        """The tokens of each row that are still to be computed."""
        return self.tokens - self.done

    @property
    def is_decode(self) -> bool:
        return self.tokens <= 1


@dataclass(slots=True, eq=False)
class Call(StepJob):
    """A stateless forward or backward: a generator, of which each `next()` is one bounded piece.

    It belongs to no session. Its `tokens` are those of a step through the whole span that takes as much work.
    """

    pieces: Generator[None, None, Any] | None = field(kw_only=True, repr=False)  # None if there are no more
    is_backward: bool = field(kw_only=True)
    result: Any = field(default=None, repr=False)

    @property
    def is_decode(self) -> bool:
        return False

    def run_piece(self) -> bool:
        """Run the next piece. Return whether it was the last one, so that `result` is there."""
        try:
            next(self.pieces or iter(()))
        except StopIteration as done:
            self.result = done.value
            return True
        return False


@dataclass(frozen=True, slots=True)
class StepPart:
    """The next `count` tokens of each row of a job."""

    job: StepJob
    count: int

    @property
    def total(self) -> int:
        return self.count * self.job.rows


@dataclass(frozen=True, slots=True)
class Batch:
    """Run these parts together, as one forward over the span. A job that shares no step is the only one."""

    parts: tuple[StepPart, ...]


@dataclass(frozen=True, slots=True)
class Hold:
    """Start nothing before this time unless a step arrives, because waiting for rows that are due saves time."""

    until: float


Action = Batch | Hold


@dataclass(frozen=True, slots=True)
class StepCost:
    """The time of a step by its tokens: straight lines between measured points.

    One line through all points would be wrong where kernels change: on a CPU, two tokens can cost twice as much as one,
    and sixteen hardly more than two.

    Attributes:
        points: (tokens, seconds), ascending in both.
    """

    points: tuple[tuple[float, float], ...] = ()

    def of(self, tokens: int) -> float:
        """Return the seconds of a step; 0 if nothing was measured. The last line continues above the last point."""
        if not self.points or tokens <= 0:
            return 0.0
        (x0, y0), (x1, y1) = self._line(next((i for i, (x, _) in enumerate(self.points) if tokens <= x), -1))
        return y0 + (y1 - y0) * max(tokens - x0, 0.0) / (x1 - x0) if x1 > x0 else y1

    def saved(self, some: int, others: int) -> float:
        """Return the seconds that one step with all tokens saves over two steps."""
        return max(self.of(some) + self.of(others) - self.of(some + others), 0.0)

    def tokens_within(self, seconds: float, most: int) -> int:
        """Return the tokens of the largest step that ends within `seconds`, at most `most`; 0 if nothing was measured.

        The step has at most twice the tokens of any measured one, because larger ones may cost more than they seem to.
        """
        most = min(most, int(2 * self.points[-1][0])) if self.points else 0
        return bisect_right(range(1, most + 1), seconds, key=self.of)

    def _line(self, end: int) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the line between the point `end` and the one before it."""
        points = self.points
        end %= len(points)
        return points[max(end - 1, 0)], points[end]


class CostMeter:
    """Measures the cost of steps: the means of tokens and time for each power of two of tokens.

    The means of large steps stay while there are only small ones.
    """

    _SMOOTHING = 0.1  # the weight of the newest step in its mean

    def __init__(self) -> None:
        self._means: dict[int, tuple[float, float]] = {}  # bit length of the tokens -> tokens, seconds
        self._cost: StepCost | None = StepCost()  # None if it has to be computed again

    def add(self, tokens: int, seconds: float) -> None:
        size = tokens.bit_length()
        mean_tokens, mean_s = self._means.get(size, (float(tokens), seconds))
        self._means[size] = (
            mean_tokens + self._SMOOTHING * (tokens - mean_tokens),
            mean_s + self._SMOOTHING * (seconds - mean_s),
        )
        self._cost = None

    def scale(self, factor: float) -> None:
        """Scale all times, because steps now pass through more or fewer blocks."""
        self._means = {size: (tokens, seconds * factor) for size, (tokens, seconds) in self._means.items()}
        self._cost = None

    def cost(self) -> StepCost:
        """Return the cost.

        A measurement is corrected if it says that more tokens cost less, or more than as many smaller steps: it was
        disturbed by other programs.
        """
        cost = self._cost
        if cost is None:
            points: list[tuple[float, float]] = []
            means = [*self._means.items()]  # a copy, because another thread may add one
            for _, (tokens, seconds) in sorted(means):
                if points:
                    fewer, less_s = points[-1]
                    seconds = min(max(seconds, less_s), less_s * tokens / fewer)
                points.append((tokens, seconds))
            cost = self._cost = StepCost(tuple(points))
        return cost
