"""The rules that choose blocks: where to begin, when to move, in which order to load and to fetch."""

from dataclasses import replace
from itertools import starmap

import numpy as np
import pytest
from msgspec import structs
from placement_swarms import MODEL, own, server, swarm_map
from potluck_control.api.schema import OneMore
from potluck_engine.placement.choose import (
    PlannedMove,
    choose_span,
    load_order,
    next_move,
    planned_moves,
    prefetch_order,
    single_moves,
    waits_for_others,
)
from potluck_engine.placement.outlook import joining_gain
from potluck_engine.placement.swarm_map import SwarmMap

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import ServerState

OFFLINE, JOINING = ServerState.OFFLINE, ServerState.JOINING


@pytest.mark.parametrize(
    ("others", "window", "stored", "chosen"),
    [
        pytest.param([], 3, (), "0:3", id="the first server takes the first blocks"),
        pytest.param([], 3, (4, 5, 6), "4:7", id="or those that are on its disk"),
        pytest.param([("a", 0, 3), ("b", 9, 12)], 3, (3, 4, 5), "3:6", id="what takes longer to fetch is worth less"),
        pytest.param([("a", 0, 5, 9.0), ("b", 7, 12)], 2, (), "5:7", id="uncovered blocks come first"),
        pytest.param([("a", 0, 8, 10.0), ("b", 8, 12, 2.0)], 4, (), "8:12", id="then the weakest"),
        pytest.param([], 90, (), "0:12", id="a window is cut to the model"),
        pytest.param([("a", 0, 2), ("b", 5, 90), ("c", 50, 60)], 3, (), "2:5", id="and so are other spans"),
        pytest.param([("a", 0, 6, 1.0, JOINING)], 6, (), "6:12", id="what others promise counts"),
        pytest.param([("a", 0, 6, 0.0, JOINING), ("b", 9, 12)], 3, (), "6:9", id="also before they measured"),
        pytest.param([("me", 0, 6), ("a", 6, 12)], 6, (), "0:6", id="the own old record does not count"),
        pytest.param([("a", 0, 6), ("b", 6, 12, 1.0, OFFLINE)], 6, (), "6:12", id="nor does who leaves"),
    ],
)
def test_who_joins_takes_the_most_needed_blocks(others: list[tuple], window: int, stored: tuple[int, ...], chosen: str):
    assert str(choose_span(swarm_map(*starmap(server, others), me=own(window, stored=stored)))) == chosen


@pytest.mark.parametrize("me", ["a", "b", "c"])
def test_a_small_swarm_agrees_on_who_fills_a_hole(me: str):
    """Three servers, each with its own view; two stay and one goes, by the same plan."""
    others = [server(name, 0, 6, stored=range(12)) for name in "abc" if name != me]
    view = swarm_map(*others, me=replace(own(6, span=Span(0, 6), stored=set(range(12))), peer_id=PeerId(me)))
    move = next_move(view)
    if me == "a":
        assert move == PlannedMove(Span(6, 12), move.gain if move else 0.0, chance=1.0)
    else:
        assert move is None


def slow(*starts: int, fetch_s: float) -> SwarmMap:
    """Servers of six blocks of twelve, who need so long for the files of a block."""
    swarm = swarm_map(*(server(f"a{i}", at, at + 6) for i, at in enumerate(starts)), me=own(6, span=Span(0, 6)))
    swarm.servers.fetch_s[:] = np.where(swarm.live, 0.0, fetch_s)
    return swarm


def test_an_unserved_block_is_worth_any_download():
    """Where all blocks are served, nobody takes so long to strengthen some."""
    assert [move.target for move in planned_moves(slow(0, fetch_s=100.0)).values()] == [Span(6, 12)]
    assert not planned_moves(slow(0, 0, 6, fetch_s=100.0))
    assert planned_moves(slow(0, 0, 6, fetch_s=10.0))


def test_an_unserved_block_is_left_to_who_has_the_files():
    swarm = slow(0, 0, fetch_s=100.0)
    swarm.servers.fetch_s[1] = 0.0
    assert list(planned_moves(swarm)) == [1]


