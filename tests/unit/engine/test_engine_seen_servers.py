"""What an engine tells its daemon about the servers of the swarm."""

from helpers.server_records import server_of
from potluck_control.engine_messages import MAX_SERVERS
from potluck_control.methods.members import SeenServer
from potluck_engine.engine_reports import seen_servers

from potluck.protocol.blocks import PeerId
from potluck.protocol.records import ServerState

OWN = PeerId("me")


def test_a_server_is_told_with_its_blocks_speed_and_distance() -> None:
    far = server_of("far", 0, 4, inference_tps=50.0, beat={"pings_s": {OWN: 0.02, PeerId("else"): 0.5}})
    leaving = server_of("leaving", 0, 2, beat={"state": ServerState.OFFLINE})
    own = server_of("me", 2, 4)
    assert seen_servers([far, leaving, own], OWN) == (
        SeenServer("me", 2, 4, "online", 50.0),
        SeenServer("far", 0, 4, "online", 12.5, 0.02),
        SeenServer("leaving", 0, 2, "offline", 50.0),
    )


def test_a_large_swarm_is_told_in_part_with_this_computer_first() -> None:
    told = seen_servers([*(server_of(f"a{number}", 0, 2) for number in range(MAX_SERVERS)), server_of("me", 1, 2)], OWN)
    assert len(told) == MAX_SERVERS
    assert told[0].peer_id == "me"
