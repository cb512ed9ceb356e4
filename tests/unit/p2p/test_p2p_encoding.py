"""How p2pd writes addresses and ids, and what the beginning of a call tells."""

import pytest
from hivemind.proto import p2pd_pb2 as pb
from hivemind.utils.multiaddr import Multiaddr

from potluck.errors import NetworkError
from potluck.membership.identity import base58_decode
from potluck.p2p.encoding import PEEK_BYTES, PeekedRequest, encoded_multiaddr, peek_request

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


CALL, PEER = b"c" * 16, b"p" * 38


def message(body: bytes) -> bytes:
    request = pb.CallUnaryRequest(peer=PEER, proto="test.echo", data=body)
    return bytes(pb.PersistentConnectionResponse(callId=CALL, requestHandling=request).SerializeToString())


def test_the_first_bytes_of_a_large_call_name_the_call_and_its_sender() -> None:
    assert peek_request(message(bytes(1 << 20))[:PEEK_BYTES]) == PeekedRequest(CALL, PEER)


@pytest.mark.parametrize("length", [0, 1, 10, 18, 20, 24, 50])
def test_a_beginning_that_is_too_short_names_nobody(length: int) -> None:
    assert peek_request(message(bytes(1 << 20))[:length]) is None


def test_other_messages_name_nobody() -> None:
    answer = pb.CallUnaryResponse(response=bytes(1 << 20))
    data = pb.PersistentConnectionResponse(callId=CALL, callUnaryResponse=answer).SerializeToString()
    assert peek_request(bytes(data)[:PEEK_BYTES]) is None
