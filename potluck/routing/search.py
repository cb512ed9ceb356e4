"""Finds the cheapest routes by dynamic programming over block boundaries.

Pure: a columns and the client's knowledge in, routes out. A hop may use any part of a server's span. Costs are seconds
of one decode step. Each hop costs a round trip from the client, the wait and the transfer; each block costs the time
of a step with one more row. What a step saves because it goes from server to server is taken off for each two servers
that follow each other; that makes a search of all pairs, so only a few dozen servers get it. Beyond them the search
is exact without pushes, over the cheapest few hundred servers, and what pushes save decides between the routes found.

It searches for several draws of noise at once. Noise keeps clients with the same outdated figures from all choosing
the same servers. Servers of one place share a draw, so that a hundred names on one machine win no more often than one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from potluck.protocol.adapters import find_adapter
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck.routing.candidates import Candidates, costs, exclusion, round_trips
from potluck.routing.latency import between_servers
from potluck.routing.route import Needs, Route, RouteHop, Vantage
from potluck.routing.servers import Floats, Ints, ServerColumns

NOISE_SIGMA = 0.35  # deviation of log costs; this and the next two come from simulations: docs/decisions/0018
DRAWS = 12  # noisy routes that a new session compares
MOST_ASKED = 16  # servers on these routes that are asked for quotes
_MOST_IN_PAIRS = 40  # candidates, whose pairs are searched in the few milliseconds that a search may take
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
    return _with_pushes([Route(tuple(hops))], vantage)[0] if is_same else None


def link_delays(servers: Sequence[LiveServer], vantage: Vantage) -> list[float]:
    """Return the one-way trips around a ring in seconds: to the first server, from each to the next, and back."""
    rtts_s = round_trips([server.peer_id for server in servers], vantage)
    places = np.arange(len(servers))
    between_s = between_servers(servers, rtts_s, places[:-1], places[1:])
    return [each / 2 for each in (float(rtts_s[0]), *between_s.tolist(), float(rtts_s[-1]))]


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
        places = [columns.servers[row].peer_id for row in found.rows]
        _, place = np.unique([vantage.places.get(peer, peer) for peer in places], return_inverse=True)
        factors = rng.lognormal(0.0, NOISE_SIGMA, (draws, len(found.rows)))[:, place]
    saved_s = None
    if (number := len(found.rows)) <= _MOST_IN_PAIRS:
        ones, others = np.divmod(np.arange(number * number), number)
        saved_s = _saved_by_pushes([columns.servers[row] for row in found.rows], ones, others, vantage)
        saved_s = saved_s.reshape(number, number)
        np.fill_diagonal(saved_s, 0.0)
    routes = []
    for path in dict.fromkeys(_cheapest_paths(found, factors, saved_s)):
        hops = []
        for i, first, end in path:
            cost_s = float(found.hop_s[i] + found.block_s[i] * (end - first))
            hops.append(RouteHop(columns.servers[found.rows[i]], Span(span.start + first, span.start + end), cost_s))
        routes.append(Route(tuple(hops)))
    return sorted(_with_pushes(routes, vantage), key=lambda route: route.cost_s)


def _with_pushes(routes: Sequence[Route], vantage: Vantage) -> list[Route]:
    """Return the routes with what they save."""
    servers = {hop.peer_id: hop.server for route in routes for hop in route.hops}
    places = {peer: place for place, peer in enumerate(servers)}
    pairs = [(places[one.peer_id], places[other.peer_id]) for route in routes for one, other in pairwise(route.hops)]
    ones, others = np.array(pairs, np.int64).reshape(-1, 2).T
    saved_s = iter(_saved_by_pushes(list(servers.values()), ones, others, vantage).tolist())
    return [replace(route, saved_s=sum(next(saved_s) for _ in route.hops[1:])) for route in routes]


def _saved_by_pushes(servers: Sequence[LiveServer], ones: Ints, others: Ints, vantage: Vantage) -> Floats:
    """Return the seconds that a step saves if it goes from one server to another directly, for each pair.

    The way back to the client and out again is left out, the way between the two is added: half a round trip each.
    """
    rtts_s = round_trips([server.peer_id for server in servers], vantage)
    saved_s: Floats = (rtts_s[ones] + rtts_s[others] - between_servers(servers, rtts_s, ones, others)) / 2
    return saved_s


def _cheapest_paths(found: Candidates, factors: Floats, saved_s: Floats | None) -> list[_Path]:
    """Return the cheapest path through all blocks for each draw of `factors` [draws, candidates].

    `inside` is the least cost of a path that ends in each candidate, `entered` its first block there.

    Args:
        saved_s: by pushes from one candidate to another, [from, to]; None: nothing.
    """
    hop_s, block_s = found.hop_s * factors, found.block_s * factors
    draws, num_blocks = np.arange(len(factors)), found.fits.shape[1]
    inside = np.full(factors.shape, np.inf)
    entered = np.zeros(factors.shape, np.int64)
    came_by = [(entered, entered)]  # block -> who ends in front of it, and its first block; for all or for each
    closed = np.where(found.fits.T, 0.0, np.inf)
    noisy_s = None if saved_s is None else saved_s * np.minimum(factors[:, :, None], factors[:, None, :])
    reached: Floats = np.zeros((len(factors), 1))
    for block in range(num_blocks):
        if block and noisy_s is None:
            winners = inside.argmin(axis=1)
            reached = inside[draws, winners][:, None]
            came_by.append((winners[:, None], entered[draws, winners][:, None]))
        elif block:
            through = inside[:, :, None] - noisy_s
            before = through.argmin(axis=1)
            reached = through.min(axis=1)
            came_by.append((before, np.take_along_axis(entered, before, axis=1)))
        entering = reached + hop_s
        entered[entering < inside] = block
        inside = np.minimum(inside, entering)
        inside += block_s
        inside += closed[block]
    last = inside.argmin(axis=1)
    return [_walk_back(came_by, draw, int(last[draw]), int(entered[draw, last[draw]])) for draw in draws.tolist()]


def _walk_back(came_by: Sequence[tuple[Ints, Ints]], draw: int, candidate: int, first: int) -> _Path:
    path = [(candidate, first, len(came_by))]
    while first:
        before, begun = came_by[first]
        place = min(candidate, before.shape[1] - 1)
        candidate, end, first = int(before[draw, place]), first, int(begun[draw, place])
        path.append((candidate, first, end))
    return tuple(reversed(path))
