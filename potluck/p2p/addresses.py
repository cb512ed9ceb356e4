"""Multiaddrs that people and peers name: checked before p2pd sees them, and as it reads them."""

from __future__ import annotations

import contextlib
from functools import lru_cache

from hivemind.utils.multiaddr import Multiaddr

from potluck.errors import NetworkError
from potluck.membership.identity import base58_decode, base58_encode
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.sentences import sentence

_EXAMPLE = "/ip4/192.0.2.7/tcp/31330/p2p/12D3Koo..."
_P2P = bytes.fromhex("a503")  # the code of /p2p/, 421


def checked(addr: str) -> str:
    """The multiaddr itself; raises NetworkError if it is none."""
    try:
        Multiaddr(addr)
    except Exception as error:  # the parser has a family of its own errors and lets others through
        raise NetworkError(
            sentence("{what} is not a multiaddr", what=repr(addr)),
            hint=sentence("an address looks like {what}", what=_EXAMPLE),
        ) from error
    return addr


def encoded(addr: str) -> bytes:
    """The multiaddr as p2pd reads it; raises NetworkError.

    hivemind writes the id of a relay as a CID, which p2pd refuses.
    """
    head, *relays = checked(addr).split("/p2p/")
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
    """Peer id and the address without it; raises NetworkError."""
    checked(addr)
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
    """The peer id in p2pd's bytes."""
    return PeerId(base58_encode(raw))


def raw_peer(peer: PeerId) -> bytes:
    """A peer id as p2pd reads it; raises RemoteError."""
    try:
        return base58_decode(peer)
    except ValueError as error:
        raise RemoteError(Code.UNREACHABLE, str(error)) from error
