"""Draws what goes wrong when, from a seed. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass

SERVER_KINDS = (
    "killed",
    "drained",
    "both drained",
    "frozen for a moment",
    "frozen",
    "p2pd killed",
    "p2pd frozen",
    "connections cut",
    "stalled",
    "not heard",
    "not hearing",
    "files rewritten",
    "files truncated",
)
KINDS = (*SERVER_KINDS, "client suspended")
WORKS = ("tokens", "tokens", "full session", "gradients")
NUM_TOKENS = 32
_BRIEF_S = (0.2, 2.0)
_LONG_S = 60.0
_LONG_SHARE = 0.2  # of the suspensions in a long run


@dataclass(frozen=True, slots=True)
class Injection:
    """One fault in one piece of work.

    Attributes:
        strike_at: the token before which it strikes; 0: while the prompt is read.
        block: whose server is struck.
        hold_s: how long it lasts at least, if it is one that passes by itself.
    """

    kind: str
    work: str
    strike_at: int
    block: int
    hold_s: float


def draw(seed: int, count: int, num_blocks: int, *, is_long: bool = False) -> list[Injection]:
    """Return `count` injections: each kind once in every round, everything else at random."""
    rng = random.Random(seed)
    kinds: list[str] = []
    while len(kinds) < count:
        kinds += rng.sample(KINDS, len(KINDS))
    return [_injection(rng, kind, num_blocks, is_long) for kind in kinds[:count]]


def _injection(rng: random.Random, kind: str, num_blocks: int, is_long: bool) -> Injection:
    work = rng.choice(WORKS)
    is_for_long = is_long and kind == "client suspended" and rng.random() < _LONG_SHARE
    return Injection(
        kind=kind,
        work=work,
        strike_at=0 if work == "gradients" else rng.choice((0, rng.randint(1, NUM_TOKENS - 4))),
        block=rng.randrange(num_blocks),
        hold_s=_LONG_S if is_for_long else rng.uniform(*_BRIEF_S),
    )
