"""Finds out whether a node can listen at its ports, and chooses others. Imports nothing heavy."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from potluck.errors import NetworkError

_MAX_STEPS = 20  # from a port that is taken to the one used meanwhile: the same one after each start


def require_free_ports(addrs: Sequence[str]) -> None:
    """Raise NetworkError if another program listens at one of them.

    p2pd shares a busy TCP port (SO_REUSEPORT) and silently gets half of its connections, so look first.
    """
    for addr in addrs:
        error = _obstacle(addr)
        if error is not None:
            host, port = part(addr, "ip4") or part(addr, "ip6"), part(addr, "tcp")
            raise NetworkError(
                f"cannot listen on {host} port {port}: {error.strerror}",
                hint="choose another port, or 0 for any free one",
            ) from error


def with_free_ports(addrs: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses, with one of the next ports instead of each that another program has."""
    return tuple(map(_free, addrs))


def _free(addr: str) -> str:
    port = part(addr, "tcp")
    if port is None or _obstacle(addr) is None:
        return addr
    others = [
        addr.replace(f"/tcp/{port}", f"/tcp/{int(port) + step}")
        for step in range(1, min(_MAX_STEPS, 65_536 - int(port)))
    ]
    return next((other for other in others if _obstacle(other) is None), addr.replace(f"/tcp/{port}", "/tcp/0"))


def _obstacle(addr: str) -> OSError | None:
    """Return why nobody can listen at an address; None if it is free, or has no TCP port of its own."""
    for family, name in ((socket.AF_INET, "ip4"), (socket.AF_INET6, "ip6")):
        host, port = part(addr, name), part(addr, "tcp")
        if host is None or port is None or port == "0":
            continue
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # past connections do not count
                probe.bind((host, int(port)))
                probe.listen(1)
        except OSError as error:
            return error
    return None


def part(addr: str, name: str) -> str | None:
    """Return what follows a name in a multiaddr, such as the host after `ip4`; None if it is not there."""
    parts = addr.split("/")
    return parts[parts.index(name) + 1] if name in parts[:-1] else None
