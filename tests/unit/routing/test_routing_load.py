"""Load, noise and pruning: what a route costs, who is avoided, and that few candidates find what all would."""

import random
from typing import Any

import numpy as np
import pytest
from helpers.server_records import server_of

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck.routing import candidates
from potluck.routing.route import Needs, Vantage
from potluck.routing.search import draw_routes, find_route, reprice, shortlist
from potluck.routing.servers import ServerColumns

ALL = Span(0, 8)


def swarm(number: int, num_blocks: int, seed: int) -> list[LiveServer]:
    """Servers of all speeds and loads that leave no block out."""
    rng = random.Random(seed)
    servers = [server_of("whole", 0, num_blocks, inference_tps=5.0)]
    for name in range(number - 1):
        start = rng.randrange(num_blocks)
        beat = {"batch": rng.randrange(20), "queue_ms": rng.uniform(0, 50)}
        servers.append(
            server_of(
                f"{name:05}",
                start,
                rng.randrange(start, num_blocks) + 1,
                inference_tps=rng.uniform(50, 2000),
                forward_tps=rng.uniform(1000, 50_000),
                network_tps=rng.uniform(10, 1000),
                beat=beat,
            )
        )
    return servers


def distances(servers: list[LiveServer], seed: int) -> dict[PeerId, float]:
    rng = random.Random(seed)
    return {server.peer_id: rng.uniform(0.005, 0.2) for server in servers}


@pytest.mark.parametrize(
    "burden",
    [
        *({"beat": {name: value}} for name, value in (("batch", 500), ("queue_ms", 80.0), ("step_ms", 200.0))),
        {"beat": {"queued_tokens": 100_000}},
        {"network_tps": 8.0},
    ],
    ids=str,
)
def test_of_two_equal_servers_the_loaded_one_or_that_with_a_slow_link_is_left_alone(burden: dict[str, Any]) -> None:
    columns = ServerColumns.of([server_of("a", 0, 8, **burden), server_of("b", 0, 8)])
    assert find_route(columns, ALL).parts == (("b", ALL),)


def test_half_a_cache_costs_half_of_what_an_empty_one_does() -> None:
    half, enough = (
        ServerColumns.of([server_of("a", 0, 8, beat={"cache_tokens_left": tokens})]) for tokens in (500, 1000)
    )
    needs = Needs(cache_tokens=1000)
    more_s = find_route(half, ALL, needs=needs).cost_s - find_route(enough, ALL, needs=needs).cost_s
    assert more_s == pytest.approx(candidates.FULL_CACHE_PENALTY_S / 2)


def test_who_was_slower_than_promised_counts_as_slower() -> None:
    columns = ServerColumns.of([server_of("a", 0, 8), server_of("b", 0, 8)])
    assert find_route(columns, ALL, vantage=Vantage(slowness={PeerId("a"): 1.5})).parts == (("b", ALL),)
    slow = find_route(columns, ALL, vantage=Vantage(slowness={PeerId("b"): 1.5, PeerId("a"): 2.0}))
    assert slow.parts == (("b", ALL),)
    assert slow.cost_s == pytest.approx(1.5 * find_route(columns, ALL).cost_s)


def test_the_cost_of_a_route_is_the_sum_of_its_hops() -> None:
    columns = ServerColumns.of([server_of("a", 0, 4, network_tps=0.0), server_of("b", 4, 8, network_tps=0.0)])
    route = find_route(columns, ALL, vantage=Vantage(rtts_s={PeerId("a"): 0.1, PeerId("b"): 0.2}))
    steps_s = [0.1 + candidates.HOP_OVERHEAD_S + 4 / 100, 0.2 + candidates.HOP_OVERHEAD_S + 4 / 100]
    assert [hop.cost_s for hop in route.hops] == pytest.approx(steps_s)
    assert route.cost_s == pytest.approx(sum(steps_s))


def test_equal_seeds_draw_equal_routes_and_others_draw_others() -> None:
    servers = swarm(60, 8, seed=1)
    columns = ServerColumns.of(servers)

    def drawn(seed: int) -> list[Any]:
        return [route.parts for route in draw_routes(columns, ALL, np.random.default_rng(seed), draws=6)]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(5)}) > 1


def test_many_clients_with_the_same_figures_spread_over_equal_servers() -> None:
    columns = ServerColumns.of([server_of(name, 0, 8) for name in "abcdefgh"])
    rng = np.random.default_rng(0)
    takers = [draw_routes(columns, ALL, rng, draws=1)[0].parts[0][0] for _ in range(240)]
    assert all(takers.count(PeerId(name)) > 12 for name in "abcdefgh")


