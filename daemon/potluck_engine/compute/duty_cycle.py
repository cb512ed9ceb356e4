"""Computing in a part of the time only, so that somebody who uses the computer, heat or a power cap is spared."""

from __future__ import annotations

import time

MAX_REST_S = 1.0  # after one step, so that stopping is never far away


class DutyCycle:
    """Owned by a thread that computes; `duty` is set from another one."""

    def __init__(self) -> None:
        self.duty = 1.0

    def rest(self, worked_s: float) -> None:
        """Sleep as long as keeps the share of work at `duty`; call after each step, when its results are out."""
        if self.duty < 1.0:
            time.sleep(min(worked_s * (1.0 / self.duty - 1.0), MAX_REST_S))
