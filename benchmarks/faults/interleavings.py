"""Random interleavings of sessions, compared with sessions alone: `interleavings`. See the tests' helper of that name.

`python -m benchmarks.faults.interleavings SEED COUNT` runs a part of them.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import Counter
from importlib import import_module
from pathlib import Path

import torch

from benchmarks.figures import Measured, figure

_COUNT, _SOAK_COUNT = 2_000, 20_000


@figure("interleavings", unit="faults", reach=0)
def faults(soak: bool) -> Measured:
    """Faults in 2,000 random interleavings of sessions (20,000 in soak), the step loop turned by hand.

    Steps, pushes, rollbacks, reorders, spills, offloads and clients that leave. A fault is an answer that differs
    from that of a session alone, or pages, streams and tasks that are left.
    """
    return _faults(range(_SOAK_COUNT if soak else _COUNT))


def _faults(seeds: range) -> Measured:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_interleave(seeds, Path(folder)))


async def _interleave(seeds: range, folder: Path) -> Measured:
    interleave = import_module("helpers.interleavings").interleave
    answers, met, found = 0, Counter[str](), dict[int, list[str]]()
    for seed in seeds:
        outcome = await interleave(seed, folder)
        answers += outcome.answers
        met += outcome.met
        if outcome.faults:
            found[seed] = outcome.faults
            print(f"seed {seed}: {outcome.faults}", flush=True)
    detail = {"interleavings": len(seeds), "answers": answers, "met": dict(met), "faults": found}
    return Measured(sum(map(len, found.values())), detail, holds=min(met["spills"], met["returns"]) > 0)


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    print(_faults(range(first, first + count)))
