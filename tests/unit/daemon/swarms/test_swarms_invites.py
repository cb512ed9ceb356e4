import pytest
from potluck_control.methods.swarms import InviteReach
from potluck_daemon.host.listening import USUAL_PORT, free_port
from potluck_daemon.swarms.invites import MAX_ADDRESSES, MAX_OWN_ADDRESSES, peers_for_invite, reach

from potluck.p2p import listening


def addresses(network: int, count: int) -> list[str]:
    return [f"/ip4/192.0.{network}.{host}/tcp/1/p2p/12D3{host}" for host in range(count)]


def test_an_invite_names_this_machine_then_members_met_then_the_peers_of_the_old_invite() -> None:
    own, met, known = addresses(1, 1), addresses(2, 2), addresses(3, 1)
    assert peers_for_invite(own, met, known) == (*own, *met, *known)


@pytest.mark.parametrize("num_busy", [0, 3, 100])
def test_a_port_is_found_however_many_are_busy(monkeypatch: pytest.MonkeyPatch, num_busy: int) -> None:
    def obstacle(addr: str) -> OSError | None:
        return OSError() if int(listening.multiaddr_part(addr, "tcp") or 0) < USUAL_PORT + num_busy else None

    monkeypatch.setattr(listening, "_obstacle", obstacle)
    assert free_port() == USUAL_PORT + num_busy


def test_an_invite_stays_short_and_keeps_a_place_for_the_old_one() -> None:
    own, met, known = addresses(1, 9), addresses(2, 9), addresses(3, 9)
    found = peers_for_invite(own, met, known)
    assert len(found) == MAX_ADDRESSES
    assert found[:MAX_OWN_ADDRESSES] == tuple(own[:MAX_OWN_ADDRESSES])
    assert found[-1] == known[0]


def test_loopback_is_for_swarms_on_one_machine() -> None:
    here = "/ip4/127.0.0.1/tcp/1/p2p/12D3"
    assert peers_for_invite([here, *addresses(1, 1)], [], []) == tuple(addresses(1, 1))
    assert peers_for_invite([here], [], []) == (here,)


LAN, LOOP = "/ip4/192.168.0.7/tcp/1/p2p/12D3a", "/ip4/127.0.0.1/tcp/1/p2p/12D3a"
PUBLIC, FRIEND = "/ip4/8.8.4.4/tcp/1/p2p/12D3a", "/ip6/2606:4700::1/tcp/1/p2p/12D3b"
RELAYED = "/ip4/8.8.4.4/tcp/1/p2p/12D3c/p2p-circuit/p2p/12D3a"


def test_newcomers_reach_the_swarm_as_its_addresses_and_members_say() -> None:
    for own, others, found, said in (
        ([LAN, PUBLIC], [], "direct", InviteReach.DIRECT),
        ([LAN, PUBLIC], [], "unknown", InviteReach.UNTRIED),
        ([LAN], [FRIEND], "relayed", InviteReach.RELAYED),
        ([LAN, RELAYED], [], "unknown", InviteReach.RELAYED),
        ([LAN], [FRIEND], "unknown", InviteReach.OTHERS),
        ([LAN], ["/dns4/meet.example/tcp/1/p2p/12D3b"], "direct", InviteReach.OTHERS),
        ([], [FRIEND], "unknown", InviteReach.OTHERS),
        ([LAN], [], "direct", InviteReach.NEARBY),  # members of the same network tried
        ([LOOP], [], "unknown", InviteReach.NOWHERE),
    ):
        assert reach(own, [*own, *others], found, is_for_here=False) is said
    assert reach([LOOP], [LOOP], "unknown", is_for_here=True) is InviteReach.HERE
