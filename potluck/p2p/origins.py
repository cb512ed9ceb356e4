"""Knows from which address each stranger comes. p2pd tells only all connections at once, so it is asked seldom."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Iterable, Mapping

from potluck.errors import NetworkError
from potluck.p2p.ports import host_of
from potluck.protocol.blocks import PeerId

_EVERY_S = 0.25
_PREFIX_BITS = 64  # of an IPv6 address: a household or a server has all addresses behind them to itself

ListPeers = Callable[[], Awaitable[Mapping[PeerId, tuple[str, ...]]]]
"""Returns the connected peers with the far ends of their connections. Raises NetworkError."""


class Origins:
    """The addresses of connected peers, as of the last time that p2pd was asked."""

    def __init__(self, list_peers: ListPeers) -> None:
        self._list_peers = list_peers
        self._known: Mapping[PeerId, tuple[str, ...]] = {}
        self._read_at = -_EVERY_S
        self._reading = asyncio.Lock()

    async def of(self, peer: PeerId) -> str:
        """Return the address that a connected peer comes from; for a relayed one, the relay's. Empty: unknown."""
        asked_at = _now()
        if peer not in self._known:
            async with self._reading:
                if self._read_at < asked_at:
                    await self._read()
        return first_origin(self._known.get(peer, ()))

    async def _read(self) -> None:
        await asyncio.sleep(max(0.0, self._read_at + _EVERY_S - _now()))
        self._read_at = _now()
        try:
            self._known = await self._list_peers()
        except NetworkError:  # p2pd ends: the callers are gone with it
            self._known = {}


def first_origin(addrs: Iterable[str]) -> str:
    """Return the `origin` of the first of a peer's addresses; empty if there is none."""
    return next(map(origin, addrs), "")


def origin(addr: str) -> str:
    """Return what the budgets call an address: the IP of a multiaddr, or the first half of an IPv6 address."""
    host = host_of(addr)
    if isinstance(host, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((host, _PREFIX_BITS), strict=False))
    return str(host or "")


def _now() -> float:
    return asyncio.get_running_loop().time()
