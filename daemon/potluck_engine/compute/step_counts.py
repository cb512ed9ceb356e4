"""Counts the steps and tokens that an engine computes."""

from __future__ import annotations

from collections import Counter

from potluck_control.engine_metrics import STEP_TIME_BOUNDS_S

from potluck.protocol.codes import Code

RECENT_WEIGHT = 0.1
"""Of the newest step in `StepCounts.recent_rows`."""


class StepCounts:
    """Counts that the computing threads write."""

    def __init__(self) -> None:
        self.decode_tokens = 0
        self.prefill_tokens = 0
        self.shared_tokens = 0
        self.forward_tokens = 0
        self.backward_tokens = 0
        self.steps = 0
        self.step_rows = 0
        self.recent_rows = 0.0  # of a step, over the last dozen
        self.step_seconds = 0.0
        self.step_times = [0] * (len(STEP_TIME_BOUNDS_S) + 1)
        self.spills = 0
        self.returns = 0
        self.refusals: Counter[Code] = Counter()
