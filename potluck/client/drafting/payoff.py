"""Drafts tokens that followed the last ones earlier in the text, and decides how many drafts pay. It does no I/O.

    the last tokens occurred before  ->  what followed them there is drafted, and so on after that
    the model's own head is surer    ->  its guess is drafted instead
    how often such tokens were right, and what a longer step costs  ->  the length of the draft; 0 where it does not pay

The cost of a longer step is known before the first draft: servers report what the prompt's tokens took them.

Source: prompt lookup decoding (https://github.com/apoorvumang/prompt-lookup-decoding). The length is chosen as in
SpecExec (arXiv 2406.02532), from what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_DRAFT = 32  # tokens; at hidden size 4096 and 100 Mbit/s they add 20 ms a server
_MATCHES = {8: 0.8, 5: 0.7, 3: 0.5, 2: 0.3, 1: 0.2}  # tokens -> how likely the next one is right, before any try
OF_A_HEAD, OF_A_MODEL = -1, -11  # the surest kind of guesses of the model's own head, and of another model
_GUESS_BOUNDS = (0.98, 0.9, 0.75, 0.5)  # probabilities from which on a guess is of the surest kind, the next one ...
_GUESSES = (0.98, 0.9, 0.8, 0.55, 0.2)  # how likely such guesses are right, before any try
_PRIORS = _MATCHES | {kind - less: chance for kind in (OF_A_HEAD, OF_A_MODEL) for less, chance in enumerate(_GUESSES)}
_MOST_INDEXED = 16_384  # tokens of a prompt, its last ones; the index takes about a kilobyte for each
_MAX_VOTES = 2  # one exception does not replace what usually follows, two do
_KEPT_AFTER_TRY = 0.97  # share of the counts of a kind of match that a try keeps: a text changes
_KEPT_AFTER_SKIP = 0.98  # a kind that did not pay is tried again after a few dozen steps
_KEPT_TIMES = 0.97
_NEAR_S = 0.03  # a window takes the client a few milliseconds
_FIRST_LENGTH = 2  # tokens of the first draft, whose cost is unknown; each further one may be twice as long
_TYPICAL = {OF_A_HEAD: 0.5, OF_A_MODEL: 0.6}  # how likely any guess is right, before any try
_MIN_GAIN = 1.06  # gains closer to 1 are within the error of the estimates
_COST = 0.02  # guessed cost of a drafted token as a share of a plain step, before anything was measured
_PROMPT_WEIGHT = 16.0  # weight of a prompt's time a token, in tokens squared: about two drafts
_WAY_WEIGHT = 8.0  # weight of the guess that a drafted token takes no time on its way, likewise
_DRAFT_COST = 0.3  # guessed cost of any draft as a share of a plain step
_DRAFT_COST_WEIGHT = 1.0  # weight of this guess in steps
_LEAST_PROMPT = 8  # shortest prompt that tells the time of a token
_OUTLIER = 3.0  # times the expected time; a longer step says nothing about its length


class Drafted(NamedTuple):
    """A drafted token and its kind: how many tokens before it occurred earlier, too, or a kind of guess."""

    token: int
    kind: int


def guess_of(token: int, probability: float, surest: int) -> Drafted:
    """Return the guess of `OF_A_HEAD` or `OF_A_MODEL` with its kind, which follows from the probability."""
    return Drafted(token, surest - sum(probability < bound for bound in _GUESS_BOUNDS))


class Lookup:
    """Finds what followed the last tokens where they occurred before; the longest match counts."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._after: dict[int, dict[tuple[int, ...], tuple[int, int]]] = {size: {} for size in _MATCHES}
        """Some tokens -> the token that usually follows them, and its votes."""

    @property
    def length(self) -> int:
        return len(self._tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens of the text."""
        seen = self._tokens
        unseen = max(len(tokens) - _MOST_INDEXED, 0)
        seen += tokens[:unseen]
        for token in tokens[unseen:]:
            for size, following in self._after.items():
                if len(seen) >= size:
                    key = tuple(seen[-size:])
                    following[key] = _voted(following.get(key), token)
            seen.append(token)

    def last(self) -> list[int]:
        """Return the last tokens, as many as are looked up."""
        return self._tokens[-max(_MATCHES) :]

    def next(self, last: Sequence[int]) -> Drafted | None:
        """Return what usually follows the tokens `last`; None if they never occurred."""
        for size, following in self._after.items():
            found = following.get(tuple(last[-size:])) if len(last) >= size else None
            if found is not None:
                return Drafted(found[0], size)
        return None


def _voted(now: tuple[int, int] | None, token: int) -> tuple[int, int]:
    if now is None or (now[0] != token and now[1] == 1):
        return token, 1
    return now[0], min(now[1] + 1, _MAX_VOTES) if now[0] == token else now[1] - 1


class DraftCost(NamedTuple):
    """The seconds of a step of one token, what any draft adds to it, and what each drafted token adds."""

    base_s: float
    draft_s: float
    token_s: float

    def step_s(self, drafted: int) -> float:
        return self.base_s + (self.draft_s + drafted * self.token_s if drafted else 0.0)


@dataclass(slots=True)
class _Line:
    """A value as a linear function of the drafted tokens, by least squares; older points fade."""

    weight: float = 0.0
    _tokens: float = 0.0  # weighted sums
    _value: float = 0.0
    _squared: float = 0.0
    _product: float = 0.0

    def add(self, tokens: int, value: float) -> None:
        self.weight = _KEPT_TIMES * self.weight + 1
        self._tokens = _KEPT_TIMES * self._tokens + tokens
        self._value = _KEPT_TIMES * self._value + value
        self._squared = _KEPT_TIMES * self._squared + tokens**2
        self._product = _KEPT_TIMES * self._product + tokens * value

    def fit(self, slope: float, slope_weight: float) -> tuple[float, float]:
        """Return the value at no tokens, and the slope. `slope`: before any point, with a weight in tokens squared."""
        if not self.weight:
            return 0.0, slope
        tokens, value = self._tokens / self.weight, self._value / self.weight
        spread = self._squared - self.weight * tokens**2
        together = self._product - self.weight * tokens * value
        slope = max((together + slope_weight * slope) / (spread + slope_weight), 0.0)
        return max(value - slope * tokens, 0.0), slope


@dataclass(slots=True)
class StepTimes:
    """Estimates from past steps what a step costs by its number of drafted tokens.

    The servers report what they computed, which is far more exact than the time of a whole step. Servers compute one
    token in a faster way than several, so any draft costs something, and each token of it little.
    """

    num_drafted: int = 0  # steps with drafts so far
    _plain: _Line = field(default_factory=_Line)  # what the servers computed in steps without drafts
    _drafted: _Line = field(default_factory=_Line)  # what the servers computed in steps with drafts
    _way: _Line = field(default_factory=_Line)  # the rest of all steps
    _prompt_s: float | None = None  # what the servers computed for a token of a prompt

    def record_prompt(self, tokens: int, compute_s: float) -> None:
        """Record how long all servers together computed the tokens of a prompt."""
        if tokens >= _LEAST_PROMPT:
            self._prompt_s = compute_s / tokens

    def record(self, drafted: int, seconds: float, compute_s: float = 0.0) -> None:
        """Record a step. `compute_s`: the part of `seconds` that all servers together computed by their reports."""
        if self._way.weight:
            share = min(_OUTLIER * self.estimate().step_s(drafted) / max(seconds, 1e-9), 1.0)
            seconds, compute_s = share * seconds, share * compute_s
        compute_s = min(compute_s, seconds)
        (self._drafted if drafted else self._plain).add(drafted, compute_s)
        self._way.add(drafted, seconds - compute_s)
        self.num_drafted += drafted > 0

    @property
    def knows_plain(self) -> bool:
        """Tell whether a step without drafts was recorded; before, the cost of longer steps is unknown."""
        return self._plain.weight > 0

    @property
    def is_near(self) -> bool:
        """Tell whether a step is so short that windows on their way cost their sender about what they gain."""
        return self.knows_plain and self.estimate().base_s < _NEAR_S

    @property
    def longest(self) -> int:
        """Return how many tokens a draft may have by the steps so far."""
        known = 2 if self._prompt_s is not None else 0
        return _FIRST_LENGTH << min(self.num_drafted + known, 8)

    def estimate(self) -> DraftCost:
        """Return the estimated cost of a step."""
        plain_s, _ = self._plain.fit(0.0, 1.0)
        way_s, way_token_s = self._way.fit(0.0, _WAY_WEIGHT)
        drafted_s, compute_token_s = self._drafted.fit(
            _COST * plain_s if self._prompt_s is None else self._prompt_s, _PROMPT_WEIGHT
        )
        guessed_s, weight = _DRAFT_COST * plain_s, self._drafted.weight
        draft_s = (weight * max(drafted_s - plain_s, 0.0) + _DRAFT_COST_WEIGHT * guessed_s) / (
            weight + _DRAFT_COST_WEIGHT
        )
        base_s = way_s + plain_s if self.knows_plain else 1.0
        return DraftCost(max(base_s, 1e-9), draft_s, compute_token_s + way_token_s)


@dataclass(slots=True)
class _Kind:
    """Counts how often drafted tokens of one kind were right; both counts fade."""

    chance: float  # the estimate before any try
    right: float = 0.0
    tried: float = 0.0

    @property
    def likely(self) -> float:
        return (self.right + self.chance) / (self.tried + 1)

    def add(self, right: float) -> None:
        """Count one more try."""
        self.fade(_KEPT_AFTER_TRY)
        self.right += right
        self.tried += 1

    def fade(self, kept: float = _KEPT_AFTER_SKIP) -> None:
        self.right *= kept
        self.tried *= kept


@dataclass(slots=True)
class Payoff:
    """Decides how long drafts of one text are. `times` may be shared by several texts."""

    times: StepTimes
    _kinds: dict[int, _Kind] = field(default_factory=lambda: {size: _Kind(p) for size, p in _PRIORS.items()})
    _typical: dict[int, _Kind] = field(default_factory=lambda: {of: _Kind(p) for of, p in _TYPICAL.items()})

    def likely(self, drafted: Drafted | None) -> float:
        """Return how likely a token of its kind is right."""
        return self._kinds[drafted.kind].likely if drafted is not None else 0.0

    def typical(self, of: int) -> float:
        """Return how likely a guess `OF_A_HEAD` or `OF_A_MODEL` is right."""
        return self._typical[of].likely

    def skip(self, kind: int) -> None:
        """Fade the counts of a kind that did not pay, so that it is tried again later."""
        (self._typical if kind in self._typical else self._kinds)[kind].fade()

    def asks(self, of: int, chance: float, found: Drafted | None, seconds: float) -> bool:
        """Tell whether another token is worth a guess that takes so many seconds.

        Args:
            chance: probability that all tokens before it are right.
            found: the token that a look-up gave.
        """
        gain = chance * self.typical(of) * (1 - self.likely(found))
        return gain * self.times.estimate().base_s > _MIN_GAIN * seconds

    def goes_on(self, chance: float, cost_s: float) -> bool:
        """Tell whether a token is worth what it costs the servers, when all up to it are right with `chance`."""
        return chance * self.times.estimate().base_s > cost_s

    def worth(self, drafted: Sequence[Drafted]) -> Sequence[Drafted]:
        """Return the beginning of a draft that gives the most tokens a second; nothing if a plain step is as fast."""
        if not self.times.knows_plain:
            return ()
        cost = self.times.estimate()
        best, best_gain, tokens, chance = 0, _MIN_GAIN, 1.0, 1.0
        for count, each in enumerate(drafted[: self.times.longest], 1):
            chance *= self.likely(each)
            tokens += chance
            gain = tokens * cost.base_s / cost.step_s(count)
            if gain > best_gain:
                best, best_gain = count, gain
        if drafted and not best:
            self.skip(drafted[0].kind)
        return drafted[:best]

    def record(self, drafted: Sequence[Drafted], right: int) -> None:
        """Record how many of the drafted tokens were right; the one after them was wrong."""
        for place, each in enumerate(drafted[: right + 1]):
            self._kinds[each.kind].add(place < right)
            if each.kind < 0:
                self._typical[OF_A_HEAD if each.kind > OF_A_MODEL else OF_A_MODEL].add(place < right)
