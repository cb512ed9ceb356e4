"""Where a node listens: ports, claims on them, and the IPs that are worth announcing."""

import errno
import socket
import sys
from collections.abc import Iterator

import pytest

from potluck.errors import NetworkError
from potluck.p2p.listening import (
    OwnIp,
    announced_addresses,
    check_announced_address,
    check_listen_address,
    claim_ports,
    everywhere,
    outer_ips,
    require_free_ports,
    tcp_ports,
    with_free_ports,
)

HOST = "127.77.0.1"  # a loopback address at which no other test takes ports


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        yield f"/ip4/{HOST}/tcp/{other.getsockname()[1]}"


def test_a_port_that_another_program_has_gives_way_to_the_same_one_each_time(taken: str) -> None:
    (other,) = with_free_ports([taken])
    assert other != taken
    assert other.startswith(f"/ip4/{HOST}/tcp/")
    assert with_free_ports([taken]) == (other,)
    require_free_ports([other])


def test_free_ports_and_addresses_without_one_stay(taken: str) -> None:
    (free,) = with_free_ports([taken])
    addresses = (free, "/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/4001/quic-v1")
    assert with_free_ports(addresses) == addresses


def test_both_families_move_to_one_port_if_either_is_taken(taken: str) -> None:
    port = int(taken.rpartition("/")[2])
    moved = with_free_ports([taken, f"/ip6/::1/tcp/{port}"])
    assert len(tcp_ports(moved)) == 1
    assert tcp_ports(moved) != (port,)


def test_a_family_that_the_computer_lacks_takes_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnlyIPv4(socket.socket):
        def __init__(self, family: int = socket.AF_INET, kind: int = socket.SOCK_STREAM) -> None:
            if family == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
            super().__init__(family, kind)

    monkeypatch.setattr(socket, "socket", OnlyIPv4)
    addresses = everywhere(free_port())
    assert with_free_ports(addresses) == addresses
    require_free_ports(addresses)
    with pytest.raises(NetworkError, match="Address family not supported"):
        require_free_ports([f"/ip6/2a45::1/tcp/{free_port()}"])


def test_a_taken_port_that_was_asked_for_is_an_error(taken: str) -> None:
    with pytest.raises(NetworkError, match=r"cannot listen on 127\.77\.0\.1 port \d+: Address already in use"):
        require_free_ports([taken])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no names outside the file system")
def test_a_port_that_another_node_is_about_to_take_is_taken() -> None:
    address = f"/ip4/{HOST}/tcp/{free_port()}"
    with claim_ports([address]):
        with pytest.raises(NetworkError, match="Address already in use"):
            claim_ports([address])
        assert with_free_ports([address]) != (address,)
        claim_ports(["/ip4/127.0.0.1/tcp/0"]).close()
    claim_ports([address]).close()


def test_a_free_port_that_cannot_be_claimed_is_used_all_the_same() -> None:
    too_long = f"/ip4/{HOST}/tcp/{free_port()}/p2p/{'Q' * 100}"
    with claim_ports([too_long]):
        assert with_free_ports([too_long]) == (too_long,)


@pytest.mark.parametrize(
    "addr", ["0", "", "/ip4/nonsense/tcp/1", "/ip4/::1/tcp/1", "/ip4/1.2.3.4/tcp/65536", "/ip4/1.2.3.4", "/dns/a/tcp/1"]
)
def test_what_nobody_can_listen_on_is_refused(addr: str) -> None:
    with pytest.raises(ValueError, match="expected an address such as"):
        check_listen_address(addr)


def test_addresses_to_listen_on_and_to_announce_are_known() -> None:
    for addr in ("/ip4/0.0.0.0/tcp/0", "/ip6/::/tcp/31330", "/ip4/1.2.3.4/udp/4001/quic"):
        assert check_listen_address(addr) == check_announced_address(addr) == addr
    assert check_announced_address("/dns4/home.example.org/tcp/31330")


