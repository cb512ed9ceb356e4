"""Chooses how others find this machine: its port, and the addresses in an invite."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

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


def _is_loopback(address: str) -> bool:
    parts = address.split("/")
    try:
        return ipaddress.ip_address(parts[2]).is_loopback
    except (IndexError, ValueError):
        return False
