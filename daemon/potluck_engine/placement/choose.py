"""Chooses blocks: where a server begins, when and where it moves, in which order it loads and fetches them. Pure.

    join: choose_span -> load_order -> serving
    every `CHECK_S`: next_move -> fetch what is missing, then swap block by block -> serving
    meanwhile: prefetch_order

A server that joins counts what others promised, because it chooses for hours. A server that serves counts what is live
or about to be (`SwarmMap.soon`). A move has a chance, which is smaller the more others would gain by moving, so that
not all servers rush to the same hole. Every server can compute what the others would gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from potluck.protocol.blocks import Span
from potluck_engine.placement.plan import MAX_SERVERS, plan_moves
from potluck_engine.placement.price import HORIZON_S, Floats, Ints, best_places, mean_of
from potluck_engine.placement.swarm_map import SwarmMap

CHECK_S = 15.0  # the pause between two decisions
AGAIN_S = 3.0  # the pause after a move, and while a move is urgent
_FAVOUR = 8  # chances grow with this power of the gain: mostly the servers that gain most will move
_MOST_FAVOUR = 8.0  # cap on one peer's weight, so that a peer that never makes its move cannot block others
_MOVES_AT_A_TIME = 1.0  # how many the whole swarm makes between two decisions, in quiet times
_WELL = 0.85  # times the mean coverage; thinner blocks mean that many servers failed, and more move at a time
_MENDED = 0.92  # times the mean coverage, where hundreds of servers that plan together stop
_MAX_MENDERS = 200  # servers; with more, a plan takes longer than a decision may
_MAX_REPAIRS = 10  # moves in one plan
_SHARE_AT_A_TIME = 0.5  # mended share of the missing coverage; all servers that wish to move choose the same place
_MIN_GAIN = 0.14  # times the mean throughput of servers; a smaller gain is not worth a move
_MIN_MENDING_GAIN, _MENDING_HORIZON_S = 0.07, 10.0  # small gains count while blocks are thin, if files are near
_SAMPLE = 128  # servers whose wish to move is computed; that is enough


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """A better place, and the chance with which a server should go there now."""

    target: Span
    gain: float  # growth of the swarm's worth, in mean coverage
    chance: float
    is_urgent: bool = False  # whether some blocks are thin, so that a server that does not go should decide again soon


def choose_span(swarm_map: SwarmMap) -> Span:
    """Return where a server that joins should serve."""
    rows = np.array([swarm_map.me])
    start, _ = best_places(swarm_map.coverage(swarm_map.servers.spans), swarm_map.servers.rows(rows))
    return _span(swarm_map, swarm_map.me, int(start[0]))


def next_move(swarm_map: SwarmMap) -> PlannedMove | None:
    """Return where a server at rest should go; None if it should stay."""
    if swarm_map.servers.length[swarm_map.me] == 0:
        raise ValueError("a server that serves nothing has to choose a span, not to move")
    is_planned = plans_together(swarm_map)
    moves = planned_moves(swarm_map) if is_planned else single_moves(swarm_map, np.array([swarm_map.me]))
    return moves.get(swarm_map.me)


def plans_together(swarm_map: SwarmMap) -> bool:
    """Return whether servers plan together: always in a small swarm, in one of hundreds while blocks are thin."""
    num_servers = len(swarm_map.peers)
    return num_servers <= MAX_SERVERS or (num_servers <= _MAX_MENDERS and _is_thin(swarm_map.coverage(swarm_map.soon)))


def waits_for_others(swarm_map: SwarmMap) -> bool:
    """Return whether a plan leaves blocks in need to others: unserved ones, or thin ones in a swarm of hundreds."""
    return swarm_map.has_holes or (len(swarm_map.peers) > MAX_SERVERS and plans_together(swarm_map))


def single_moves(swarm_map: SwarmMap, rows: Ints) -> dict[int, PlannedMove]:
    """Return the move of each of these servers while the others stay, by row."""
    coverage = swarm_map.coverage(swarm_map.soon)
    start, gain = _wishes(swarm_map, coverage, rows)
    if not gain.any():
        return {}
    at_rest = np.flatnonzero(swarm_map.at_rest)
    asked = at_rest[:: -(-len(at_rest) // _SAMPLE)]  # peers' ids are random, so every n-th server makes a fair sample
    wish = np.flatnonzero(gain)
    others = (_wishes(swarm_map, coverage, asked)[1] / gain[wish, None]) ** _FAVOUR  # [wish, asked]
    of_all = np.minimum(others, _MOST_FAVOUR).sum(axis=1) * len(at_rest) / len(asked)
    chance = np.minimum(1.0, _moves_at_a_time(swarm_map, coverage) / np.maximum(of_all, 1.0))
    is_urgent = _is_thin(coverage)
    return {
        int(rows[i]): PlannedMove(
            _span(swarm_map, int(rows[i]), int(start[i])), float(gain[i]), float(of_one), is_urgent
        )
        for i, of_one in zip(wish, chance, strict=True)
    }


def planned_moves(swarm_map: SwarmMap) -> dict[int, PlannedMove]:
    """Return the moves of servers that plan together, by row."""
    if len(swarm_map.peers) > MAX_SERVERS:
        return _mending_moves(swarm_map)
    rows = np.flatnonzero(swarm_map.at_rest)
    servers = swarm_map.servers.rows(rows)
    plan = plan_moves(swarm_map.coverage(swarm_map.soon), servers)
    return {
        int(rows[i]): PlannedMove(_span(swarm_map, int(rows[i]), int(plan.start[i])), plan.gain, 1.0)
        for i in np.flatnonzero(plan.start != servers.start)
    }


def _mending_moves(swarm_map: SwarmMap) -> dict[int, PlannedMove]:
    """Return the best single moves, one after the other, until no block is thin; by row."""
    servers, coverage = swarm_map.servers, swarm_map.coverage(swarm_map.soon)
    rows, moves = np.flatnonzero(swarm_map.at_rest), dict[int, PlannedMove]()
    while len(rows) and len(moves) < _MAX_REPAIRS and coverage.min() < _MENDED * coverage.mean():
        start, gain = _wishes(swarm_map, coverage, rows, _MIN_MENDING_GAIN, _MENDING_HORIZON_S)
        best = int(gain.argmax())
        if not gain[best]:
            break
        row = int(rows[best])
        target = _span(swarm_map, row, int(start[best]))
        moves[row] = PlannedMove(target, float(gain[best]), 1.0)
        coverage[servers.start[row] : servers.start[row] + servers.length[row]] -= servers.throughput_tps[row]
        coverage[target.start : target.end] += servers.throughput_tps[row]
        rows = np.delete(rows, best)
    return moves


def load_order(swarm_map: SwarmMap, span: Span) -> list[int]:
    """Return the blocks of `span` in the order in which they should go live, each beside those before it.

    Begins with the block on disk that is needed most, and grows to the side that is on disk, or else to the side that
    is needed more.
    """
    is_missing = swarm_map.servers.fetch_s[swarm_map.me] > 0
    soon = swarm_map.soon.copy()
    soon[swarm_map.me] = False
    need = np.lexsort((swarm_map.coverage(soon), is_missing)).argsort()  # [blocks], 0: first
    order = [min(span, key=lambda block: need[block])]
    low, high = order[0] - 1, order[0] + 1
    while len(order) < len(span):
        if high >= span.end or (low >= span.start and need[low] < need[high]):
            order.append(low)
            low -= 1
        else:
            order.append(high)
            high += 1
    return order


def prefetch_order(swarm_map: SwarmMap) -> list[int]:
    """Return the blocks whose files to fetch in advance, the rarest in the swarm first."""
    return rarest_missing(swarm_map.coverage(swarm_map.soon), swarm_map.servers.fetch_s[swarm_map.me])


def rarest_missing(coverage: Floats, fetch_s: Floats) -> list[int]:
    """Return the blocks that are not on disk, the least covered first. Shapes: both [blocks]."""
    return [int(block) for block in np.argsort(coverage, kind="stable") if fetch_s[block] > 0]


def _wishes(
    swarm_map: SwarmMap,
    coverage: Floats,
    rows: Ints,
    least_gain: float = _MIN_GAIN,
    horizon_s: float = HORIZON_S,
) -> tuple[Ints, Floats]:
    """Return where these servers would go and what they gain; a gain of 0 is not worth a move."""
    start, gain = best_places(coverage, swarm_map.servers.rows(rows), horizon_s)
    least = least_gain * float(swarm_map.servers.throughput_tps.mean()) / mean_of(coverage)
    return start, np.where(gain > least, gain, 0.0)


def _is_thin(coverage: Floats) -> bool:
    return bool(coverage.min() < _WELL * coverage.mean())


def _moves_at_a_time(swarm_map: SwarmMap, coverage: Floats) -> float:
    """Return how many servers should move before all look again."""
    lacking = np.maximum(_WELL * coverage.mean() - coverage, 0.0).sum()
    servers = swarm_map.servers
    typical = float((servers.throughput_tps * servers.length).mean())
    return max(_MOVES_AT_A_TIME, _SHARE_AT_A_TIME * float(lacking) / max(typical, 1e-9))


def _span(swarm_map: SwarmMap, row: int, start: int) -> Span:
    return Span(start, start + int(swarm_map.servers.window[row]))
