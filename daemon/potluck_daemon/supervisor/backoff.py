"""Decides how long to wait before a failed engine is started again. Pure."""

from __future__ import annotations

FIRST_S = 1.0
FACTOR = 2.0
LONGEST_S = 300.0
STABLE_S = 60.0  # an engine that served this long failed for a new reason, so the first delay applies again
HOPELESS_S = 30.0  # after an explained failure, e.g. a missing checkpoint, which another try cannot mend


def delay_s(failures: int, *, explained: bool) -> float:
    """Return the seconds to wait after the `failures`th failure in a row, counted from 1."""
    delay = min(FIRST_S * FACTOR ** (min(failures, 32) - 1), LONGEST_S)
    return max(delay, HOPELESS_S) if explained else delay
