"""Drafts the next tokens from the text so far, and decides how many are worth sending. Pure.

    the last tokens occurred before  ->  what followed them there is drafted, and so on after that
    how often such tokens were right, and what a longer step costs  ->  the length of the draft; 0 where it does not pay

Source: prompt lookup decoding (https://github.com/apoorvumang/prompt-lookup-decoding). The length is chosen as in
SpecExec (arXiv 2406.02532), from what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

MAX_DRAFT = 16  # tokens; at hidden size 4096 and 100 Mbit/s they add 10 ms a server
_MATCHES = {8: 0.8, 5: 0.7, 3: 0.5, 2: 0.3, 1: 0.2}  # tokens -> how likely the next one is right, before any try
_MOST_INDEXED = 16_384  # tokens of a prompt, its last ones; the index takes about a kilobyte for each
_MAX_VOTES = 2  # so that one exception does not replace what usually follows, and two do
_KEPT_AFTER_TRY = 0.97  # of what is known of a kind of match: a text changes
_KEPT_AFTER_SKIP = 0.98  # so that a kind that did not pay is tried again after a few dozen steps
_KEPT_TIMES = 0.97
_FIRST_LENGTH = 2  # until it was seen what longer steps cost; doubled with each
_MIN_GAIN = 1.06  # what is closer to 1 is within the error of the estimates
_COST = 0.02  # of a drafted token, in steps of one token, before any was measured
_COST_WEIGHT = 1.0  # of that, in tokens squared
_KEPT_COST = 0.99  # after a plain step; or one disturbed measurement would end all drafting
_STEPS_TO_KNOW = 2  # without drafts; before, nothing tells whether longer steps cost more
_OUTLIER = 3.0  # times the expected time; a longer step says nothing about its length


class Drafted(NamedTuple):
    """A token, and how many tokens before it occurred before."""

    token: int
    match: int


class Lookup:
    """Finds what followed the last tokens where they occurred before; the longest match counts."""

    def __init__(self) -> None:
        self._tokens: list[int] = []
        self._after: dict[int, dict[tuple[int, ...], tuple[int, int]]] = {size: {} for size in _MATCHES}
        """What follows some tokens most of the time, lately, and by how many votes."""

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

    def draft(self, most: int) -> list[Drafted]:
        """Return at most `most` tokens, fewer where nothing matches."""
        drafted: list[Drafted] = []
        last = self._tokens[-max(_MATCHES) :]
        while len(drafted) < most and (found := self._next(last)) is not None:
            drafted.append(found)
            last.append(found.token)
        return drafted

    def _next(self, last: list[int]) -> Drafted | None:
        for size, following in self._after.items():
            found = following.get(tuple(last[-size:])) if len(last) >= size else None
            if found is not None:
                return Drafted(found[0], size)
        return None


def _voted(now: tuple[int, int] | None, token: int) -> tuple[int, int]:
    if now is None or (now[0] != token and now[1] == 1):
        return token, 1
    return now[0], min(now[1] + 1, _MAX_VOTES) if now[0] == token else now[1] - 1


@dataclass(slots=True)
class StepTimes:
    """The seconds of a step and of each drafted token in it, estimated from steps of several lengths."""

    _weight: float = 0.0
    _drafted: float = 0.0  # weighted sums
    _seconds: float = 0.0
    _drafted_squared: float = 0.0
    _product: float = 0.0
    num_drafted: int = 0  # steps with drafts so far
    num_plain: int = 0  # and without
    _token_s: float = 0.0  # as of the latest of them, because plain steps tell nothing about it

    def note(self, drafted: int, seconds: float) -> None:
        base_s, token_s = self.estimate()
        if self._weight > 1:
            seconds = min(seconds, _OUTLIER * (base_s + drafted * token_s))
        self._weight = _KEPT_TIMES * self._weight + 1
        self._drafted = _KEPT_TIMES * self._drafted + drafted
        self._seconds = _KEPT_TIMES * self._seconds + seconds
        self._drafted_squared = _KEPT_TIMES * self._drafted_squared + drafted**2
        self._product = _KEPT_TIMES * self._product + drafted * seconds
        if drafted:
            self._token_s = self.estimate()[1]
            self.num_drafted += 1
        else:
            self._token_s *= _KEPT_COST
            self.num_plain += 1

    def estimate(self) -> tuple[float, float]:
        """Return the seconds of a step of one token, and of each drafted one."""
        if not self._weight:
            return 1.0, _COST
        drafted, seconds = self._drafted / self._weight, self._seconds / self._weight
        prior = self._token_s if self.num_drafted else seconds / (1 + _COST * drafted) * _COST
        spread = self._drafted_squared - self._weight * drafted**2
        together = self._product - self._weight * drafted * seconds
        token_s = max((together + _COST_WEIGHT * prior) / (spread + _COST_WEIGHT), 0.0)
        return max(seconds - token_s * drafted, token_s, 1e-9), token_s


@dataclass(slots=True)
class _Kind:
    """How often tokens drafted after one size of match were right; both counts fade."""

    chance: float  # before any try
    right: float = 0.0
    tried: float = 0.0

    @property
    def likely(self) -> float:
        return (self.right + self.chance) / (self.tried + 1)

    def keep(self, share: float) -> None:
        self.right *= share
        self.tried *= share


@dataclass(slots=True)
class Payoff:
    """Decides how long drafts of one text are. `times` may be shared by several texts."""

    times: StepTimes
    _kinds: dict[int, _Kind] = field(default_factory=lambda: {size: _Kind(p) for size, p in _MATCHES.items()})

    def worth(self, drafted: Sequence[Drafted]) -> Sequence[Drafted]:
        """Return the beginning of a draft that gives the most tokens a second; nothing if a plain step is as fast."""
        if self.times.num_plain < _STEPS_TO_KNOW:
            return ()
        base_s, token_s = self.times.estimate()
        best, best_gain, tokens, chance = 0, _MIN_GAIN, 1.0, 1.0
        for count, (_, match) in enumerate(drafted[: _FIRST_LENGTH << min(self.times.num_drafted, 8)], 1):
            chance *= self._kinds[match].likely
            tokens += chance
            gain = tokens * base_s / (base_s + count * token_s)
            if gain > best_gain:
                best, best_gain = count, gain
        if drafted and not best:
            self._kinds[drafted[0].match].keep(_KEPT_AFTER_SKIP)
        return drafted[:best]

    def note(self, drafted: Sequence[Drafted], right: int) -> None:
        """Note how many of the drafted tokens were right."""
        for place, (_, match) in enumerate(drafted[: right + 1]):
            kind = self._kinds[match]
            kind.keep(_KEPT_AFTER_TRY)
            kind.right += place < right
            kind.tried += 1
