"""Checks on multiaddrs that a person typed, before p2pd sees them."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Sequence

from hivemind.utils.multiaddr import Multiaddr

from potluck.errors import NetworkError
from potluck.membership.identity import base58_decode
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
    host = _part(addr, "ip4") or _part(addr, "ip6")
    try:
        return host is not None and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def has_chosen_port(addrs: Sequence[str]) -> bool:
    """Return whether one of them stays the same after a restart; port 0 lets the system choose each time."""
    ports = [_part(addr, transport) for addr in addrs for transport in ("tcp", "udp")]
    return any(port not in (None, "0") for port in ports)


def require_free_ports(addrs: Sequence[str]) -> None:
    """p2pd shares a busy TCP port (SO_REUSEPORT) and silently gets half of its connections, so look first."""
    for addr in addrs:
        for family, name in ((socket.AF_INET, "ip4"), (socket.AF_INET6, "ip6")):
            host, port = _part(addr, name), _part(addr, "tcp")
            if host is not None and port is not None and port != "0":
                _require_free(family, host, int(port))


def _require_free(family: socket.AddressFamily, host: str, port: int) -> None:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # past connections do not count
            probe.bind((host, port))
            probe.listen(1)
    except OSError as error:
        raise NetworkError(
            f"cannot listen on {host} port {port}: {error.strerror}", hint="choose another port, or 0 for any free one"
        ) from error


def _part(addr: str, name: str) -> str | None:
    parts = addr.split("/")
    return parts[parts.index(name) + 1] if name in parts[:-1] else None
