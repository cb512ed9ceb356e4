"""Many runs of the simulation side by side, and what they say together."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from benchmarks.simulation.petals import Petals
from benchmarks.simulation.potluck import Potluck
from benchmarks.simulation.swarm import Policy, Result, Swarm

PolicyName = Literal["potluck", "petals"]
_POLICIES: dict[PolicyName, Callable[[], Policy]] = {"potluck": Potluck, "petals": Petals}
_WELL = 0.85  # of the mean before an outage
_STAYS_WELL_S = 600.0


@dataclass(frozen=True, slots=True)
class Summary:
    """One run in numbers; the scenario file says what they mean."""

    throughput: float
    low_throughput: float  # the 5th percentile
    availability: float
    moves: float  # a server-hour
    download_gb: float  # a server-hour
    repairs_s: tuple[float, ...]  # after each outage


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds and the half width of its 95 % interval."""

    mean: float
    half_width: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        return cls(statistics.fmean(values), 1.96 * spread / math.sqrt(len(values)))


def run_seeds(
    policy: PolicyName, num_servers: int, seeds: Sequence[int], hours: float, outages_h: tuple[float, ...] = ()
) -> list[Summary]:
    """Each seed in a process of its own, as many at a time as there are cores."""
    work = partial(_run, policy, num_servers, hours, outages_h)
    with ProcessPoolExecutor(min(len(seeds), os.cpu_count() or 1)) as pool:
        return list(pool.map(work, seeds))


def repair_s(result: Result, outage_s: float) -> float:
    """Until the lowest block is back at 0.85 of its mean before, and stays there for ten minutes."""
    at_s, level = np.array(result.at_s), np.array(result.throughput)
    before = level[at_s < outage_s].mean()
    is_after = at_s > outage_s
    well_since = outage_s
    for now_s, value in zip(at_s[is_after], level[is_after], strict=True):
        if value < _WELL * before:
            if now_s - well_since > _STAYS_WELL_S:
                break
            well_since = now_s
    return float(well_since - outage_s)


def _run(policy: PolicyName, num_servers: int, hours: float, outages_h: tuple[float, ...], seed: int) -> Summary:
    result = Swarm(num_servers, _POLICIES[policy](), seed).run(hours, outages_h=outages_h)
    return Summary(
        throughput=float(np.mean(result.throughput)),
        low_throughput=float(np.percentile(result.throughput, 5)),
        availability=float(np.mean(result.is_available)),
        moves=result.moves / result.server_hours,
        download_gb=result.download_gb / result.server_hours,
        repairs_s=tuple(repair_s(result, outage_s) for outage_s in result.outages_s),
    )
