"""Draws what goes wrong when, from a seed. Pure."""

import random
from dataclasses import dataclass

ENDING_KINDS = (  # the engine, or the use of it
    "drained",
    "both drained",
    "killed",
    "p2pd killed",
    "files rewritten",
    "files truncated",
    "clock of the server wrong",
)
SERVER_KINDS = (
    *ENDING_KINDS,
    "frozen for a moment",
    "frozen",
    "p2pd frozen",
    "machine frozen",
    "starved",
    "clock of the server jumps",
    "connections cut",
    "connections refused",
    "lossy",
    "stalled",
    "not heard",
    "not hearing",
)
CLIENT_KINDS = (
    "client suspended",
    "client cut off",
    "p2pd of the client killed",
    "clock of the client jumps",
    "clock of the client wrong",
)
SHARED_KINDS = ("bootstrap frozen", "everything suspended", "disk full")
DAEMON_KINDS = ("daemon killed", "daemon hung", "daemon restarted", "state of the daemon damaged")
KINDS = (*SERVER_KINDS, *CLIENT_KINDS, *SHARED_KINDS, *DAEMON_KINDS)
PASSING_KINDS = {  # healed after `hold_s`; all others only when the work is done
    "frozen for a moment",
    "client suspended",
    "client cut off",
    "everything suspended",
    "daemon hung",
    "clock of the server jumps",
    "clock of the client jumps",
}
WORKS = ("tokens", "tokens", "full session", "gradients", "training")
NUM_TOKENS = 32
NUM_STEPS = 4  # of a training run
_BRIEF_S = (0.2, 2.0)
_LONG_S = 60.0
_LONG_SHARE = 0.2  # of the suspensions in a long run
_LONG_KINDS = {"client suspended", "everything suspended", "daemon hung"}
_JUMPS_S = (-7200.0, -90.0, 90.0, 7200.0)


@dataclass(frozen=True, slots=True)
class Injection:
    """One fault in one piece of work.

    Attributes:
        strike_at: the token or step of training before which it strikes; 0: while the prompt is read.
        block: whose server is struck.
        hold_s: how long it lasts at least, if it is one that passes by itself.
        jump_s: how far a clock jumps, or how wrong it stays.
    """

    kind: str
    work: str
    strike_at: int
    block: int
    hold_s: float
    jump_s: float


def draw(seed: int, count: int, num_blocks: int, *, is_long: bool = False) -> list[Injection]:
    """Return `count` injections: each kind once in every round, everything else at random."""
    rng = random.Random(seed)
    kinds: list[str] = []
    while len(kinds) < count:
        kinds += rng.sample(KINDS, len(KINDS))
    return [_injection(rng, kind, num_blocks, is_long) for kind in kinds[:count]]


def _injection(rng: random.Random, kind: str, num_blocks: int, is_long: bool) -> Injection:
    work = rng.choice(WORKS)
    is_for_long = is_long and kind in _LONG_KINDS and rng.random() < _LONG_SHARE
    return Injection(
        kind=kind,
        work=work,
        strike_at=_strike_at(rng, work),
        block=rng.randrange(num_blocks),
        hold_s=_LONG_S if is_for_long else rng.uniform(*_BRIEF_S),
        jump_s=rng.choice(_JUMPS_S),
    )


def _strike_at(rng: random.Random, work: str) -> int:
    match work:
        case "gradients":
            return 0
        case "training":
            return rng.randrange(NUM_STEPS)
        case _:
            return rng.choice((0, rng.randint(1, NUM_TOKENS - 4)))