LOOPBACK = OwnIp("127.0.0.1"), OwnIp("::1")
LINK = OwnIp("fe80::1"), OwnIp("169.254.7.7")
LAN, UNIQUE = OwnIp("192.168.1.5"), OwnIp("fd12:3456::5")
GLOBAL_4, GLOBAL_6 = OwnIp("45.45.9.5"), OwnIp("2a45:45:1::5")
DOCKER = OwnIp("172.17.0.1", is_inner=True), OwnIp("fd00:d0c::1", is_inner=True)
TAILSCALE = OwnIp("100.101.102.103"), OwnIp("fd7a:115c:a1e0::7")
TEMPORARY, DEPRECATED = OwnIp("2a45:45:1:0:a1b2::7", is_passing=True), OwnIp("2a45:45:2::5", is_passing=True)


@pytest.mark.parametrize(
    ("own", "outer"),
    [
        ([*LOOPBACK, *LINK], ""),
        ([*LOOPBACK, LAN, *LINK, GLOBAL_6], "2a45:45:1::5 192.168.1.5"),
        ([LAN, *DOCKER], "192.168.1.5"),
        ([*LOOPBACK, *DOCKER], ""),
        ([LAN, *TAILSCALE], "192.168.1.5 100.101.102.103 fd7a:115c:a1e0::7"),
        ([TEMPORARY, GLOBAL_6, DEPRECATED, UNIQUE], "2a45:45:1::5 fd12:3456::5"),
        ([TEMPORARY, UNIQUE], "2a45:45:1:0:a1b2::7 fd12:3456::5"),  # nothing lasts longer
        ([OwnIp("2002:2d2d:905::1"), OwnIp("2001:0:53aa::1"), LAN], "192.168.1.5 2002:2d2d:905::1 2001:0:53aa::1"),
        ([OwnIp("192.0.0.2"), GLOBAL_6], "2a45:45:1::5"),  # IPv4 by translation, for old programs here
        (
            [OwnIp("10.0.0.1"), LAN, GLOBAL_4, UNIQUE, GLOBAL_6],
            "2a45:45:1::5 45.45.9.5 10.0.0.1 fd12:3456::5 192.168.1.5",
        ),
    ],
)
def test_others_are_told_the_best_ip_of_each_kind_and_none_that_leads_them_nowhere(
    own: list[OwnIp], outer: str
) -> None:
    assert [*outer_ips(own)] == outer.split()


ROUTED = "/ip6/fd12:3456::5/tcp/31337/p2p/x"  # what p2pd found at its default route
TOLD = ("/ip4/127.0.0.1/tcp/31337/p2p/x", "/ip6/::1/tcp/31337/p2p/x", ROUTED)


@pytest.mark.parametrize(
    ("told", "listen", "found"),
    [
        (
            TOLD,
            everywhere(31337),
            ["/ip6/2a45:45:1::5/tcp/31337/p2p/x", "/ip4/192.168.1.5/tcp/31337/p2p/x", ROUTED, *TOLD[:2]],
        ),
        (TOLD[:1], everywhere(31337), ["/ip4/192.168.1.5/tcp/31337/p2p/x", *TOLD[:1]]),  # IPv6 is switched off
        (TOLD[:1], ("/ip4/127.0.0.1/tcp/31337",), TOLD[:1]),
        (["/ip4/172.17.0.1/tcp/1/p2p/x"], ("/ip4/172.17.0.1/tcp/1",), ["/ip4/172.17.0.1/tcp/1/p2p/x"]),  # as chosen
        (
            [
                "/ip4/45.45.7.1/tcp/9/p2p/r/p2p-circuit/p2p/x",
                "/ip4/172.17.0.1/tcp/1/p2p/x",
                "/ip4/45.45.7.7/tcp/1/p2p/x",
            ],
            ("/ip4/0.0.0.0/tcp/1",),
            [
                "/ip4/45.45.7.7/tcp/1/p2p/x",  # mapped by the router
                "/ip4/192.168.1.5/tcp/1/p2p/x",
                "/ip4/45.45.7.1/tcp/9/p2p/r/p2p-circuit/p2p/x",
            ],
        ),
    ],
)
def test_a_node_that_listens_everywhere_tells_all_ips_that_lead_to_it(
    told: list[str], listen: list[str], found: list[str]
) -> None:
    assert [*announced_addresses(told, listen, [*LOOPBACK, LAN, *DOCKER, UNIQUE, TEMPORARY, GLOBAL_6])] == [*found]
