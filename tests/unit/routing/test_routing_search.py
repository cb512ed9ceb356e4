"""Which servers a route takes, and what it says when there is none."""

import itertools
import random
from collections.abc import Iterable
from typing import Any

import pytest
from helpers.server_records import server_of
from msgspec.structs import replace

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer, NumberFormat, ServerState
from potluck.routing.route import Needs, NoRouteError, Route, RouteHop, Vantage
from potluck.routing.search import choose_adapter
from potluck.routing.search import find_route as find_in_columns
from potluck.routing.servers import ServerColumns

ALL = Span(0, 8)


def find_route(servers: Iterable[LiveServer], span: Span, needs: Needs | None = None, **known: Any) -> Route:
    return find_in_columns(ServerColumns.of(servers), span, vantage=Vantage(**known), needs=needs or Needs())


def replacement(servers: Iterable[LiveServer], hop: RouteHop, *banned: str, adapter: str | None = None) -> Route:
    """A route for the blocks of `hop` that computes exactly the same, without its server."""
    peers = {hop.peer_id, *map(PeerId, banned)}
    return find_route(servers, hop.span, Needs(pins=hop.pins, adapter=adapter), banned=peers)


def told(route: Route) -> list[tuple[str, str]]:
    return [(hop.peer_id, str(hop.span)) for hop in route.hops]


def test_a_hop_may_use_a_part_of_a_servers_span() -> None:
    route = find_route([server_of("a", 0, 6), server_of("b", 2, 8)], Span(1, 7))
    assert {block for hop in route.hops for block in hop.span} == set(range(1, 7))
    assert [hop.server.span.covers(hop.span) for hop in route.hops] == [True, True]


def test_fewer_hops_win_over_equal_speed() -> None:
    servers = [server_of("a", 0, 4), server_of("b", 4, 8), server_of("c", 0, 8)]
    assert told(find_route(servers, ALL)) == [("c", "0:8")]


def test_a_far_server_is_left_for_two_near_ones() -> None:
    servers = [server_of("a", 0, 4), server_of("b", 4, 8), server_of("c", 0, 8)]
    near = {PeerId("a"): 0.01, PeerId("b"): 0.01, PeerId("c"): 0.5}
    assert told(find_route(servers, ALL, rtts_s=near)) == [("a", "0:4"), ("b", "4:8")]


def test_the_faster_of_two_overlapping_servers_takes_the_common_blocks() -> None:
    servers = [server_of("slow", 0, 6, inference_tps=1.0), server_of("swift", 2, 8, inference_tps=1000.0)]
    assert told(find_route(servers, ALL)) == [("slow", "0:2"), ("swift", "2:8")]


def test_a_full_cache_is_taken_only_without_alternative() -> None:
    full, free = server_of("a", 0, 8, beat={"cache_tokens_left": 5}), server_of("b", 0, 8)
    needs = Needs(cache_tokens=100)
    far = {PeerId("b"): 2.0}
    assert told(find_route([full, free], ALL, rtts_s=far, needs=needs)) == [("b", "0:8")]
    assert told(find_route([full], ALL, needs=needs)) == [("a", "0:8")]


def test_only_online_servers_count() -> None:
    joining = server_of("a", 0, 8, beat={"state": ServerState.JOINING})
    with pytest.raises(NoRouteError, match="joining"):
        find_route([joining], ALL)


def test_a_missing_route_names_the_blocks_and_the_reasons() -> None:
    servers = [
        server_of("a", 0, 3),
        server_of("b", 3, 5),
        server_of("c", 6, 8, max_length=10),
        server_of("d", 0, 8, revision="v9"),
    ]
    with pytest.raises(NoRouteError) as caught:
        find_route(servers, ALL, banned={PeerId("b")}, needs=Needs(revision="main", max_length=100))
    error = caught.value
    assert error.missing == (Span(3, 8),)
    assert set(error.excluded) == {"b", "c", "d"}
    assert "layers 4-8" in error.message
    assert "--layers 4-8" in str(error.hint)


def test_a_server_must_take_sessions_of_the_wanted_length() -> None:
    short, long = server_of("a", 0, 8, max_length=99), server_of("b", 0, 8, max_length=100)
    assert told(find_route([short, long], ALL, Needs(max_length=100))) == [("b", "0:8")]
    with pytest.raises(NoRouteError, match="at most 99 tokens"):
        find_route([short], ALL, Needs(max_length=100))


@pytest.mark.parametrize(
    ("servers", "missing"),
    [([], (ALL,)), ([server_of("a", 1, 3), server_of("b", 5, 6)], (Span(0, 1), Span(3, 5), Span(6, 8)))],
)
def test_gaps_are_named_one_by_one(servers: list[LiveServer], missing: tuple[Span, ...]) -> None:
    with pytest.raises(NoRouteError) as caught:
        find_route(servers, ALL)
    assert caught.value.missing == missing
    assert not caught.value.excluded


