"""Multiaddrs as p2pd reads them."""

import pytest
from hivemind.utils.multiaddr import Multiaddr

from potluck.errors import NetworkError
from potluck.membership.identity import base58_decode
from potluck.p2p.encoding import encoded_multiaddr

RELAY = "12D3KooWNXW5wpRcRQwrGRsBSEb9DHVgWwWTQ56uBjB5XrSffhKK"


def test_the_way_through_a_relay_names_it_by_the_id_itself_which_p2pd_demands() -> None:
    addr = f"/ip4/192.0.2.7/tcp/31337/p2p/{RELAY}/p2p-circuit"
    key = base58_decode(RELAY)
    assert encoded_multiaddr(addr) == bytes.fromhex("04c0000207067a69a50326") + key + bytes.fromhex("a202")
    assert str(Multiaddr(encoded_multiaddr(addr))) == addr


def test_an_address_without_a_relay_and_one_that_ends_in_a_peer_are_written_whole() -> None:
    for addr in ("/ip4/192.0.2.7/tcp/31337", "/ip6/2001:db8::7/tcp/1", f"/ip4/192.0.2.7/tcp/31337/p2p/{RELAY}"):
        assert str(Multiaddr(encoded_multiaddr(addr))) == addr


def test_what_is_none_is_refused() -> None:
    cid = "bafzaajaiaejcbpgqejuvz7ghjcuuvs3pzcwwmtfuqnaqtqhqdjxbijqmbinf2lbb"
    for addr in ("", "tcp", "/ip4/192.0.2.7/tcp/x", "/p2p/", f"/p2p/{cid}"):
        with pytest.raises(NetworkError):
            encoded_multiaddr(addr)
