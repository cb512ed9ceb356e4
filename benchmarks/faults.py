"""Faults injected into a real swarm, one after another: `faults`. What they are: `tests/faults/`."""

from __future__ import annotations

import statistics

from benchmarks.figures import Measured
from tests.faults.injector import inject
from tests.faults.plan import draw
from tests.helpers.golden import CHECKPOINT

_SEED = 15
_NUM_BLOCKS = 4
_WITHIN_S = 260.0  # leaves time to end everything within five minutes


def faults(soak: bool) -> Measured:
    count = 1000 if soak else 60
    plan = draw(_SEED, count, _NUM_BLOCKS, is_long=soak)
    outcome = inject(CHECKPOINT, plan, within_s=None if soak else _WITHIN_S)
    detail = {
        "kinds": dict(outcome.kinds),
        "lost": outcome.lost,
        "differing": outcome.differing,
        "orphans": outcome.orphans,
        "failed_starts": outcome.failed_starts,
        "median_s": round(statistics.median(outcome.waits_s), 2),
        "worst_s": round(max(outcome.waits_s), 2),
        "seed": _SEED,
    }
    return Measured(outcome.faults, detail, holds=outcome.kinds.total() == count)
