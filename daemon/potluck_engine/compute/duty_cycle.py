"""Lets a thread compute only part of the time, for the sake of a person at the computer, heat or a power cap."""

from __future__ import annotations

import time

MAX_REST_S = 1.0  # after one step, so that the thread can stop soon


class DutyCycle:
    """The share of time that a thread computes; other threads may set `duty`."""

    def __init__(self) -> None:
        self.duty = 1.0

    def rest(self, worked_s: float) -> None:
        """Sleep as long as keeps the share of work at `duty`; call after each turn, when its results are out."""
        if self.duty < 1.0:
            time.sleep(min(worked_s * (1.0 / self.duty - 1.0), MAX_REST_S))
