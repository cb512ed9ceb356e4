"""Reads who calls from the beginning of p2pd's message about a unary call, before the rest of it has come.

The layout is protobuf's: call id (field 1), request (field 3), which begins with the peer (field 1). A message that is
laid out otherwise is none, and read as a whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PEEK_BYTES = 256  # a call id has 16 bytes, a peer id at most 64
_CALL = re.compile(rb"\n\x10(.{16})\x1a[\x80-\xff]*[\x00-\x7f]\n([\x00-\x7f])", re.DOTALL)  # tags and lengths


@dataclass(frozen=True, slots=True)
class PeekedRequest:
    """A unary call whose body is still on its way."""

    call_id: bytes
    peer: bytes


def peek_request(beginning: bytes | memoryview) -> PeekedRequest | None:
    """Return the call that a message begins with; None if it is something else, or not enough has come."""
    found = _CALL.match(beginning)
    if found is None:
        return None
    size = found[2][0]
    peer = bytes(beginning[found.end() : found.end() + size])
    return PeekedRequest(found[1], peer) if len(peer) == size else None
