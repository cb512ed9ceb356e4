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
from potluck_daemon.placement.plan import MOST_SERVERS, plan_moves
from potluck_daemon.placement.price import Floats, Ints, best_places
from potluck_daemon.placement.swarm_map import SwarmMap

CHECK_S = 15.0  # between two looks for a better place
_MIN_GAIN = 0.0015  # of the mean coverage; below, moves cost more than they bring
_MOVES_AT_A_TIME = 2.0  # expected of the whole swarm between two looks
_ASKED = 256  # servers whose wish to move is computed; of more, a sample tells enough


@dataclass(frozen=True, slots=True)
class Move:
    """A better place, and the chance with which a server should go there now."""

    target: Span
    gain: float  # of the swarm's worth, in mean coverage
    chance: float


def choose_span(swarm_map: SwarmMap) -> Span:
    """Where a server that joins should serve."""
    rows = np.array([swarm_map.me])
    start = best_places(swarm_map.coverage(swarm_map.servers.spans), swarm_map.servers.rows(rows)).start[0]
    return _span(swarm_map, int(start))


def next_move(swarm_map: SwarmMap) -> Move | None:
    """Where a server that is at rest should go; None: it is where it should be."""
    if not swarm_map.at_rest[swarm_map.me]:
        raise ValueError("only a server that is at rest can move; one that serves nothing has to choose a span")
    if len(swarm_map.peers) <= MOST_SERVERS:
        return _part_of_plan(swarm_map)
    coverage = swarm_map.coverage(swarm_map.soon)
    start, gain = wishes(swarm_map, coverage, np.array([swarm_map.me]))
    if gain[0] == 0.0:
        return None
    others = np.flatnonzero(swarm_map.at_rest)
    others = others[others != swarm_map.me]
    step = -(-len(others) // _ASKED)
    asked = others[::step] if step else others  # peers' ids are random, so that every n-th is a fair sample
    wished = gain[0] + step * wishes(swarm_map, coverage, asked)[1].sum()
    return Move(_span(swarm_map, int(start[0])), float(gain[0]), min(1.0, _MOVES_AT_A_TIME * float(gain[0] / wished)))


def wishes(swarm_map: SwarmMap, coverage: Floats, rows: Ints) -> tuple[Ints, Floats]:
    """Where these servers would go, and what that is worth; 0: not worth a move."""
    places = best_places(coverage, swarm_map.servers.rows(rows))
    return places.start, np.where(places.gain > _MIN_GAIN, places.gain, 0.0)


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


def _part_of_plan(swarm_map: SwarmMap) -> Move | None:
    """The own part of what a small swarm should do together."""
    rows = np.flatnonzero(swarm_map.at_rest)
    plan = plan_moves(swarm_map.coverage(swarm_map.soon), swarm_map.servers.rows(rows))
    start = int(plan.start[np.searchsorted(rows, swarm_map.me)])
    if start == swarm_map.servers.start[swarm_map.me]:
        return None
    return Move(_span(swarm_map, start), plan.gain, 1.0)


def _span(swarm_map: SwarmMap, start: int) -> Span:
    return Span(start, start + int(swarm_map.servers.window[swarm_map.me]))