OTHER_WEIGHTS = {"block_digests": ("f" * 16,) * 8}
OTHER_FORMATS: list[dict[str, object]] = [
    OTHER_WEIGHTS,
    {"format": NumberFormat("bfloat16")},
    {"format": NumberFormat("float32", "nf4")},
    {"revision": "v2"},
]


@pytest.mark.parametrize("other", OTHER_FORMATS)
def test_the_variant_with_most_servers_is_chosen_even_if_another_is_nearer(other: dict[str, object]) -> None:
    servers = [server_of("a", 0, 8), server_of("b", 0, 8), server_of("c", 0, 8, **other)]
    assert find_route(servers, ALL, rtts_s={PeerId("c"): 0.0}).hops[0].peer_id in ("a", "b")


def test_a_server_with_another_cache_may_replace_one_that_fails() -> None:
    failed, other = server_of("a", 0, 8), server_of("b", 0, 8, format=NumberFormat("float32", cache="int8"))
    assert told(replacement([failed, other], RouteHop(failed, ALL))) == [("b", "0:8")]


def test_doubted_servers_are_taken_only_where_there_are_no_others() -> None:
    servers = [server_of("ghost", 0, 8, inference_tps=1e9), server_of("a", 0, 6, inference_tps=1.0)]
    known: dict[str, Any] = {"rtts_s": {PeerId("ghost"): 0.0}, "doubted": {PeerId("ghost"), PeerId("gone")}}
    assert told(find_route(servers, Span(0, 6), **known)) == [("a", "0:6")]
    assert told(find_route(servers, Span(6, 8), **known)) == [("ghost", "6:8")]


def test_the_variant_with_most_votes_is_chosen_and_not_the_one_of_most_servers() -> None:
    ghosts = [server_of(f"ghost {number}", 0, 8, block_digests=("f" * 16,) * 8) for number in range(9)]
    votes = {server.peer_id: 1 / len(ghosts) for server in ghosts}
    servers = [*ghosts, server_of("a", 0, 8), server_of("b", 0, 8)]
    assert told(find_route(servers, ALL, votes=votes))[0][0] in ("a", "b")


def test_a_tie_of_variants_is_broken_the_same_way_whatever_the_order() -> None:
    servers = [server_of("a", 0, 8), server_of("b", 0, 8, **OTHER_WEIGHTS)]
    routes = {tuple(told(find_route(order, ALL))) for order in itertools.permutations(servers)}
    assert len(routes) == 1


@pytest.mark.parametrize("other", OTHER_FORMATS)
def test_a_replacement_computes_exactly_the_same(other: dict[str, object]) -> None:
    failed, different = server_of("a", 0, 8), server_of("b", 0, 8, **other)
    hop = RouteHop(failed, Span(2, 6))
    with pytest.raises(NoRouteError, match="other weights"):
        replacement([failed, different, server_of("d", 0, 8, **other)], hop)
    equal = server_of("c", 1, 7)
    assert told(replacement([failed, different, equal], hop)) == [("c", "2:6")]


def test_a_replacement_may_be_several_servers_and_never_the_failed_or_banned_one() -> None:
    failed = server_of("a", 0, 8)
    servers = [failed, server_of("banned", 0, 8), server_of("b", 0, 4), server_of("c", 4, 8)]
    assert told(replacement(servers, RouteHop(failed, ALL), "banned")) == [("b", "0:4"), ("c", "4:8")]


def test_servers_outside_the_wanted_blocks_do_not_matter() -> None:
    servers = [server_of("a", 0, 4), server_of("b", 4, 8)]
    assert told(find_route(servers, Span(0, 4), banned={PeerId("b")})) == [("a", "0:4")]


def test_servers_that_tell_no_speed_are_usable() -> None:
    assert told(find_route([server_of("a", 0, 8, inference_tps=0.0, forward_tps=0.0)], ALL)) == [("a", "0:8")]


def brute_force(servers: list[LiveServer], span: Span, rtts: dict[PeerId, float]) -> float:
    """The cost of the cheapest assignment of one server to each block, by trying all."""
    holders = [[server.peer_id for server in servers if block in server.span] for block in span]
    inside = {server.peer_id: 1 / server.record.inference_tps for server in servers}
    first = {
        server.peer_id: find_route([server], Span(server.span.start, server.span.start + 1), rtts_s=rtts).cost_s
        for server in servers
    }

    def cost(choice: tuple[PeerId, ...]) -> float:
        steps = zip((None, *choice), choice, strict=False)
        return sum(inside[peer] if peer == before else first[peer] for before, peer in steps)

    return min(map(cost, itertools.product(*holders)))


