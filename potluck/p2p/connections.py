"""Tells p2pd which connections to close and which to keep, over one connection of its own, without waiting.

p2pd answers each order in turn; nobody needs the answers. When it has too many connections it closes those that nobody
marked first. A stranger that is thrown out would be back in milliseconds, so its connection stays for a second in which
nobody listens, unless it sends a lot meanwhile.
"""

from __future__ import annotations

import asyncio
from typing import cast

from hivemind.proto import p2pd_pb2 as pb

from potluck.p2p.varint import delimited

_DEAF_S = 1.0
_MAX_IGNORED = 32  # requests and streams of a peer meanwhile
_TAG, _WEIGHT = "member", 100


class Connections(asyncio.Protocol):
    """The orders of one node to its p2pd."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._ignored: dict[bytes, int] = {}  # by peers that are thrown out in a moment

    def close(self, peer: bytes) -> None:
        """Close all connections to a peer."""
        self._ignored.pop(peer, None)
        self._order(pb.Request(type=pb.Request.DISCONNECT, disconnect=pb.DisconnectRequest(peer=peer)))

    def throw_out(self, peer: bytes) -> None:
        """Note that something of a peer was ignored, and close all connections to it soon."""
        count = self._ignored[peer] = self._ignored.get(peer, 0) + 1
        if count == 1:
            asyncio.get_running_loop().call_later(_DEAF_S, self._close_ignored, peer)
        elif count > _MAX_IGNORED:
            self.close(peer)

    def _close_ignored(self, peer: bytes) -> None:
        if peer in self._ignored:
            self.close(peer)

    def keep(self, peer: bytes) -> None:
        """Close connections to others first."""
        tag = pb.ConnManagerRequest(type=pb.ConnManagerRequest.TAG_PEER, peer=peer, tag=_TAG, weight=_WEIGHT)
        self._order(pb.Request(type=pb.Request.CONNMANAGER, connManager=tag))

    def stop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def _order(self, request: pb.Request) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(delimited(request.SerializeToString()))
