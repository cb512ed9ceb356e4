"""Derives the speed of the work for others from the growing count of tokens that an engine reports. Pure.

An engine counts from 0, so a count below the last one means a new engine. Times are monotonic seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

WINDOW_S = 6.0  # the speed is that of so long: steady enough to read, quick enough to believe
QUIET_S = 3.0  # without a new token there is no speed; an engine reports every second


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """`grew`: when tokens came lately, and how many the engine had served by then; first when they began to."""

    total: int = 0
    last_at: float = 0.0
    grew: tuple[tuple[float, int], ...] = ()

    def tokens_per_s(self, now: float) -> float:
        """Return the speed of the last seconds. It doesn't fade: after the last token it stays, then it is 0."""
        if len(self.grew) < 2:
            return 0.0
        (began, before), (ended, total) = self.grew[0], self.grew[-1]
        return (total - before) / (ended - began) if now - ended < QUIET_S else 0.0


def count(before: TokenCounts, total: int, now: float) -> TokenCounts:
    """Return the counts after an engine reported `total` tokens at `now`."""
    if total < before.total:
        return TokenCounts(total, now)
    if total == before.total:
        return TokenCounts(total, now, before.grew)
    recent = tuple(each for each in before.grew if now - each[0] < WINDOW_S)
    if not recent or before.last_at - recent[-1][0] >= QUIET_S:
        is_next = now - before.last_at < QUIET_S  # and not the first report of another engine
        recent = ((before.last_at, before.total),) if is_next else ()
    return TokenCounts(total, now, (*recent, (now, total)))
