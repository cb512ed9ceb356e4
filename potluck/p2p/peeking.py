"""Reads who calls from the beginning of p2pd's message about a unary call, before the rest of it has come.

The layout is protobuf's: call id (field 1), request (field 3), which begins with the peer (field 1). A message that is
laid out otherwise is none, and read as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from potluck.p2p.varint import decode_varint

PEEK_BYTES = 256  # a call id has 16 bytes, a peer id at most 64
_FIELD_1, _FIELD_3 = 0x0A, 0x1A  # with a length


@dataclass(frozen=True, slots=True)
class PeekedRequest:
    """A unary call whose body is still on its way."""

    call_id: bytes
    peer: bytes


def peek_request(beginning: bytes | memoryview) -> PeekedRequest | None:
    """Return the call that a message begins with; None if it is something else, or not enough has come."""
    data = bytes(beginning)
    call_id, rest = _field(data, _FIELD_1)
    if rest is None or data[rest : rest + 1] != bytes((_FIELD_3,)):
        return None
    _, inside = decode_varint(data, rest + 1)
    if inside == 0:
        return None
    peer, rest = _field(data[inside:], _FIELD_1)
    return None if rest is None else PeekedRequest(call_id, peer)


def _field(data: bytes, tag: int) -> tuple[bytes, int | None]:
    """Return the field at the beginning and where the next one starts; None if it is not whole."""
    if data[:1] != bytes((tag,)):
        return b"", None
    size, start = decode_varint(data, 1)
    if start == 0 or start + size > len(data):
        return b"", None
    return data[start : start + size], start + size
