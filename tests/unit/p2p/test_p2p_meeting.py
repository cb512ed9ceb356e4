from dataclasses import replace

from potluck.membership.membership import Membership
from potluck.p2p.config import HostConfig
from potluck.p2p.meeting import useful, ways_in
from potluck.protocol.swarm import Swarm

MEMBER = Membership(Swarm("s", "m", 4, "s"), met=("/ip4/192.0.2.1/tcp/1/p2p/12D3a", "/ip4/192.0.2.2/tcp/1/p2p/12D3b"))


def test_a_node_joins_through_members_it_met_besides_the_peers_of_its_invite() -> None:
    invited = HostConfig(membership=MEMBER, bootstrap_peers=(MEMBER.met[1],))
    assert ways_in(invited) == (MEMBER.met[1], MEMBER.met[0])


def test_a_founder_needs_nobody_to_start() -> None:
    assert ways_in(HostConfig(membership=MEMBER)) == ()
    assert ways_in(replace(HostConfig(), bootstrap_peers=(MEMBER.met[0],))) == (MEMBER.met[0],)


def test_relayed_addresses_and_those_of_the_machine_itself_are_of_no_use_elsewhere() -> None:
    here, there, relayed = "/ip4/127.0.0.1/tcp/1", "/ip4/192.0.2.1/tcp/1", "/ip4/192.0.2.1/tcp/1/p2p/x/p2p-circuit"
    assert useful([here, there, relayed]) == [there]
    assert useful([here, relayed]) == [here]
