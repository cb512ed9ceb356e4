"""Which blocks to serve: where a server begins, when and where it moves, in which order it loads and fetches. Pure.

    join: choose_span -> load_order -> serving
    every `CHECK_S`: next_move -> fetch what is missing, then swap block by block -> serving
    meanwhile: prefetch_order

Who joins reckons with what others promised, because it chooses for hours. Who serves already moves for what is live or
about to be (`SwarmMap.soon`). That not everybody rushes to the same hole, a move has a chance, the smaller the more
others would gain by one; every server can compute what the others would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from potluck.protocol.blocks import Span
from potluck_engine.placement.plan import MOST_SERVERS, plan_moves
from potluck_engine.placement.price import HORIZON_S, Floats, Ints, best_places, mean_of
from potluck_engine.placement.swarm_map import SwarmMap

CHECK_S = 15.0  # between two looks for a better place
AGAIN_S = 3.0  # after a move, and while a move is urgent
_FAVOUR = 8  # chances are as this power of the gains: mostly those go who gain most by it
_MOST_FAVOUR = 8.0  # that one other server counts: nobody who says so and does not go holds up the rest for long
_MOVES_AT_A_TIME = 1.0  # expected of the whole swarm between two looks, in quiet times
_WELL = 0.85  # of the mean coverage: where there is less because many failed at once, more go at a time
_MENDED = 0.92  # of the mean coverage: hundreds of servers that plan together stop there
_MOST_MENDERS = 200  # above, a plan takes longer than a decision may
_MOST_REPAIRS = 10  # in one plan
_SHARE_AT_A_TIME = 0.5  # of what is lacking; all that wish to move have the same place in mind, and would be too many
_ASKED = 128  # servers whose wish to move is computed; of more, a sample tells enough


@dataclass(frozen=True, slots=True)
class _Worthwhile:
    """Which moves are."""

    min_share: float  # of what a server bears on the average: what gains less costs more than it brings
    horizon_s: float  # a place that takes so long to fetch is worth half: the swarm will look different by then


_QUIET = _Worthwhile(min_share=0.14, horizon_s=HORIZON_S)
_MENDING = _Worthwhile(min_share=0.07, horizon_s=10.0)  # others have the files, and little is better than nothing


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """A better place, and the chance with which a server should go there now."""

    target: Span
    gain: float  # of the swarm's worth, in mean coverage
    chance: float
    is_urgent: bool = False  # some blocks are thin: who has not gone now should look again soon


def choose_span(swarm_map: SwarmMap) -> Span:
    """Where a server that joins should serve."""
    rows = np.array([swarm_map.me])
    start = best_places(swarm_map.coverage(swarm_map.servers.spans), swarm_map.servers.rows(rows)).start[0]
    return _span(swarm_map, swarm_map.me, int(start))


def next_move(swarm_map: SwarmMap) -> PlannedMove | None:
    """Where a server that is at rest should go; None: it is where it should be."""
    if swarm_map.servers.length[swarm_map.me] == 0:
        raise ValueError("a server that serves nothing has to choose a span, not to move")
    is_planned = plans_together(swarm_map)
    moves = planned_moves(swarm_map) if is_planned else single_moves(swarm_map, np.array([swarm_map.me]))
    return moves.get(swarm_map.me)


def plans_together(swarm_map: SwarmMap) -> bool:
    """Whether servers agree on their moves: a small swarm always, one of hundreds while some blocks are thin."""
    num_servers = len(swarm_map.peers)
    return num_servers <= MOST_SERVERS or (
        num_servers <= _MOST_MENDERS and _is_thin(swarm_map.coverage(swarm_map.soon))
    )


def waits_for_others(swarm_map: SwarmMap) -> bool:
    """Whether blocks are in need that a plan leaves to others: unserved ones, and thin ones of hundreds of servers."""
    return swarm_map.has_holes or (len(swarm_map.peers) > MOST_SERVERS and plans_together(swarm_map))


def single_moves(swarm_map: SwarmMap, rows: Ints) -> dict[int, PlannedMove]:
    """What each of these servers should do while the others stay where they are, by row."""
    coverage = swarm_map.coverage(swarm_map.soon)
    start, gain = _wishes(swarm_map, coverage, rows)
    if not gain.any():
        return {}
    at_rest = np.flatnonzero(swarm_map.at_rest)
    asked = at_rest[:: -(-len(at_rest) // _ASKED)]  # peers' ids are random, so that every n-th is a fair sample
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
    """What servers that plan together should do, by their rows."""
    if len(swarm_map.peers) > MOST_SERVERS:
        return _mending_moves(swarm_map)
    rows = np.flatnonzero(swarm_map.at_rest)
    servers = swarm_map.servers.rows(rows)
    plan = plan_moves(swarm_map.coverage(swarm_map.soon), servers)
    return {
        int(rows[i]): PlannedMove(_span(swarm_map, int(rows[i]), int(plan.start[i])), plan.gain, 1.0)
        for i in np.flatnonzero(plan.start != servers.start)
    }


def _mending_moves(swarm_map: SwarmMap) -> dict[int, PlannedMove]:
    """The best single moves, one after the other, until no block is thin; by rows."""
    servers, coverage = swarm_map.servers, swarm_map.coverage(swarm_map.soon)
    rows, moves = np.flatnonzero(swarm_map.at_rest), dict[int, PlannedMove]()
    while len(rows) and len(moves) < _MOST_REPAIRS and coverage.min() < _MENDED * coverage.mean():
        start, gain = _wishes(swarm_map, coverage, rows, _MENDING)
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
    """The blocks of `span` in the order in which they should go live, neighbours of those that are.

    Begins with blocks that are on disk, and there where they are needed most; grows to the side that is on disk, else
    to the side that is needed more.
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
    """Blocks whose files should be fetched in the background: those that the swarm has least of first."""
    return rarest_missing(swarm_map.coverage(swarm_map.soon), swarm_map.servers.fetch_s[swarm_map.me])


def rarest_missing(coverage: Floats, fetch_s: Floats) -> list[int]:
    """Blocks that are not on disk, the least covered first. Shapes: both [blocks]."""
    return [int(block) for block in np.argsort(coverage, kind="stable") if fetch_s[block] > 0]


def _wishes(swarm_map: SwarmMap, coverage: Floats, rows: Ints, worthwhile: _Worthwhile = _QUIET) -> tuple[Ints, Floats]:
    """Where these servers would go, and what that is worth; 0: not worth a move."""
    places = best_places(coverage, swarm_map.servers.rows(rows), worthwhile.horizon_s)
    least = worthwhile.min_share * float(swarm_map.servers.throughput_tps.mean()) / mean_of(coverage)
    return places.start, np.where(places.gain > least, places.gain, 0.0)


def _is_thin(coverage: Floats) -> bool:
    return bool(coverage.min() < _WELL * coverage.mean())


def _moves_at_a_time(swarm_map: SwarmMap, coverage: Floats) -> float:
    """How many servers should move before all look again."""
    lacking = np.maximum(_WELL * coverage.mean() - coverage, 0.0).sum()
    servers = swarm_map.servers
    typical = float((servers.throughput_tps * servers.length).mean())
    return max(_MOVES_AT_A_TIME, _SHARE_AT_A_TIME * float(lacking) / max(typical, 1e-9))


def _span(swarm_map: SwarmMap, row: int, start: int) -> Span:
    return Span(start, start + int(swarm_map.servers.window[row]))
