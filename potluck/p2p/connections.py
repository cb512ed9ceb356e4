"""Tells p2pd which connections to close and which to keep, over one connection of its own, without waiting.

p2pd answers each order in turn; nobody needs the answers. When it has too many connections it closes those that nobody
marked first.
"""

from __future__ import annotations

import asyncio
from typing import cast

from hivemind.proto import p2pd_pb2 as pb

from potluck.p2p.varint import encode_varint

_EVERY_S = 0.02  # peers that are thrown out go together
_TAG, _WEIGHT = "member", 100


class Connections(asyncio.Protocol):
    """The orders of one node to its p2pd."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._closing: set[bytes] = set()

    def close_soon(self, peer: bytes) -> None:
        """Close all connections to a peer, unless that happens in a moment anyway."""
        if not self._closing:
            asyncio.get_running_loop().call_later(_EVERY_S, self._close_all)
        self._closing.add(peer)

    def keep(self, peer: bytes) -> None:
        """Close connections to others first."""
        tag = pb.ConnManagerRequest(type=pb.ConnManagerRequest.TAG_PEER, peer=peer, tag=_TAG, weight=_WEIGHT)
        self._order(pb.Request(type=pb.Request.CONNMANAGER, connManager=tag))

    def stop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def _close_all(self) -> None:
        peers, self._closing = self._closing, set()
        for peer in peers:
            self._order(pb.Request(type=pb.Request.DISCONNECT, disconnect=pb.DisconnectRequest(peer=peer)))

    def _order(self, request: pb.Request) -> None:
        if self._transport is not None and not self._transport.is_closing():
            body = request.SerializeToString()
            self._transport.write(encode_varint(len(body)) + body)
