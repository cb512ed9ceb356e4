"""What people see of the swarm: its servers, and how fast one answer is expected to come."""

import pytest
from helpers.server_records import server_of
from potluck_control.methods.members import SeenServer
from potluck_engine.placement.outlook import expected_answer_tps, seen_servers

from potluck.protocol.blocks import PeerId
from potluck.protocol.records import LiveServer, ServerState
from potluck.routing.candidates import HOP_OVERHEAD_S

OWN = PeerId("own")


def test_an_answer_takes_the_steps_of_its_route_and_the_way_and_no_more_servers_make_it_faster() -> None:
    def swarm(*far: str) -> list[LiveServer]:
        own = server_of("own", 0, 2, inference_tps=100.0, network_tps=0.0, beat={"pings_s": dict.fromkeys(far, 0.04)})
        return [own, *(server_of(name, 2, 4, inference_tps=50.0, network_tps=0.0) for name in far)]

    step_s = 2 / 100 + 2 / 50 + 0.04 + 2 * HOP_OVERHEAD_S
    assert expected_answer_tps(swarm("far"), 4, OWN) == pytest.approx(1 / step_s, rel=0.01)
    assert expected_answer_tps(swarm("far", "other"), 4, OWN) == expected_answer_tps(swarm("far"), 4, OWN)


def test_nothing_is_expected_while_a_block_has_no_server() -> None:
    loading = server_of("far", 2, 4, beat={"state": ServerState.JOINING})
    assert expected_answer_tps([server_of("own", 0, 2), loading], 4, OWN) == 0.0


def test_a_server_that_claims_any_speed_promises_no_more_than_a_fast_one() -> None:
    boaster = server_of("far", 0, 4, inference_tps=1e15, network_tps=1e15, beat={"pings_s": {OWN: 0.0}})
    assert expected_answer_tps([boaster], 4, OWN) <= 1000


def test_a_server_is_told_with_its_blocks_speed_and_distance() -> None:
    far = server_of("far", 0, 4, inference_tps=50.0, beat={"pings_s": {OWN: 0.02, PeerId("else"): 0.5}})
    leaving = server_of("leaving", 0, 2, beat={"state": ServerState.OFFLINE})
    own = server_of("own", 2, 4)
    known = {
        "throughput_tps": own.record.throughput_tps,
        "cache_tokens_left": own.heartbeat.cache_tokens_left,
        "dtype": own.record.format.dtype,
        "version": own.record.version,
    }
    assert seen_servers([far, leaving, own], OWN) == (
        SeenServer("own", 2, 4, "online", 50.0, **known),
        SeenServer("far", 0, 4, "online", 12.5, 0.02, **known),
        SeenServer("leaving", 0, 2, "offline", 50.0, **known),
    )


def test_this_computer_comes_first_in_a_large_swarm_that_is_told_in_part() -> None:
    told = seen_servers([*(server_of(f"a{number}", 0, 2) for number in range(9)), server_of("own", 1, 2)], OWN)
    assert told[0].peer_id == "own"
