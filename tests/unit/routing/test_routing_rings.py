"""Steps go from server to server, so a route is chosen by the way around it, and nobody can talk a link shorter."""

import itertools
import random
from collections.abc import Mapping

import numpy as np
import pytest
from helpers.server_records import server_of

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck.routing.latency import between_servers
from potluck.routing.route import Vantage
from potluck.routing.search import draw_routes, find_route, reprice
from potluck.routing.servers import ServerColumns

ALL = Span(0, 8)
HERE = {PeerId(peer): 0.1 for peer in ("a", "b", "c")}


def far_server(peer: str, start: int, end: int, pings_s: Mapping[str, float], **changes: object) -> LiveServer:
    pings = {PeerId(other): ping_s for other, ping_s in pings_s.items()}
    return server_of(peer, start, end, beat={"pings_s": pings}, **changes)


def between(servers: list[LiveServer], rtts_s: Mapping[PeerId, float], one: int, other: int) -> float:
    rtts = np.array([rtts_s[server.peer_id] for server in servers])
    return float(between_servers(servers, rtts, np.array([one]), np.array([other]))[0])


def test_two_far_servers_beside_each_other_win_over_two_nearer_ones_that_are_apart() -> None:
    rtts_s = {PeerId("a"): 0.1, PeerId("b"): 0.1, PeerId("c"): 0.08, PeerId("d"): 0.08}
    beside = [far_server("a", 0, 4, {"b": 0.004}), far_server("b", 4, 8, {"a": 0.004})]
    apart = [far_server("c", 0, 4, {"d": 0.15}), far_server("d", 4, 8, {"c": 0.15})]
    mixed = [far_server("a", 0, 4, {}), far_server("b", 4, 8, {}), *apart]
    assert [hop.peer_id for hop in find_route(_columns(beside + apart), ALL, vantage=Vantage(rtts_s)).hops] == [*"ab"]
    assert [hop.peer_id for hop in find_route(_columns(mixed), ALL, vantage=Vantage(rtts_s)).hops] == [*"cd"]


def test_a_route_costs_the_way_around_its_ring() -> None:
    servers = [far_server("a", 0, 4, {"b": 0.02}), far_server("b", 4, 8, {"a": 0.02})]
    columns, vantage = _columns(servers), Vantage(HERE)
    route = find_route(columns, ALL, vantage=vantage)
    assert route.saved_s == pytest.approx((0.1 + 0.1 - 0.02) / 2)
    around_s = sum(hop.cost_s for hop in route.hops) - 0.2 + (0.1 + 0.02 + 0.1) / 2
    assert route.cost_s == pytest.approx(around_s)
    assert reprice(columns, route.parts, vantage=vantage) == route
    (drawn,) = draw_routes(columns, ALL, np.random.default_rng(0), draws=4, vantage=vantage)
    assert drawn == route


@pytest.mark.parametrize(
    ("said", "other_said", "expected_s"),
    [
        pytest.param(0.05, 0.05, 0.05, id="both say the same"),
        pytest.param(0.001, 0.12, 0.12, id="the larger one counts"),
        pytest.param(0.05, None, 0.05, id="one is enough"),
        pytest.param(9.0, 9.0, 0.2, id="never more than the way through the client"),
        pytest.param(None, None, 0.2, id="nothing is known"),
    ],
)
def test_between_two_servers_the_larger_measurement_counts(
    said: float | None, other_said: float | None, expected_s: float
) -> None:
    servers = [
        far_server("a", 0, 4, {} if said is None else {"b": said}),
        far_server("b", 4, 8, {} if other_said is None else {"a": other_said}),
    ]
    assert between(servers, HERE, 0, 1) == pytest.approx(expected_s)


def test_two_liars_cannot_make_their_link_shorter_than_the_client_has_seen() -> None:
    servers = [far_server("a", 0, 4, {"b": 0.0}), far_server("b", 4, 8, {"a": 0.0})]
    assert between(servers, {PeerId("a"): 0.02, PeerId("b"): 0.12}, 0, 1) == pytest.approx(0.1)


def test_a_landmark_bounds_a_link_that_nobody_measured() -> None:
    servers = [server_of("a", 0, 4), server_of("b", 4, 8), far_server("c", 0, 8, {"a": 0.02, "b": 0.03})]
    assert between(servers, HERE, 0, 1) == pytest.approx((0.01 + 0.05) / 2)


def test_servers_that_cannot_push_are_as_far_apart_as_the_way_through_the_client() -> None:
    stock = {"block_digests": ("",) * 4}
    servers = [far_server("a", 0, 4, {"b": 0.01}, **stock), far_server("b", 4, 8, {"a": 0.01})]
    assert between(servers, HERE, 0, 1) == pytest.approx(0.2)


@pytest.mark.parametrize("seed", range(12))
def test_no_other_chain_of_few_servers_is_cheaper(seed: int) -> None:
    rng = random.Random(seed)
    peers = [PeerId(peer) for peer in "abcdef"]
    spans = [Span(start, min(start + rng.randint(1, 4), 4)) for start in (0, 0, 1, 2, 2, 3)]
    servers = [
        far_server(
            peer,
            span.start,
            span.end,
            {other: rng.uniform(0.0, 0.2) for other in peers if other != peer},
            inference_tps=rng.uniform(10, 1000),
        )
        for peer, span in zip(peers, spans, strict=True)
    ]
    columns, vantage = _columns(servers), Vantage({peer: rng.uniform(0.01, 0.2) for peer in peers})
    costs = []
    for count in range(1, 5):
        for cuts in itertools.combinations(range(1, 4), count - 1):
            parts = [Span(start, end) for start, end in itertools.pairwise((0, *cuts, 4))]
            for chosen in itertools.permutations(peers, count):
                route = reprice(columns, tuple(zip(chosen, parts, strict=True)), vantage=vantage)
                costs += [] if route is None else [route.cost_s]
    assert find_route(columns, Span(0, 4), vantage=vantage).cost_s == pytest.approx(min(costs))


def _columns(servers: list[LiveServer]) -> ServerColumns:
    return ServerColumns.of(servers)
