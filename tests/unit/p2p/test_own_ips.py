"""A computer tells others those of its IPs that lead to it. The tests make the interfaces up and use no network."""

import pytest

from potluck.p2p.listening import OwnIp, announced_addresses, everywhere, outer_ips

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
