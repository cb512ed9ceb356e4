"""What an engine tells its daemon about the servers of the swarm."""

from helpers.server_records import server_of
from potluck_control.methods.members import SeenServer
from potluck_engine.placement.outlook import seen_servers

from potluck.protocol.blocks import PeerId
from potluck.protocol.records import ServerState

OWN = PeerId("me")


def test_a_server_is_told_with_its_blocks_speed_and_distance() -> None:
    far = server_of("far", 0, 4, inference_tps=50.0, beat={"pings_s": {OWN: 0.02, PeerId("else"): 0.5}})
    leaving = server_of("leaving", 0, 2, beat={"state": ServerState.OFFLINE})
    own = server_of("me", 2, 4)
    known = {
        "throughput_tps": own.record.throughput_tps,
        "cache_tokens_left": own.heartbeat.cache_tokens_left,
        "dtype": own.record.format.dtype,
        "version": own.record.version,
    }
    assert seen_servers([far, leaving, own], OWN) == (
        SeenServer("me", 2, 4, "online", 50.0, **known),
        SeenServer("far", 0, 4, "online", 12.5, 0.02, **known),
        SeenServer("leaving", 0, 2, "offline", 50.0, **known),
    )


def test_this_computer_comes_first_in_a_large_swarm_that_is_told_in_part() -> None:
    told = seen_servers([*(server_of(f"a{number}", 0, 2) for number in range(9)), server_of("me", 1, 2)], OWN)
    assert told[0].peer_id == "me"
