"""Drafts one text from the source that pays best: look-ups in the text, the model's own head, or a small model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from potluck.client.drafting.choosing import Drawing
from potluck.client.drafting.head import Draw, HeadText
from potluck.client.drafting.payoff import OF_A_HEAD, OF_A_MODEL, Drafted, Lookup, Payoff, StepTimes, guess_of
from potluck.routing.experience import faded


class GuessSource(Protocol):
    """Guesses how one text goes on: a small model, for one text. Used by one thread at a time."""

    def begin(self, ids: Sequence[int]) -> None:
        """Go back to the text `ids`."""

    def guess(self, draw: Draw | None = None) -> tuple[int, float]:
        """Return the next token, drawn or the likeliest, and its probability; 0 if it has no guess."""

    def follow(self, token: int) -> None:
        """Go on with a drafted token."""

    @property
    def is_behind(self) -> bool:
        """Tell whether the next guess takes much longer than others, as after a long prompt."""

    def catch_up(self) -> None:
        """Compute a part of what the next guess needs."""


class Drafting(Protocol):
    """A small model that drafts for a large one."""

    def text(self) -> GuessSource:
        """Return what guesses how another text goes on."""


class Drafter:
    """Guesses how a text goes on by look-ups, or by a model as long as that pays. One thread at a time may use it."""

    def __init__(
        self, times: StepTimes, most: int, *, head: HeadText | None = None, small: GuessSource | None = None
    ) -> None:
        """Store the settings.

        Args:
            times: estimates of this model's steps.
            most: limit of the tokens in a draft.
            head: the model's own head for further tokens.
            small: a small model.
        """
        self.payoff = Payoff(times)
        self.times = times
        self.most = most
        self._lookup = Lookup()
        self._last: list[int] = []  # the last tokens of the text and its draft, as many as are looked up
        self._head = head
        self._small = small
        self._of = 0  # the kind of guesses that is used: OF_A_HEAD, OF_A_MODEL, or 0 for none
        self._guess_s = {OF_A_HEAD: 0.0, OF_A_MODEL: 0.0}
        self._drafted: Sequence[Drafted] = ()
        self._length = 0  # tokens of the text and its draft
        self.drawing: Drawing | None = None

    def begin(self, ids: Sequence[int], drafted: Sequence[int] = ()) -> None:
        """Go back to the text `ids`, and on with tokens that were drafted before."""
        self._lookup.extend(ids[self._lookup.length :])
        self._last = [*self._lookup.last(), *drafted]
        self._length = len(ids) + len(drafted)
        able = [OF_A_HEAD] if self._head is not None and self._head.is_ready else []
        able += [OF_A_MODEL] if self._small is not None else []
        self._of = max(able, key=self.payoff.typical, default=0)
        for other in able:
            if other != self._of:
                self.payoff.skip(other)
        if self._source is not None:
            self._source.begin(ids)
            for token in drafted:
                self._source.follow(token)

    def guess(self, chance: float, cost_s: float, *, waits: bool = True) -> Drafted | None:
        """Return the next drafted token, and go on from it; None if none is worth it.

        Args:
            chance: probability that all drafted tokens so far are right.
            cost_s: what a drafted token costs.
            waits: whether to wait for a small model that has much to compute first.
        """
        payoff, source, best = self.payoff, self._source, self._lookup.next(self._last)
        if not waits and self.is_behind:
            pass
        elif source is not None and payoff.asks(self._of, chance, best, self._guess_s[self._of]):
            began_s = time.perf_counter()
            token, probability = source.guess() if self.drawing is None else source.guess(self._draw)
            self._guess_s[self._of] = faded(self._guess_s[self._of], time.perf_counter() - began_s)
            found = guess_of(token, probability, self._of)
            if probability and payoff.likely(found) > payoff.likely(best):
                best = found
        elif source is not None and chance == 1:
            payoff.skip(self._of)
        if best is None:
            return None
        if not payoff.goes_on(chance * payoff.likely(best), cost_s):
            if chance == 1:
                payoff.skip(best.kind)
            return None
        self._last.append(best.token)
        self._length += 1
        if source is not None:
            source.follow(best.token)
        return best

    def draft(self, ids: Tensor, most: int) -> Sequence[int]:
        """Return at most `most` tokens that may follow `ids` [1, tokens], for one step."""
        most = min(most, self.most, self.times.longest)
        found, chance = list[Drafted](), 1.0
        if self.times.knows_plain:
            self.begin(ids[0].tolist())
            cost_s = self.times.estimate().token_s
            while len(found) < most and (each := self.guess(chance, cost_s)) is not None:
                found.append(each)
                chance *= self.payoff.likely(each)
        self._drafted = self.payoff.worth(found)
        return [token for token, _ in self._drafted]

    def record(self, hidden: Tensor, right: int, seconds: float, compute_s: float) -> None:
        """Record how many of the drafted tokens were right, and what the step took.

        Args:
            hidden: the last block's outputs [1, tokens, hidden_size] for all new tokens but the last.
            compute_s: the part of the step's seconds that all servers together computed by their reports.
        """
        self.record_hidden(hidden)
        self.times.record(len(self._drafted), seconds, compute_s)
        self.payoff.record(self._drafted, right)

    def record_hidden(self, hidden: Tensor) -> None:
        """Record the last block's outputs [1, tokens, hidden_size] for further tokens of the text."""
        if self._head is not None:
            self._head.record(hidden)

    @property
    def is_behind(self) -> bool:
        """Tell whether the small model is in use and has much to compute first."""
        return self._small is not None and self._of == OF_A_MODEL and self._small.is_behind

    def catch_up(self) -> None:
        """Let the small model compute a part of that."""
        if self._small is not None:
            self._small.catch_up()

    @property
    def guess_s(self) -> float:
        """Return how long a guess takes."""
        return self._guess_s.get(self._of, 0.0)

    def _draw(self, logits: Tensor) -> int:
        assert self.drawing is not None
        return self.drawing.draw(logits, self._length)

    @property
    def _source(self) -> HeadText | GuessSource | None:
        return {OF_A_HEAD: self._head, OF_A_MODEL: self._small}.get(self._of)
