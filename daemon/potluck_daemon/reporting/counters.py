"""Derives tokens a second and tokens today from the growing count that an engine reports. Pure.

An engine counts from 0, so a count below the last one means a new engine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SPEED_WINDOW_S = 5.0  # time constant of the moving average: steady enough to read, quick enough to believe


@dataclass(frozen=True, slots=True)
class TokenCounts:
    day: str = ""  # the local date of `today`
    today: int = 0
    tokens_per_s: float = 0.0
    last_total: int = 0
    last_at: float = 0.0  # monotonic
    served: int = 0  # by all engines since the daemon started


def count(before: TokenCounts, total: int, now: float, day: str) -> TokenCounts:
    """Return the counts after an engine reported `total` tokens at `now`."""
    new = total - before.last_total if total >= before.last_total else total
    elapsed_s = now - before.last_at
    if before.last_at == 0.0 or elapsed_s <= 0:
        speed = before.tokens_per_s
    else:
        weight = 1.0 - math.exp(-elapsed_s / SPEED_WINDOW_S)
        speed = before.tokens_per_s + weight * (new / elapsed_s - before.tokens_per_s)
    today = before.today + new if day == before.day else new
    return TokenCounts(day, today, speed if speed > 0.01 else 0.0, total, now, before.served + new)


def stopped(before: TokenCounts) -> TokenCounts:
    """Return the counts while no engine runs; the next engine counts from 0 again."""
    return TokenCounts(before.day, before.today, last_at=before.last_at, served=before.served)
