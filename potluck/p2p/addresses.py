"""Checks on multiaddrs that a person typed, before p2pd sees them."""

from __future__ import annotations

import contextlib
import ipaddress

from hivemind.utils.multiaddr import Multiaddr

from potluck.errors import NetworkError
from potluck.membership.identity import base58_decode
from potluck.p2p.ports import part
from potluck.protocol.blocks import PeerId

_EXAMPLE = "/ip4/192.0.2.7/tcp/31330/p2p/12D3Koo..."


def checked(addr: str) -> str:
    """The multiaddr itself; raises NetworkError if it is none."""
    try:
        Multiaddr(addr)
    except Exception as error:  # the parser has a family of its own errors and lets others through
        raise NetworkError(f"{addr!r} is not a multiaddr", hint=f"an address looks like {_EXAMPLE}") from error
    return addr


def split_peer(addr: str) -> tuple[PeerId, str]:
    """Peer id and the address without it; raises NetworkError."""
    checked(addr)
    rest, slash, peer = addr.rpartition("/p2p/")
    with contextlib.suppress(ValueError):
        base58_decode(peer)
        if slash and rest:
            return PeerId(peer), rest
    raise NetworkError(f"{addr!r} does not name a peer", hint=f"a full address ends in its peer id: {_EXAMPLE}")


def is_loopback(addr: str) -> bool:
    host = part(addr, "ip4") or part(addr, "ip6")
    try:
        return host is not None and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