def test_drawn_routes_are_told_apart_priced_without_noise_and_sorted() -> None:
    servers = swarm(100, 20, seed=2)
    columns, whole = ServerColumns.of(servers), Span(0, 20)
    routes = draw_routes(columns, whole, np.random.default_rng(0), draws=12)
    assert len({route.parts for route in routes}) == len(routes) > 1
    assert [route.cost_s for route in routes] == sorted(route.cost_s for route in routes)
    for route in routes:
        assert [block for hop in route.hops for block in hop.span] == list(whole)
        again = reprice(columns, route.parts)
        assert again is not None
        assert again.cost_s == pytest.approx(route.cost_s)
    assert find_route(columns, whole).cost_s <= routes[0].cost_s + 1e-12


@pytest.mark.parametrize("seed", range(2))
def test_pruning_finds_what_a_search_through_all_finds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = swarm(1200, 40, seed)
    columns, vantage, whole = ServerColumns.of(servers), Vantage(rtts_s=distances(servers, seed)), Span(0, 40)
    pruned = find_route(columns, whole, vantage=vantage)
    monkeypatch.setattr(candidates, "_MAX_CANDIDATES", len(servers))
    assert pruned.cost_s <= 1.01 * find_route(columns, whole, vantage=vantage).cost_s


def test_a_block_that_only_costly_servers_have_keeps_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = [server_of(f"{name:03}", 0, 7, inference_tps=1000.0) for name in range(40)]
    servers += [server_of(f"rare{name}", 7, 8, inference_tps=0.5 + name) for name in range(5)]
    monkeypatch.setattr(candidates, "_MAX_CANDIDATES", 10)
    assert find_route(ServerColumns.of(servers), ALL).parts[-1] == ("rare4", Span(7, 8))


def test_a_route_is_repriced_with_new_figures_or_not_there_any_more() -> None:
    parts = ((PeerId("a"), Span(0, 4)), (PeerId("b"), Span(4, 8)))
    servers = [server_of("a", 0, 6), server_of("b", 4, 8)]
    calm = ServerColumns.of(servers)
    busy = ServerColumns.of([servers[0], server_of("b", 4, 8, beat={"queue_ms": 1000.0})])
    calm_route, busy_route = reprice(calm, parts), reprice(busy, parts)
    assert calm_route is not None
    assert busy_route is not None
    assert busy_route.cost_s == pytest.approx(calm_route.cost_s + 1.0)
    assert reprice(calm, parts, vantage=Vantage(banned={PeerId("a")})) is None
    assert reprice(ServerColumns.of(servers[:1]), parts) is None
    for start, end in ((5, 8), (3, 6), (0, 2)):
        assert reprice(ServerColumns.of([servers[0], server_of("b", start, end)]), parts) is None, "its span has moved"
    other_weights = server_of("b", 4, 8, block_digests=("f" * 16,) * 4)
    pins = {hop_block: variant for hop in calm_route.hops for hop_block, variant in hop.pins.items()}
    assert reprice(ServerColumns.of([servers[0], other_weights]), parts, needs=Needs(pins=pins)) is None


def test_a_shortlist_has_the_cheapest_routes_whole() -> None:
    servers = swarm(100, 20, seed=3)
    routes = draw_routes(ServerColumns.of(servers), Span(0, 20), np.random.default_rng(0), draws=12)
    few = {server.peer_id for server in shortlist(routes, 5)}
    assert {hop.peer_id for hop in routes[0].hops} <= few
    assert len(few) <= max(5, len(routes[0].hops))
    assert len(shortlist(routes, 1)) == len(routes[0].hops), "the first route in any case"
    one, two = (find_route(ServerColumns.of([server_of(name, 0, 20)]), Span(0, 20)) for name in "ab")
    assert len(shortlist([one, two], 2)) == 2, "as many as there may be"


def test_a_later_reading_costs_what_a_first_one_would() -> None:
    servers = swarm(50, 8, seed=4)
    first = ServerColumns.of(servers[:30])
    later, fresh = ServerColumns.of(servers[10:], first), ServerColumns.of(servers[10:])
    assert later.forms is first.forms
    assert find_route(later, ALL).parts == find_route(fresh, ALL).parts


NAMES = [f"name {number}" for number in range(30)]


def share_of_names(places: dict[PeerId, str]) -> float:
    """Return how often a single draw chooses one of thirty names rather than one honest server."""
    columns = ServerColumns.of([server_of("honest", 0, 8), *(server_of(name, 0, 8) for name in NAMES)])
    rng = np.random.default_rng(0)
    draws = [
        draw_routes(columns, ALL, rng, draws=1, vantage=Vantage(places=places))[0].hops[0].peer_id for _ in range(150)
    ]
    return sum(peer != "honest" for peer in draws) / len(draws)


def test_names_at_one_place_share_their_luck() -> None:
    assert 0.4 < share_of_names({PeerId(name): "192.0.2.0/24" for name in NAMES}) < 0.6


def test_servers_at_different_places_have_their_own() -> None:
    assert share_of_names({}) > 0.9
