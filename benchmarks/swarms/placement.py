"""Placement in a simulated swarm of volunteers, by the engine's own functions: `sim_throughput_n100`."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from benchmarks.figures import Measured, figure
from benchmarks.setup.generation import Interval
from benchmarks.swarms.placement_policy import Potluck
from benchmarks.swarms.simulated_swarm import Result, Swarm
from benchmarks.swarms.volunteers import checksum, scenario

_NUM_SERVERS = 100
_SOAK_SEEDS, _SOAK_HOURS = tuple(range(1, 21)), 48.0


@figure("sim_throughput_n100", unit="share", reach=0.92, better="higher", shown=True)
def throughput_n100(soak: bool) -> Measured:
    """Throughput of the least covered of 80 blocks over perfect balance, 100 simulated volunteers placed by the
    engine's own functions.
    """
    bench = scenario()["seeds"]["bench"]
    seeds, hours = (_SOAK_SEEDS, _SOAK_HOURS) if soak else (bench["seeds"], bench["hours"])
    with ProcessPoolExecutor(min(len(seeds), os.cpu_count() or 1)) as pool:
        runs = list(pool.map(partial(_run, hours), seeds))
    throughput = Interval.of([float(np.mean(run.throughput)) for run in runs])
    detail = {
        "mean": round(throughput.mean, 4),
        "half_width_95": round(throughput.half_width, 4),
        "availability": round(float(np.mean([run.is_available for run in runs])), 4),
        "moves_a_server_hour": round(sum(run.moves for run in runs) / sum(run.server_hours for run in runs), 3),
        "scenario_sha256": checksum(),
    }
    return Measured(throughput.mean - (throughput.half_width if soak else 0.0), detail)


def _run(hours: float, seed: int) -> Result:
    return Swarm(_NUM_SERVERS, Potluck(), seed).run(hours)
