"""The routes of least cost, by dynamic programming over block boundaries.

Pure: servers and what the client knows in, routes out. A hop may use any part of a server's span. Costs are seconds of
one decode step: in a star, where each hop is a round trip from the client, that is for each hop the round trip, the
wait and the bytes, and for each block the time of a step with one more row than there are. The search is exact over
the cheapest few hundred servers, several draws of noise at once; noise keeps clients with the same old figures from
all choosing the same servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from potluck.protocol.adapters import find_adapter
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck.routing.candidates import Candidates, costs, exclusion
from potluck.routing.roster import Floats, Ints, Roster
from potluck.routing.route import Needs, Route, RouteHop, Vantage

NOISE_SIGMA = 0.35  # of the logarithm of costs; this and the next two are simulated: docs/decisions/0018
DRAWS = 12  # noisy routes of a session that is to stay
MOST_ASKED = 16  # servers on them that are asked for quotes
_NO_NEEDS = Needs()
_NOTHING_KNOWN = Vantage()


def find_route(roster: Roster, span: Span, *, vantage: Vantage = _NOTHING_KNOWN, needs: Needs = _NO_NEEDS) -> Route:
    """The cheapest chain of servers that covers `span`.

    Where replicas of a block differ in weights or numbers, the variant that most usable servers have is chosen, the
    smallest one among equals; pinned blocks accept only their pin.

    Raises:
        NoRouteError: some blocks have no usable server.
    """
    return _search(roster, span, vantage, needs, None)[0]


def draw_routes(
    roster: Roster,
    span: Span,
    rng: np.random.Generator,
    *,
    draws: int,
    vantage: Vantage = _NOTHING_KNOWN,
    needs: Needs = _NO_NEEDS,
) -> list[Route]:
    """The cheapest routes by `draws` noisy copies of all costs, each once, cheapest (without noise) first.

    Raises: as `find_route`.
    """
    return _search(roster, span, vantage, needs, (rng, draws))


def shortlist(routes: Iterable[Route], most: int) -> list[LiveServer]:
    """The servers of as many routes as have no more than `most` together; those of the first in any case."""
    servers: dict[PeerId, LiveServer] = {}
    for route in routes:
        more = {hop.peer_id: hop.server for hop in route.hops}
        if not servers or len(servers | more) <= most:
            servers |= more
    return list(servers.values())


def reprice(
    roster: Roster,
    parts: Sequence[tuple[PeerId, Span]],
    *,
    vantage: Vantage = _NOTHING_KNOWN,
    needs: Needs = _NO_NEEDS,
) -> Route | None:
    """What a route would cost now; None if a server of it is gone, refuses or has other blocks."""
    hop_s, block_s = costs(roster, vantage, needs)
    hops: list[RouteHop] = []
    for peer, span in parts:
        row = roster.index.get(peer)
        if row is None:
            return None
        server = roster.servers[row]
        if not server.span.covers(span) or exclusion(server, vantage, needs):
            return None
        hops.append(RouteHop(server, span, float(hop_s[row] + block_s[row] * len(span))))
    is_same = all(needs.pins.get(block, variant) == variant for hop in hops for block, variant in hop.pins.items())
    return Route(tuple(hops)) if is_same else None


def choose_adapter(servers: Iterable[LiveServer], wanted: str) -> str:
    """The id of the adapter that `wanted` means, so that all servers of a client use the same one.

    Names may stand for different contents at different servers; what is served for the most blocks is taken. Returns
    `wanted` where nobody has it.
    """
    blocks: Counter[str] = Counter()
    for server in servers:
        found = find_adapter(server.record.adapters, wanted)
        if found is not None:
            blocks[found] += len(server.span)
    return min(blocks, key=lambda each: (-blocks[each], each), default=wanted)


_Path = tuple[tuple[int, int, int], ...]
"""Candidate, first block and block after the last, counted within the wanted span."""


def _search(
    roster: Roster, span: Span, vantage: Vantage, needs: Needs, noise: tuple[np.random.Generator, int] | None
) -> list[Route]:
    found = Candidates.of(roster, span, vantage, needs)
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
            hops.append(RouteHop(roster.servers[found.rows[i]], Span(span.start + first, span.start + end), cost_s))
        routes.append(Route(tuple(hops)))
    return sorted(routes, key=lambda route: route.cost_s)


def _cheapest_paths(found: Candidates, factors: Floats) -> list[_Path]:
    """For each draw of `factors` [draws, candidates] the cheapest way through all blocks.

    `best` is the least cost of everything before a block, `inside` that of being in a candidate since some block.
    """
    hop_s, block_s = found.hop_s * factors, found.block_s * factors
    draws, num_blocks = np.arange(len(factors)), found.fits.shape[1]
    best = np.zeros((len(factors), 1))
    inside = np.full(factors.shape, np.inf)
    entered = np.zeros(factors.shape, np.int64)
    came_by = np.empty((num_blocks, 2, len(factors)), np.int64)  # candidate before a boundary, where it was entered
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