def test_nobody_leaves_a_balanced_swarm():
    others = [server("a", 0, 6), server("b", 6, 12), server("c", 0, 6)]
    assert next_move(swarm_map(*others, me=own(6, span=Span(6, 12), stored=set(range(12))))) is None


def test_the_only_server_of_a_block_stays():
    assert next_move(swarm_map(server("a", 0, 6), me=own(6, span=Span(6, 12), stored=set(range(12))))) is None


def test_a_promise_to_download_does_not_keep_others_from_helping_now():
    """Of two servers at 0:6 one goes to 6:12, for which somebody else only waits for its downloads."""
    loading = server("b", 6, 12, state=ServerState.JOINING)
    others = [server("z", 0, 6), loading]
    me = own(6, span=Span(0, 6), stored=set(range(12)))
    assert next_move(swarm_map(*others, me=me)) is not None
    has_files = replace(loading, record=structs.replace(loading.record, stored=frozenset(range(6, 12))))
    assert next_move(swarm_map(others[0], has_files, me=me)) is None


def test_a_joining_server_has_no_move():
    with pytest.raises(ValueError, match="choose a span"):
        next_move(swarm_map(me=own(3)))


def large_swarm(crowd: int, thin: int) -> SwarmMap:
    """So many servers at 0:6, the one that decides among them, and fewer at 6:12; all are equal and have all files."""
    others = [server(f"a{i}", 0, 6, stored=range(12)) for i in range(crowd - 1)]
    others += [server(f"b{i}", 6, 12, stored=range(12)) for i in range(thin)]
    return swarm_map(*others, me=own(6, span=Span(0, 6), stored=set(range(12))))


@pytest.mark.parametrize(("crowd", "thin"), [(61, 55), (361, 340)])
def test_in_quiet_times_one_is_expected_to_move_at_a_time(crowd: int, thin: int):
    """Of a few hundred servers only a sample is asked what it would gain."""
    move = next_move(large_swarm(crowd, thin))
    assert move.target == Span(6, 12)
    assert move.chance == pytest.approx(1 / crowd, rel=0.1)
    assert not move.is_urgent


def test_who_gains_more_by_a_move_is_much_likelier_to_go():
    """Of sixty-one servers at 0:6, one bears twice as much as the others, and is worth more at 6:12."""
    chances = []
    for tps in (1.0, 2.0):
        swarm = large_swarm(crowd=61, thin=50)
        swarm.servers.throughput_tps[swarm.peers.index(PeerId("a7"))] = 2.0
        moves = single_moves(swarm, np.flatnonzero(swarm.servers.throughput_tps == tps))
        chances.append(max(move.chance for move in moves.values()))
    assert chances[1] > 6 * chances[0] > 0


def test_more_move_at_a_time_when_many_have_failed_in_a_swarm_too_large_to_plan():
    move = next_move(large_swarm(240, 16))
    assert 16 < 240 * move.chance < 112  # so many moves would make both halves equal
    assert move.is_urgent


def test_hundreds_of_servers_agree_on_who_goes_where_blocks_are_thin():
    """Of sixty equal servers at 0:6 ten are named, and those only; the others wait for them."""
    swarm = large_swarm(60, 4)
    moves = planned_moves(swarm)
    assert {(move.target, move.chance) for move in moves.values()} == {(Span(6, 12), 1.0)}
    assert len(moves) == 10
    for me in range(len(swarm.peers)):
        assert next_move(replace(swarm, me=me)) == moves.get(me)
    assert waits_for_others(swarm)


def test_a_plan_of_hundreds_ends_where_no_block_is_thin():
    assert len(planned_moves(large_swarm(60, 42))) == 5  # 47 is 0.92 of the mean, 46 is not
    assert not waits_for_others(large_swarm(60, 55))


def test_forty_servers_plan_all_moves_at_once_and_wait_for_nobody():
    swarm = large_swarm(36, 4)
    assert len({move.gain for move in planned_moves(swarm).values()}) == 1, "what the whole plan gains"
    assert not waits_for_others(swarm)


