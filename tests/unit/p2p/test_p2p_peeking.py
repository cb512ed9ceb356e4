"""The beginning of a large call says who sends it."""

import pytest
from hivemind.proto import p2pd_pb2 as pb

from potluck.p2p.encoding import PEEK_BYTES, PeekedRequest, peek_request

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
