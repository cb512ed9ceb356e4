"""How claims are bounded, so that one liar cannot move the swarm."""

import pytest
from placement_swarms import own, server, swarm_map
from potluck_engine.placement.choose import choose_span, planned_moves
from potluck_engine.placement.swarm_map import SwarmMap

from potluck.protocol.blocks import Span
from potluck.protocol.records import LiveServer

ALL_BLOCKS = range(12)
MBPS_A_TPS = 131072 / 1e6  # by the token_bits of these swarms


def believed(swarm: SwarmMap, name: str) -> float:
    return float(swarm.servers.throughput_tps[[str(peer) for peer in swarm.peers].index(name)])


def honest(count: int, links_mbps: dict[str, float] | None = None) -> list[LiveServer]:
    return [server(f"h{i}", 0, 12, tps=100.0, links_mbps=links_mbps) for i in range(count)]


@pytest.mark.parametrize(
    ("claim_tps", "link_tps", "believed_tps"),
    [
        pytest.param(390.0, None, 390.0, id="usual claims are believed unseen"),
        pytest.param(1e12, None, 400.0, id="a huge one counts four times the usual at most"),
        pytest.param(0.0, None, 100.0, id="who has not measured yet counts as usual"),
        pytest.param(1e4, 700.0, 700.0, id="eight who measured a fast link raise the bound"),
        pytest.param(1e9, 1e9, 800.0, id="but a fast link does not prove computing without bound"),
        pytest.param(300.0, 50.0, 50.0, id="a slow link lowers a claim"),
    ],
)
def test_claims_are_bounded_by_the_usual_and_the_measured(
    claim_tps: float, link_tps: float | None, believed_tps: float
):
    others = honest(8, {} if link_tps is None else {"other": link_tps * MBPS_A_TPS})
    swarm = swarm_map(*others, server("other", 0, 6, tps=claim_tps), me=own(3, tps=100.0))
    assert believed(swarm, "other") == pytest.approx(believed_tps)


def test_beside_one_other_server_a_liar_is_measured_by_what_we_are():
    assert believed(swarm_map(server("liar", 0, 6, tps=1e12), me=own(3, tps=100.0)), "liar") == 400.0


def test_one_accomplice_and_the_liar_itself_raise_nothing():
    others = [*honest(8, {"liar": 50 * MBPS_A_TPS}), server("friend", 0, 6, tps=100.0, links_mbps={"liar": 1e9})]
    liar = server("liar", 0, 6, tps=1e12, links_mbps={"liar": 1e9})
    assert believed(swarm_map(*others, liar, me=own(3, tps=100.0)), "liar") == pytest.approx(50)


def test_enemies_lower_nothing():
    others = [*honest(6, {"a": 300 * MBPS_A_TPS}), *(server(f"e{i}", 0, 6, links_mbps={"a": 0.0}) for i in range(4))]
    assert believed(swarm_map(*others, server("a", 0, 6, tps=250.0), me=own(3, tps=100.0)), "a") == 250.0


def test_fewer_than_eight_reports_about_a_link_count_for_nothing():
    others = honest(7, {"slow": 50 * MBPS_A_TPS})
    assert believed(swarm_map(*others, server("slow", 0, 6, tps=300.0), me=own(3, tps=100.0)), "slow") == 300.0


def test_own_throughput_is_believed_as_it_is():
    assert believed(swarm_map(*honest(5), me=own(3, tps=9000.0)), "me") == 9000.0


@pytest.mark.parametrize("claim", [1.0, 1e3, 1e12])
def test_a_liar_at_thin_blocks_does_not_keep_others_away(claim: float):
    """Sixty servers at 0:6, twenty at 6:12, of which one lies: the crowd still sends some, by a plan of all."""
    crowd = [server(f"a{i}", 0, 6, stored=ALL_BLOCKS) for i in range(60)]
    thin = [server(f"b{i}", 6, 12, stored=ALL_BLOCKS) for i in range(19)]
    liar = server("liar", 6, 12, tps=claim, stored=ALL_BLOCKS)
    swarm = swarm_map(*crowd, *thin, liar, me=own(6, span=Span(0, 6), stored=ALL_BLOCKS))
    moves = planned_moves(swarm)
    assert {move.target for move in moves.values()} == {Span(6, 12)}
    assert all(swarm.peers[row].startswith("a") for row in moves)


def test_a_liar_does_not_draw_who_joins_from_where_it_is_needed():
    swarm = [server("a", 0, 6, tps=10.0), server("b", 0, 6, tps=10.0), server("c", 6, 12, tps=3.0)]
    liar = server("liar", 6, 12, tps=1e12)
    assert choose_span(swarm_map(*swarm, me=own(6, tps=10.0))) == Span(6, 12)
    more = [*swarm, server("d", 0, 6, tps=10.0), server("e", 0, 6, tps=10.0), server("f", 0, 6, tps=10.0)]
    assert choose_span(swarm_map(*more, liar, me=own(6, tps=10.0))) == Span(6, 12)
