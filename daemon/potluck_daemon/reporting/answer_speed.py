"""Tells how fast answers come to the people of this computer: by their last answers, else as the servers promise. Pure.

It keeps lengths and times of a few answers, and never a word of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from potluck_control.api.schema import SpeedForYou

KEEP_S = 7 * 86400  # older answers say nothing about the speed now
_KEPT = 20  # answers
_LEAST_TOKENS = 8  # fewer tell more of the moment than of the swarm


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """An answer that ended at a Unix time; its `tokens` after the first one took `seconds`."""

    swarm: str  # prefix of the swarm and its model
    at: float
    tokens: int
    seconds: float


def with_answer(known: Sequence[TimedAnswer], latest: TimedAnswer) -> tuple[TimedAnswer, ...]:
    """Return the answers to remember, oldest first."""
    if latest.tokens < _LEAST_TOKENS or latest.seconds <= 0:
        return tuple(known)
    return (*known, latest)[-_KEPT:]


def speed_for_you(
    answers: Sequence[TimedAnswer], swarm: str, expected_tps: float | None, now: float
) -> SpeedForYou | None:
    """Return the speed in the swarm with this prefix; None if it is not known, or the model cannot run.

    Args:
        expected_tps: as the engine just expected it; 0: some blocks have no server; None: no engine looks.
    """
    if expected_tps == 0:
        return None
    rates = [one.tokens / one.seconds for one in answers if one.swarm == swarm and 0 <= now - one.at < KEEP_S]
    if rates:
        return SpeedForYou(round(median(rates), 2), is_measured=True)
    return SpeedForYou(round(expected_tps, 2), is_measured=False) if expected_tps else None
