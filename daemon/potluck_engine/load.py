"""Measures an engine's load for heartbeats and quotes, from recent decode steps and the link they go through.

Old steps do not count, so that a server that was slow a minute ago and is idle now gets clients again.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from dataclasses import dataclass

_RECENT_STEPS = 64
_RECENT_S = 20.0
_MOST_USE = 0.95  # of the link; the formula means nothing beyond it


@dataclass(frozen=True, slots=True)
class Load:
    """The load of a server as clients see it."""

    batch: int  # rows in recent steps
    step_ms: float  # median time of a decode step, wait included; 0: there was none
    queue_ms: float  # wait of a step that arrives now


class LoadMeter:
    """A window of recent decode steps, each measured from arrival to answer; append to `steps`."""

    def __init__(self) -> None:
        self.network_tps = math.inf  # rows a second that the link carries
        self.steps: deque[tuple[float, float, float]] = deque(maxlen=_RECENT_STEPS)  # when, milliseconds, of wait

    def load(self, now: float, *, rows: float) -> Load:
        """Return the load at `now`; `rows` are those of a recent step, as the compute thread counts them."""
        recent = [each for each in self.steps if now - each[0] < _RECENT_S]
        if not recent:
            return Load(0, 0.0, 0.0)
        rate_s = len(recent) / max(now - recent[0][0], 1.0)
        link_ms = 1000 * link_wait_s(rate_s, self.network_tps)
        step_ms = statistics.median(step for _, step, _ in recent)
        queue_ms = statistics.median(queue for _, _, queue in recent)
        return Load(round(rows), step_ms + link_ms, queue_ms + link_ms)


def link_wait_s(rows_s: float, network_tps: float) -> float:
    """Return how long a row waits for the link at this rate, for a queue with random arrivals."""
    if not math.isfinite(network_tps) or network_tps <= 0:
        return 0.0
    use = min(rows_s / network_tps, _MOST_USE)
    return use / (1 - use) / network_tps
