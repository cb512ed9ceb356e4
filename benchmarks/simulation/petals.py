"""Petals' policy, written from its description in the protocol reference (14.12 to 14.14), to compare with.

Max-min windows over declared throughput, loading servers counted; checks at random times; a move restarts the server.
Its simulation of everybody's moves is done once a minute for all, not for each check, which takes hours less.
"""

from __future__ import annotations

import numpy as np
from potluck_engine.placement.price import Floats, Ints

from benchmarks.simulation.scenario import scenario
from benchmarks.simulation.swarm import Swarm

_BALANCE_QUALITY, _EPS = 0.75, 1e-3
_MEAN_CHECK_S = 120.0
_JOIN_DELAY_S = 10.0
_SHARED_FOR_S = 60.0
_MOST_SWEEPS = 20


class Petals:
    """Choose, load all, serve; when the swarm could be a third better, stop and do it again."""

    def __init__(self) -> None:
        churn = scenario()["churn"]
        self.ghost_s = tuple(churn["ghost_record_s"]["petals"])
        self.gb_a_block: float = scenario()["model"]["block_gb_bf16"]
        self._load_s: float = churn["load_s_per_block"]["petals"]
        self._choosing: list[tuple[float, int]] = []  # when, row
        self._next_check_s: dict[int, float] = {}
        self._possible, self._possible_until_s = 0.0, 0.0

    def join(self, swarm: Swarm, row: int) -> None:
        self._choosing.append((swarm.now_s + swarm.rng.uniform(0, _JOIN_DELAY_S), row))

    def tick(self, swarm: Swarm) -> None:
        for at_s, row in self._choosing:
            if at_s <= swarm.now_s and swarm.is_here[row]:
                self._load(swarm, row, _best_start(self._coverage(swarm), int(swarm.window[row])))
        self._choosing = [(at_s, row) for at_s, row in self._choosing if at_s > swarm.now_s]
        for row, at_s in list(self._next_check_s.items()):
            if not swarm.is_here[row]:
                del self._next_check_s[row]
            elif at_s <= swarm.now_s and swarm.busy_until_s[row] <= swarm.now_s:
                self._next_check_s[row] = swarm.now_s + swarm.rng.uniform(0, 2 * _MEAN_CHECK_S)
                self._check(swarm, row)

    def _load(self, swarm: Swarm, row: int, start: int) -> None:
        swarm.live_from_s[row] = np.inf
        swarm.start[row], swarm.length[row] = start, swarm.window[row]
        blocks = np.arange(start, start + swarm.window[row])
        online_s = swarm.fetch(row, blocks).max() + self._load_s * len(blocks)
        swarm.live_from_s[row, blocks] = swarm.busy_until_s[row] = online_s
        self._next_check_s[row] = online_s + swarm.rng.uniform(0, 2 * _MEAN_CHECK_S)

    def _check(self, swarm: Swarm, row: int) -> None:
        coverage, own = self._coverage(swarm), slice(swarm.start[row], swarm.start[row] + swarm.length[row])
        without = coverage.copy()
        without[own] -= swarm.throughput_tps[row] * (1 + _EPS)
        if without.min() <= 0 < coverage.min():
            return
        start = _best_start(without, int(swarm.window[row]))
        if start == swarm.start[row]:
            return
        if swarm.now_s >= self._possible_until_s:
            self._possible_until_s = swarm.now_s + _SHARED_FOR_S
            self._possible = _settled_minimum(coverage, swarm)
        if coverage.min() < (_BALANCE_QUALITY - _EPS) * self._possible:
            self._load(swarm, row, start)
            swarm.result.moves += 1

    def _coverage(self, swarm: Swarm) -> Floats:
        return swarm.seen.coverage(swarm.seen.servers.spans)


def _best_start(coverage: Floats, window: int) -> int:
    """Of the windows the one whose ascending throughputs are lexicographically smallest; the first of equals."""
    windows = np.lib.stride_tricks.sliding_window_view(coverage, window)
    lowest = windows.min(axis=1)
    candidates = np.flatnonzero(lowest == lowest.min())
    for place in range(1, window):
        if len(candidates) == 1:
            break
        if place == 1:
            values = np.sort(windows[candidates], axis=1)
        kept = values[:, place] == values[:, place].min()
        candidates, values = candidates[kept], values[kept]
    return int(candidates[0])


def _settled_minimum(coverage: Floats, swarm: Swarm) -> float:
    """The least covered block when all have moved to their best places, one by one, until nobody wants to."""
    servers = swarm.seen.servers
    coverage, starts = coverage.copy(), servers.start.copy()
    order: Ints = np.arange(len(starts))
    for _ in range(_MOST_SWEEPS):
        swarm.rng.shuffle(order)
        has_moved = False
        for index in order:
            tps, length = servers.throughput_tps[index], int(servers.length[index])
            old = slice(starts[index], starts[index] + length)
            coverage[old] -= tps * (1 + _EPS)
            start = _best_start(coverage, length)
            coverage[old] += tps * _EPS
            has_moved |= start != starts[index]
            starts[index] = start
            coverage[start : start + length] += tps
        if not has_moved:
            break
    return float(coverage.min())