def test_no_assignment_of_blocks_is_cheaper_than_the_route() -> None:
    rng = random.Random(7)
    for _ in range(30):
        servers = [server_of("z", 0, 5)]
        for name in "abcd":
            start = rng.randrange(5)
            speed = rng.choice([2.0, 10.0, 100.0])
            servers.append(server_of(name, start, rng.randrange(start, 5) + 1, inference_tps=speed))
        rtts = {server.peer_id: rng.choice([0.0, 0.05, 0.3]) for server in servers}
        route = find_route(servers, Span(0, 5), rtts_s=rtts)
        assert route.cost_s == pytest.approx(brute_force(servers, Span(0, 5), rtts))
        assert [block for hop in route.hops for block in hop.span] == list(range(5))
        assert all(hop.server.span.covers(hop.span) for hop in route.hops)


@pytest.mark.parametrize(
    ("needs", "why"),
    [
        (Needs(quantization="int8"), "holds its weights in none"),
        (Needs(dtype="bfloat16"), "computes in float32"),
        (Needs(cache="int8"), "holds its cache in none"),
        (Needs(adapter="poet"), "does not have the adapter poet"),
    ],
)
def test_what_is_demanded_is_given_by_the_others_or_refused_with_the_reason(needs: Needs, why: str) -> None:
    plain = server_of("a", 0, 8)
    with pytest.raises(NoRouteError, match=why):
        find_route([plain], ALL, needs=needs)
    changes = {"format": NumberFormat("bfloat16", "int8", "int8"), "adapters": ("poet@0123456789abcdef",)}
    other = server_of("b", 0, 8, **changes)
    assert told(find_route([plain, server_of("c", 0, 8), other], ALL, needs=needs)) == [("b", "0:8")]


def test_a_replacement_meets_the_demands_too() -> None:
    failed, with_adapter, without = (
        server_of(name, 0, 8, adapters=adapters) for name, adapters in (("a", ("x@1",)), ("b", ("x@1",)), ("c", ()))
    )
    route = replacement([failed, without, with_adapter], RouteHop(failed, ALL), adapter="1")
    assert told(route) == [("b", "0:8")]


def test_of_two_adapters_with_one_name_all_servers_use_the_one_that_is_served_for_more_blocks() -> None:
    servers = [
        server_of("a", 0, 8, adapters=("poet@1111", "chat@9999")),
        server_of("b", 0, 2, adapters=("poet@2222",)),
        server_of("c", 4, 8, adapters=("poet@2222",)),
    ]
    assert choose_adapter(servers, "poet") == "poet@1111"
    assert choose_adapter(servers[1:], "poet") == "poet@2222"
    assert choose_adapter(servers, "2222") == "poet@2222"
    assert choose_adapter(servers, "nobody") == "nobody"


def stranger(peer: str, start: int, end: int, dtype: str = "float32") -> LiveServer:
    """A server of another implementation, which does not tell its weights."""
    server = server_of(peer, start, end)
    form = NumberFormat(dtype, server.record.format.quantization)
    untold = replace(server.record, revision="", block_digests=("",) * (end - start), format=form)
    return LiveServer(untold, server.heartbeat)


@pytest.mark.parametrize("lost", ["ours", "theirs"])
def test_servers_whose_weights_are_not_known_to_differ_replace_each_other(lost: str) -> None:
    ours, theirs = server_of("ours", 0, 8), stranger("theirs", 0, 8)
    hop = RouteHop(ours if lost == "ours" else theirs, ALL)
    (other,) = replacement([ours, theirs], hop).hops
    assert other.peer_id != hop.peer_id


def test_a_server_that_tells_the_same_weights_goes_before_those_that_tell_none() -> None:
    servers = [server_of("equal", 0, 8, inference_tps=1.0), stranger("a", 0, 8), stranger("b", 0, 8)]
    assert told(replacement(servers, RouteHop(server_of("lost", 0, 8), ALL))) == [("equal", "0:8")]


def test_a_server_of_another_number_format_replaces_nobody_though_its_weights_are_not_known() -> None:
    lost = RouteHop(server_of("lost", 0, 8), ALL)
    with pytest.raises(NoRouteError):
        replacement([stranger("a", 0, 8, "bfloat16")], lost)
    assert replacement([stranger("a", 0, 8, "")], lost).hops


def test_people_read_why_a_server_with_other_weights_is_not_used() -> None:
    stray = server_of("a", 0, 4, weights="cd" * 32)
    with pytest.raises(NoRouteError) as error:
        find_route([stray], Span(0, 4), banned={stray.peer_id}, strays={stray.peer_id})
    assert error.value.excluded == {stray.peer_id: "holds other weights than the swarm's model"}
