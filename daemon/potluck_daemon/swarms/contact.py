"""Chooses how others find this machine: its port, and the addresses in an invite."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence

USUAL_PORT = 31337
MAX_OWN_ADDRESSES = 4  # in an invite, to keep it short enough to copy by hand


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


def peers_to_ask(known: Sequence[str], own: Iterable[str]) -> tuple[str, ...]:
    """Return bootstrap peers for an invite: those known, then this machine, by addresses that others can reach.

    Loopback addresses are used only if there are no others, because then the swarm lives on this machine.
    """
    addresses = [address for address in own if address not in known]
    outside = [address for address in addresses if not _is_loopback(address)]
    return (*known, *(outside or addresses)[:MAX_OWN_ADDRESSES])


def _is_loopback(address: str) -> bool:
    parts = address.split("/")
    try:
        return ipaddress.ip_address(parts[2]).is_loopback
    except (IndexError, ValueError):
        return False
