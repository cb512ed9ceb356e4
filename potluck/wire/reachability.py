"""ReachabilityProtocol.rpc_check: "can you reach this peer?", asked with the DHT's ping messages.

The request names a peer by its raw id, PingRequest {2 peer {1 node_id}}; the answer is PingResponse {5 available}.
"""

from __future__ import annotations

from typing import Final

from potluck.protocol.blocks import PeerId
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.wire.errors import WireError, refusing
from potluck.wire.protobuf import BYTES, VARINT, bytes_field, read_fields, varint_field

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_MAX_ID_BYTES: Final = 64


def encode_check_request(peer: PeerId) -> bytes:
    return bytes_field(2, bytes_field(1, peer_id_bytes(peer)))


@refusing(Code.BAD_REQUEST)
def decode_check_request(body: Buffer) -> PeerId:
    """The peer to be checked; raises RemoteError BAD_REQUEST."""
    for number, kind, start, end in read_fields(body, 0, len(body)):
        if number == 2 and kind == BYTES:
            for inner, inner_kind, a, b in read_fields(body, start, end):
                if inner == 1 and inner_kind == BYTES and 0 < b - a <= _MAX_ID_BYTES:
                    return peer_id_text(bytes(body[a:b]))
    raise WireError("a check without a peer id")


def encode_check_reply(is_reachable: bool) -> bytes:
    return varint_field(5, int(is_reachable))


@refusing(Code.BAD_REPLY)
def decode_check_reply(body: Buffer) -> bool:
    """Raises RemoteError BAD_REPLY."""
    is_reachable = False
    for number, kind, value, _ in read_fields(body, 0, len(body)):
        if number == 5 and kind == VARINT:
            is_reachable = bool(value)
    return is_reachable


def peer_id_text(raw: bytes) -> PeerId:
    """Base58 text of a raw peer id."""
    number = int.from_bytes(raw, "big")
    digits = ""
    while number:
        number, digit = divmod(number, 58)
        digits = _ALPHABET[digit] + digits
    return PeerId("1" * (len(raw) - len(raw.lstrip(b"\0"))) + digits)


def peer_id_bytes(peer: PeerId) -> bytes:
    """Raw peer id of a base58 text; raises ValueError."""
    number = 0
    for char in peer:
        number = number * 58 + _ALPHABET.index(char)
    zeros = len(peer) - len(peer.lstrip("1"))
    return b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")
