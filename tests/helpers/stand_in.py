"""A draft model that knows the text and is right as often as a test wants."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

VOCABULARY = 256  # of the golden checkpoint


class StandIn:
    """Guesses the next token of `truth` with chance `share`, else another one; after a wrong one it guesses anything.

    It is a draft model of a single text, and that text.
    """

    is_behind = False

    def __init__(self, truth: Sequence[int], share: float, seed: int = 0, guess_s: float = 0.002) -> None:
        """`guess_s`: what a guess takes; where it is nothing, all drafted tokens leave in one window."""
        self.guesses = 0
        self._guess_s = guess_s
        self._truth, self._share, self._rng = list(truth), share, random.Random(seed)
        self._has: list[int] = []

    def text(self) -> StandIn:
        return self

    def begin(self, ids: Sequence[int]) -> None:
        self._has = list(ids)

    def guess(self) -> tuple[int, float]:
        self.guesses += 1
        time.sleep(self._guess_s)
        length = len(self._has)
        is_right = self._has == self._truth[:length] and length < len(self._truth) and self._rng.random() < self._share
        other = self._rng.randrange(3, VOCABULARY)
        return (self._truth[length] if is_right else other), max(self._share, 0.5)  # so that it is asked

    def follow(self, token: int) -> None:
        self._has.append(token)

    def catch_up(self) -> None: ...
