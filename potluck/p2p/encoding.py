"""How p2pd writes addresses, peer ids and lengths, and who calls in a message of which only the beginning has come.

Multiaddrs that people and peers name are checked before p2pd sees them. Lengths are unsigned varints, as in protobuf.
A unary call has call id (field 1) and request (field 3), which begins with the peer (field 1). A message that is laid
out otherwise is no such call, and is read as a whole.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from functools import lru_cache

from hivemind.utils.multiaddr import Multiaddr

from potluck.errors import NetworkError
from potluck.membership.identity import base58_decode, base58_encode
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.sentences import sentence

_EXAMPLE = "/ip4/192.0.2.7/tcp/31330/p2p/12D3Koo..."
_P2P = bytes.fromhex("a503")  # the code of /p2p/, 421


def checked_multiaddr(addr: str) -> str:
    """Return the multiaddr itself. Raises NetworkError if it is none."""
    try:
        Multiaddr(addr)
    except Exception as error:  # the parser has a family of its own errors and lets others through
        raise NetworkError(
            sentence("{what} is not a multiaddr", what=repr(addr)),
            hint=sentence("an address looks like {what}", what=_EXAMPLE),
        ) from error
    return addr


def encoded_multiaddr(addr: str) -> bytes:
    """Return the multiaddr as p2pd reads it. Raises NetworkError.

    hivemind writes the id of a relay as a CID, which p2pd refuses.
    """
    head, *relays = checked_multiaddr(addr).split("/p2p/")
    parts = [Multiaddr(head).to_bytes()] if head else []
    for relay in relays:
        peer, slash, rest = relay.partition("/")
        try:
            key = base58_decode(peer)
        except ValueError as error:
            raise NetworkError(
                sentence("{addr} names a peer in an unknown way", addr=repr(addr)), hint=f"use base58: {_EXAMPLE}"
            ) from error
        parts += [_P2P, bytes([len(key)]), key]
        if slash:
            parts.append(Multiaddr(f"/{rest}").to_bytes())
    return b"".join(parts)


def split_peer(addr: str) -> tuple[PeerId, str]:
    """Return the peer id and the address without it. Raises NetworkError."""
    checked_multiaddr(addr)
    rest, slash, peer = addr.rpartition("/p2p/")
    with contextlib.suppress(ValueError):
        base58_decode(peer)
        if slash and rest:
            return PeerId(peer), rest
    raise NetworkError(
        sentence("{name} does not name a peer", name=repr(addr)),
        hint=sentence("a full address ends in its peer id: {what}", what=_EXAMPLE),
    )


@lru_cache(maxsize=4096)
def peer_id(raw: bytes) -> PeerId:
    """Return the peer id in p2pd's bytes."""
    return PeerId(base58_encode(raw))


def raw_peer(peer: PeerId) -> bytes:
    """Return a peer id as p2pd reads it. Raises RemoteError."""
    try:
        return base58_decode(peer)
    except ValueError as error:
        raise RemoteError(Code.UNREACHABLE, str(error)) from error


_MAX_BYTES = 9


def delimited(message: bytes) -> bytes:
    """Return a message behind its length."""
    length, number = bytearray(), len(message)
    while number > 0x7F:
        length.append(number & 0x7F | 0x80)
        number >>= 7
    length.append(number)
    return bytes(length) + message


def decode_varint(data: bytes | bytearray | memoryview, start: int = 0) -> tuple[int, int]:
    """Return the number at `start` and the offset behind it; (0, 0) if some of it is still to come."""
    number = 0
    for index in range(start, min(len(data), start + _MAX_BYTES)):
        number |= (data[index] & 0x7F) << 7 * (index - start)
        if data[index] < 0x80:
            return number, index + 1
    if len(data) - start >= _MAX_BYTES:
        return 1 << 63, start + _MAX_BYTES
    return 0, 0


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
