"""Finds the cheapest routes by dynamic programming over block boundaries.

Pure: a columns and the client's knowledge in, routes out. A hop may use any part of a server's span. Costs are seconds
of one decode step. Each hop costs a round trip from the client, the wait and the transfer; each block costs the time
of a step with one more row. The search is exact over the cheapest few hundred servers, for several draws of noise at
once. Noise keeps clients with the same outdated figures from all choosing the same servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from potluck.protocol.adapters import find_adapter
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck.routing.candidates import Candidates, costs, exclusion
from potluck.routing.route import Needs, Route, RouteHop, Vantage
from potluck.routing.servers import Floats, Ints, ServerColumns

NOISE_SIGMA = 0.35  # of the logarithm of costs; this and the next two come from simulations: docs/decisions/0018
DRAWS = 12  # noisy routes that a new session compares
MOST_ASKED = 16  # servers on these routes that are asked for quotes
_NO_NEEDS = Needs()
_NOTHING_KNOWN = Vantage()


def find_route(
    columns: ServerColumns, span: Span, *, vantage: Vantage = _NOTHING_KNOWN, needs: Needs = _NO_NEEDS
) -> Route:
    """Return the cheapest chain of servers that covers `span`.

    Where replicas of a block differ in weights or number formats, the variant of most usable servers is chosen; ties
    go to the smallest one. Pinned blocks accept only their pin.

    Raises:
        NoRouteError: some blocks have no usable server.
    """
    return _search(columns, span, vantage, needs, None)[0]


def draw_routes(
    columns: ServerColumns,
    span: Span,
    rng: np.random.Generator,
    *,
    draws: int,
    vantage: Vantage = _NOTHING_KNOWN,
    needs: Needs = _NO_NEEDS,
) -> list[Route]:
    """Return the different cheapest routes for `draws` noisy copies of all costs, ordered by their cost without noise.

    Raises: as `find_route`.
    """
    return _search(columns, span, vantage, needs, (rng, draws))


def shortlist(routes: Iterable[Route], most: int) -> list[LiveServer]:
    """Return the servers of the first route and of as many others as keep the total at `most` or below."""
    servers: dict[PeerId, LiveServer] = {}
    for route in routes:
        more = {hop.peer_id: hop.server for hop in route.hops}
        if not servers or len(servers | more) <= most:
            servers |= more
    return list(servers.values())


def reprice(
    columns: ServerColumns,
    parts: Sequence[tuple[PeerId, Span]],
    *,
    vantage: Vantage = _NOTHING_KNOWN,
    needs: Needs = _NO_NEEDS,
) -> Route | None:
    """Return a known route at its present cost; None if one of its servers is gone, refuses or has other blocks."""
    hop_s, block_s = costs(columns, vantage, needs)
    hops: list[RouteHop] = []
    for peer, span in parts:
        row = columns.index.get(peer)
        if row is None:
            return None
        server = columns.servers[row]
        if not server.span.covers(span) or exclusion(server, vantage, needs):
            return None
        hops.append(RouteHop(server, span, float(hop_s[row] + block_s[row] * len(span))))
    is_same = all(
        variant.can_replace(needs.pins.get(block, variant)) for hop in hops for block, variant in hop.pins.items()
    )
    return Route(tuple(hops)) if is_same else None


def choose_adapter(servers: Iterable[LiveServer], wanted: str) -> str:
    """Return the id of the adapter that `wanted` stands for, so that all servers of a client use the same one.

    Servers may use one name for different contents; the content served for the most blocks wins. Returns `wanted` if
    no server has it.
    """
    blocks: Counter[str] = Counter()
    for server in servers:
        found = find_adapter(server.record.adapters, wanted)
        if found is not None:
            blocks[found] += len(server.span)
    return min(blocks, key=lambda each: (-blocks[each], each), default=wanted)


_Path = tuple[tuple[int, int, int], ...]
"""Hops as candidate, first block and end block, counted from the start of the wanted span."""


def _search(
    columns: ServerColumns, span: Span, vantage: Vantage, needs: Needs, noise: tuple[np.random.Generator, int] | None
) -> list[Route]:
    found = Candidates.of(columns, span, vantage, needs)
    factors = np.ones((1, len(found.rows)))
    if noise is not None:
        rng, draws = noise
        factors = rng.lognormal(0.0, NOISE_SIGMA, (draws, len(found.rows)))
    paths = _cheapest_paths(found, factors)
    routes = []
    for path in dict.fromkeys(paths):
        hops = []
        for i, first, end in path:
            cost_s = float(found.hop_s[i] + found.block_s[i] * (end - first))
            hops.append(RouteHop(columns.servers[found.rows[i]], Span(span.start + first, span.start + end), cost_s))
        routes.append(Route(tuple(hops)))
    return sorted(routes, key=lambda route: route.cost_s)


def _cheapest_paths(found: Candidates, factors: Floats) -> list[_Path]:
    """Return the cheapest path through all blocks for each draw of `factors` [draws, candidates].

    `best` is the least cost of all blocks so far; `inside` is the least cost of a path that ends in each candidate.
    """
    hop_s, block_s = found.hop_s * factors, found.block_s * factors
    draws, num_blocks = np.arange(len(factors)), found.fits.shape[1]
    best = np.zeros((len(factors), 1))
    inside = np.full(factors.shape, np.inf)
    entered = np.zeros(factors.shape, np.int64)
    came_by = np.empty((num_blocks, 2, len(factors)), np.int64)  # candidate before a boundary, and its first block
    closed = np.where(found.fits.T, 0.0, np.inf)
    for block in range(num_blocks):
        entering = best + hop_s
        entered[entering < inside] = block
        inside = np.minimum(inside, entering)
        inside += block_s
        inside += closed[block]
        winners = inside.argmin(axis=1)
        best = inside[draws, winners][:, None]
        came_by[block] = winners, entered[draws, winners]
    return [_walk_back(came_by[:, :, draw]) for draw in draws]


def _walk_back(came_by: Ints) -> _Path:
    path: list[tuple[int, int, int]] = []
    end = len(came_by)
    while end:
        candidate, first = (int(value) for value in came_by[end - 1])
        path.append((candidate, first, end))
        end = first
    return tuple(reversed(path))
