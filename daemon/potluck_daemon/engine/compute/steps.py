"""What the step scheduler deals in: steps of sessions that wait, and what is to be done with them. Plain data."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from potluck.protocol.blocks import PeerId


@dataclass(slots=True, eq=False)
class StepJob:
    """One step of one session: `tokens` new ones for each of its `rows`, of which `done` have been through."""

    session: Hashable
    client: PeerId
    rows: int
    tokens: int
    submitted_at: float  # monotonic seconds, as all times here
    deadline: float  # when nobody waits for the answer any more
    is_alone: bool = False  # never shares a step: it is `exact`, or its family cannot
    done: int = 0
    is_cancelled: bool = field(default=False, repr=False)

    @property
    def left(self) -> int:
        """Tokens of each row still to go."""
        return self.tokens - self.done

    @property
    def is_decode(self) -> bool:
        return self.tokens <= 1


@dataclass(frozen=True, slots=True)
class Part:
    """The next `count` tokens of each row of a job."""

    job: StepJob
    count: int

    @property
    def total(self) -> int:
        return self.count * self.job.rows


@dataclass(frozen=True, slots=True)
class Batch:
    """Run these together, as one forward over the span."""

    parts: tuple[Part, ...]

    @property
    def tokens(self) -> int:
        return sum(part.total for part in self.parts)

    @property
    def rows(self) -> int:
        return sum(part.job.rows for part in self.parts)


@dataclass(frozen=True, slots=True)
class Alone:
    """Run this part by itself."""

    part: Part


@dataclass(frozen=True, slots=True)
class Hold:
    """Start nothing before this time, unless another step arrives: rows are expected back that it pays to wait for."""

    until: float


Action = Batch | Alone | Hold


@dataclass(frozen=True, slots=True)
class StepCost:
    """What a step takes, by its tokens: a line through what was measured."""

    step_s: float = 0.0  # of any step at all, however small: what a batch saves for each that joins it
    token_s: float = 0.0  # of each token more

    def of(self, tokens: int) -> float:
        return self.step_s + self.token_s * tokens

    def tokens_within(self, seconds: float, most: int) -> int:
        """The largest step that is done within `seconds`, at most `most` tokens."""
        if self.token_s <= 0.0:
            return most
        return max(0, min(int((seconds - self.step_s) / self.token_s), most))


class CostMeter:
    """Keeps the cost of steps: means of time and tokens for each power of two of tokens, and the line through them.

    What was once learned of large steps is not forgotten while only small ones come. Each mean weighs as much as its
    relative error, so that the line is as right for one token as for a thousand.
    """

    _SMOOTHING = 0.1  # weight of the newest step in its mean

    def __init__(self) -> None:
        self._means: dict[int, tuple[float, float]] = {}  # bit length of the tokens -> tokens, seconds

    def add(self, tokens: int, seconds: float) -> None:
        size = tokens.bit_length()
        mean_tokens, mean_s = self._means.get(size, (float(tokens), seconds))
        self._means[size] = (
            mean_tokens + self._SMOOTHING * (tokens - mean_tokens),
            mean_s + self._SMOOTHING * (seconds - mean_s),
        )

    def cost(self) -> StepCost:
        """Nothing is known: zero. One size only: the step counts, the tokens seem free."""
        points = [(tokens, seconds, 1.0 / max(seconds, 1e-9) ** 2) for tokens, seconds in self._means.values()]
        if not points:
            return StepCost()
        weight = sum(w for _, _, w in points)
        mean_x = sum(w * x for x, _, w in points) / weight
        mean_y = sum(w * y for _, y, w in points) / weight
        spread = sum(w * (x - mean_x) ** 2 for x, _, w in points)
        if spread <= 0.0:
            return StepCost(mean_y, 0.0)
        slope = max(sum(w * (x - mean_x) * (y - mean_y) for x, y, w in points) / spread, 0.0)
        base = max(mean_y - slope * mean_x, 0.0)
        return StepCost(base, slope)
