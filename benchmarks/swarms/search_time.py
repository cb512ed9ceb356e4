"""Figure `route_n10000`: how long a client with ten thousand servers in its columns looks for a route.

The columns is made when the directory is read, so its time is told apart. Times are CPU times of this thread: what
others do to the machine meanwhile is not the search's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np

from benchmarks.figures import Measured, figure
from benchmarks.swarms.fleet import Client, Fleet
from benchmarks.swarms.volunteers import scenario
from potluck.protocol.blocks import Span
from potluck.routing.route import Vantage
from potluck.routing.search import DRAWS, draw_routes, find_route
from potluck.routing.servers import ServerColumns

T = TypeVar("T")

_SERVERS = 10_000


@figure("route_n10000", unit="ms", reach=10)
def ten_thousand(soak: bool) -> Measured:
    """99th percentile of one route through 10,000 servers: a dozen noisy routes at once, CPU time."""
    fleet, rng = Fleet.random(_SERVERS, seed=1), np.random.default_rng(2)
    whole = Span(0, scenario()["model"]["num_blocks"])
    columns, first_ms = _timed(lambda: ServerColumns.of(fleet.servers))
    columns, again_ms = _timed(lambda: ServerColumns.of(fleet.servers, columns))
    routes_ms, one_ms, estimates_ms = [], [], []
    for _ in range(50 if soak else 10):
        (client,), estimate_ms = _timed(lambda: Client.random(fleet, 1, rng))
        estimates_ms.append(estimate_ms)
        vantage = Vantage(rtts_s=client.known_s)
        search = partial(draw_routes, columns, whole, rng, draws=DRAWS, vantage=vantage)
        routes_ms += [_timed(search)[1] for _ in range(20)]
        one_ms.append(_timed(partial(find_route, columns, whole, vantage=vantage))[1])
    return Measured(
        float(np.quantile(routes_ms, 0.99)),
        {
            "median_ms": round(float(np.median(routes_ms)), 2),
            "without_noise_median_ms": round(float(np.median(one_ms)), 2),
            "routes": len(routes_ms),
            "roster_first_ms": round(first_ms, 1),
            "roster_again_ms": round(again_ms, 1),
            "distances_ms": round(float(np.median(estimates_ms)), 1),
        },
    )


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what `work` returns, and its milliseconds of CPU time."""
    began_s = time.thread_time()
    result = work()
    return result, 1000 * (time.thread_time() - began_s)
