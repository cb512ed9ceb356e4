"""Chooses how others find this machine: its port, and the addresses in an invite; and tells who can use those."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from potluck_control.methods.swarms import Reach

USUAL_PORT = 31337
MAX_ADDRESSES = 8  # in an invite, to keep it short enough to copy by hand
MAX_OWN_ADDRESSES = 4


def free_port() -> int:
    """Return the usual port if it is free, or any free one."""
    for port in (USUAL_PORT, 0):
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no free TCP port")


def peers_to_ask(own: Sequence[str], met: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return bootstrap peers for an invite: this machine, members met lately, then those of the invite it joined by.

    Loopback addresses of this machine and of members are used only if there are no others, because then the swarm lives
    on this machine. A place is kept for the first peer of the old invite.
    """
    found = list(dict.fromkeys((*own[:MAX_OWN_ADDRESSES], *met)))
    outside = [address for address in found if not _is_loopback(address)]
    return tuple(dict.fromkeys((*(outside or found)[: MAX_ADDRESSES - 1], *known)))[:MAX_ADDRESSES]


def reach(own: Sequence[str], peers: Sequence[str], found: str) -> Reach:
    """Return how newcomers reach the swarm.

    Args:
        own: addresses of this machine.
        peers: all addresses that an invite names.
        found: what members found that tried to dial this machine: "direct", "relayed" or "unknown".
    """
    direct = [address for address in own if "/p2p-circuit" not in address]
    if found == "relayed" or len(direct) < len(own):
        return Reach.RELAYED
    if any(map(_is_public, direct)):  # members of the same network may have tried, who say nothing about others
        return Reach.DIRECT if found == "direct" else Reach.UNTRIED
    if any(map(_is_public, peers)):
        return Reach.OTHERS
    return Reach.HERE if all(map(_is_loopback, peers)) else Reach.NEARBY


def _is_public(address: str) -> bool:
    ip = _ip(address)
    return ip.is_global if ip is not None else address.startswith("/dns")


def _is_loopback(address: str) -> bool:
    ip = _ip(address)
    return ip is not None and ip.is_loopback


def _ip(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that a multiaddress begins with; None: a name."""
    try:
        return ipaddress.ip_address(address.split("/")[2])
    except (IndexError, ValueError):
        return None
