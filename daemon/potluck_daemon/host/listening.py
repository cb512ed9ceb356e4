"""Decides whether Potluck may listen at an address, finds a free port, and finds which program has a port."""

from __future__ import annotations

import ipaddress
from contextlib import suppress

import psutil

from potluck.p2p.listening import everywhere, is_loopback, tcp_ports, with_free_ports
from potluck.sentences import NOTHING, Sentence, sentence

USUAL_PORT = 31337
_STEP = 16  # distance between two tries, each of which covers several ports


def free_port() -> int:
    """Return the usual port if it is free for IPv4 and IPv6, else one of the next ports; never 0, which means any."""
    near = (tcp_ports(with_free_ports(everywhere(port)))[0] for port in range(USUAL_PORT, 1 << 16, _STEP))
    return next(filter(None, near), USUAL_PORT)


def listening_problem(section: str, address: str, *, is_allowed: bool) -> Sentence:
    """Return why Potluck may not listen at SECTION.address; empty if it may. `is_allowed`: SECTION.allow_remote."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return sentence(
            "{section}.address {name} is not an IP address (127.0.0.1 is this machine only)",
            section=section,
            name=repr(address),
        )
    if is_loopback(address) or is_allowed:
        return NOTHING
    return sentence(
        "{section}.address {name} can be reached from other machines, so nothing listens there "
        "(set {section}.allow_remote if that is what you want)",
        section=section,
        name=address,
    )


def port_holder(port: int) -> Sentence:
    """Return which program listens at a TCP port, as far as this user may see it."""
    with suppress(psutil.Error):
        for each in psutil.net_connections("tcp"):
            if each.status == psutil.CONN_LISTEN and each.laddr[1:2] == (port,) and each.pid is not None:
                return sentence("{program} (process {pid})", program=psutil.Process(each.pid).name(), pid=each.pid)
    return sentence("another program, maybe another user's")
