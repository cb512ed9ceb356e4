"""ReachabilityProtocol.rpc_check: "can you reach this peer?", asked with the DHT's ping messages.

The request names a peer by its raw id, PingRequest {2 peer {1 node_id}}; the answer is PingResponse {5 available}.
"""

from __future__ import annotations

from typing import Final

from potluck.membership.identity import base58_encode
from potluck.petals.protobuf import BYTES, read_fields, varint_field
from potluck.protocol.blocks import PeerId
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.wire.errors import WireError, refusing

_MAX_ID_BYTES: Final = 64


@refusing(Code.BAD_REQUEST)
def decode_check_request(body: Buffer) -> PeerId:
    """Return the peer to be checked; raises RemoteError BAD_REQUEST."""
    for number, kind, start, end in read_fields(body, 0, len(body)):
        if number == 2 and kind == BYTES:
            for inner, inner_kind, a, b in read_fields(body, start, end):
                if inner == 1 and inner_kind == BYTES and 0 < b - a <= _MAX_ID_BYTES:
                    return PeerId(base58_encode(bytes(body[a:b])))
    raise WireError("a check without a peer id")


def encode_check_reply(is_reachable: bool) -> bytes:
    return varint_field(5, int(is_reachable))
