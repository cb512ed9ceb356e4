"""Faults injected into a real swarm, two at a time, and into two daemons: `faults`. What they are: `tests/faults/`.

`python -m benchmarks.faults.faults SEED COUNT SECONDS` carries out the part of a soak that begins
in that time.
"""

from __future__ import annotations

import json
import statistics
import sys

from benchmarks.figures import Measured, figure
from benchmarks.setup.machine import describe_machine
from tests.faults.injector import inject
from tests.faults.plan import draw
from tests.helpers.golden import CHECKPOINT

_SEED = 15
_NUM_BLOCKS = 4
_WITHIN_S = 260.0  # leaves time to end everything within five minutes


@figure("faults", unit="faults", reach=0, shown=True)
def faults(soak: bool) -> Measured:
    """60 seeded faults in a real swarm and its daemons (1,000 in soak): lost sessions, wrong results, lost state,
    orphans.
    """
    return _part(_SEED, 1000 if soak else 60, None if soak else _WITHIN_S, is_long=soak)


def _part(seed: int, count: int, within_s: float | None, *, is_long: bool) -> Measured:
    outcome = inject(CHECKPOINT, draw(seed, count, _NUM_BLOCKS, is_long=is_long), within_s=within_s)
    injected = outcome.kinds.total()
    detail = {
        "injected": injected,
        "kinds": dict(outcome.kinds),
        "lost": outcome.lost,
        "differing": outcome.differing,
        "silent": outcome.silent,
        "orphans": outcome.orphans,
        "failed_starts": outcome.failed_starts,
        "median_s": round(statistics.median(outcome.waits_s), 2),
        "worst_s": round(max(outcome.waits_s), 2),
        "seed": seed,
    }
    return Measured(outcome.faults, detail, holds=injected == count)


if __name__ == "__main__":
    seed, count, seconds = map(int, sys.argv[1:])
    part = _part(seed, count, seconds, is_long=True)
    print(
        json.dumps({"figure": "faults", "value": part.value, "detail": part.detail | {"machine": describe_machine()}})
    )
