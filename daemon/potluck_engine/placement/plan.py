"""Plans the moves of a small swarm: several at once that no server would make alone.

With a few dozen servers of very different speeds, single best moves get stuck where only two or three moves together
help. Every server searches for them by itself and finds the same plan, because all know the same directory and the
search is deterministic. Each carries out its own part. A server that decides later plans anew from what is promised
then.

Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from potluck_engine.placement.price import (
    Bools,
    Floats,
    Ints,
    ServerTable,
    fetch_s_of_windows,
    mean_of,
    soft_min,
    worth_of_windows,
)

MAX_SERVERS = 40  # single moves reach the same in larger swarms
_TRIES = 24  # searches, each with another first step
_MAX_MOVES = 4  # moves in one search, after the first step
_COST_OF_A_MOVE = 0.003  # mean coverages
# All parts of a plan must come at about the same time. While a block is unserved the whole swarm serves nobody, so a
# plan that takes longer is better than one that leaves it unserved.
_MOST_FETCH_S = (90.0, 300.0, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class SwarmPlan:
    """A place for each server. Shapes: start [servers], coverage [blocks]."""

    start: Ints
    gain: float  # all moves together, in mean coverage
    coverage: Floats  # the swarm's after the moves


def plan_moves(coverage: Floats, servers: ServerTable) -> SwarmPlan:
    """Return the best plan that a few random beginnings lead to; nobody moves if none is worth it.

    Args:
        coverage: [blocks], tokens a second of all servers.
        servers: those that may be moved, their spans included in `coverage`.
    """
    for most_fetch_s in _MOST_FETCH_S:
        plan = _search(coverage, servers, most_fetch_s)
        if plan.coverage.all():
            break
    return plan


def _search(coverage: Floats, servers: ServerTable, most_fetch_s: float) -> SwarmPlan:
    rng = np.random.default_rng(0)
    mean = mean_of(coverage)
    now = float(soft_min(coverage, mean))
    others = np.maximum(coverage - servers.throughput_tps @ servers.spans, 0.0)
    fits = np.arange(len(coverage)) + servers.window[:, None] <= len(coverage)
    may_begin = fits & (fetch_s_of_windows(servers) <= most_fetch_s)
    best = SwarmPlan(servers.start, 0.0, coverage)
    for attempt in range(_TRIES):
        start = servers.start.copy()
        if attempt:
            row = rng.integers(len(start))
            start[row] = rng.choice(np.append(np.flatnonzero(may_begin[row]), start[row]))
        tried = _improved(others, _moved(servers, start), may_begin, mean)
        planned = others + tried.throughput_tps @ tried.spans
        gain = float(soft_min(planned, mean)) - now - _COST_OF_A_MOVE * int((tried.start != servers.start).sum())
        if gain > best.gain:
            best = SwarmPlan(tried.start, gain, planned)
    return best


def _improved(others: Floats, servers: ServerTable, may_begin: Bools, mean: float) -> ServerTable:
    """Return the servers after the best single moves, one after the other."""
    for _ in range(_MAX_MOVES):
        spans = servers.spans * servers.throughput_tps[:, None]
        coverage = others + spans.sum(axis=0)
        worth, _ = worth_of_windows(np.maximum(coverage - spans, 0.0), servers, mean)
        worth = np.where(may_begin, worth, 0.0)
        row, block = np.unravel_index(np.argmax(worth), worth.shape)
        if worth[row, block] <= float(soft_min(coverage, mean)) * (1 + 1e-4):
            break
        start = servers.start.copy()
        start[row] = block
        servers = _moved(servers, start)
    return servers


def _moved(servers: ServerTable, start: Ints) -> ServerTable:
    is_moved = start != servers.start
    length = np.where(is_moved, servers.window, servers.length)
    return ServerTable(start, length, servers.window, servers.throughput_tps, servers.fetch_s)