def test_thin_blocks_are_mended_by_those_who_have_the_files():
    """The strongest server would have to download; so it stays, where in quiet times it would go."""
    swarm = large_swarm(60, 4)
    strong = swarm.peers.index(PeerId("a7"))
    swarm.servers.throughput_tps[strong] = 2.0
    assert strong in planned_moves(swarm)
    swarm.servers.fetch_s[strong, 6:] = 10.0
    assert strong not in planned_moves(swarm)


def test_who_waits_for_files_before_it_leaves_does_not_count_as_soon_there():
    """It is on its way from 0:6 to 6:12 and has all files but the last; without that it would be there at once."""
    moving = server("a", 0, 6, stored=range(12))
    moving = replace(moving, record=structs.replace(moving.record, window=6, target=Span(6, 12)))
    lacking = replace(moving, record=structs.replace(moving.record, stored=frozenset(range(11))))
    there, not_there = (swarm_map(other, me=own(3)).soon.any(axis=0).tolist() for other in (moving, lacking))
    assert there == [False] * 6 + [True] * 6
    assert not_there == [False] * 12


def test_blocks_go_live_as_neighbours_and_the_neediest_first():
    swarm = swarm_map(server("a", 0, 3), server("b", 2, 5, tps=3.0), server("c", 6, 7, tps=2.0), me=own(7))
    assert load_order(swarm, Span(0, 7)) == [5, 6, 4, 3, 2, 1, 0]
    edges = swarm_map(server("a", 0, 1), server("b", 2, 3, tps=2.0), me=own(3))
    assert load_order(edges, Span(0, 3)) == [1, 0, 2]


def test_blocks_on_disk_go_live_before_needier_ones():
    swarm = swarm_map(server("a", 0, 3), me=own(6, stored={1, 2}))
    assert load_order(swarm, Span(0, 6))[:2] == [1, 2]


@pytest.mark.parametrize("seed", range(10))
def test_any_order_of_loading_is_contiguous_and_complete(seed: int):
    rng = np.random.default_rng(seed)
    others = [server(f"a{i}", int(at), int(at) + 3) for i, at in enumerate(rng.integers(0, 9, 4))]
    span = Span(2, 11)
    order = load_order(swarm_map(*others, me=own(9, stored=set(rng.integers(0, 12, 5).tolist()))), span)
    assert sorted(order) == list(span)
    assert all(max(order[:i]) - min(order[:i]) == i - 1 for i in range(1, len(order)))


def test_prefetch_takes_the_rarest_missing_block_first():
    swarm = swarm_map(server("a", 0, 8), server("b", 4, 12), me=own(2, stored={11}))
    assert prefetch_order(swarm) == [0, 1, 2, 3, 8, 9, 10, 4, 5, 6, 7]


def test_a_model_of_one_block_can_be_served():
    assert choose_span(swarm_map(me=own(5), model=replace(MODEL, num_blocks=1))) == Span(0, 1)


def test_one_more_server_helps_where_blocks_are_thinnest():
    more = joining_gain(swarm_map(server("a", 0, 12, tps=2.0), server("b", 0, 9, tps=3.0), me=own(3, tps=2.5)))
    assert more == OneMore((9, 12), 1.25)


@pytest.mark.parametrize("others", [[], [("a", 0, 4), ("b", 8, 12)]])
def test_one_more_server_adds_nothing_to_a_swarm_that_cannot_run(others):
    assert joining_gain(swarm_map(*(server(*other) for other in others), me=own(4, tps=5.0))).gain == 0


def test_what_one_more_server_brings_is_a_number_whatever_others_claim():
    slow, fast = server("a", 0, 12, tps=1e-300), own(12, tps=1e15)
    assert joining_gain(swarm_map(slow, me=fast)).gain <= 100


def test_what_is_only_promised_is_not_there_yet():
    loading = server("a", 0, 12, state=ServerState.JOINING)
    assert joining_gain(swarm_map(loading, me=own(4))).gain == 0
