"""Chooses how others find this machine, by its port and the addresses in an invite, and tells who can use those."""

from __future__ import annotations

from collections.abc import Sequence

from potluck_control.methods.swarms import Reach

from potluck.errors import UsageError
from potluck.p2p.ports import everywhere, host_of, is_loopback, tcp_ports, with_free_ports
from potluck.sentences import sentence

USUAL_PORT = 31337
_STEP = 16  # ports between two tries, each of which looks at several
MAX_ADDRESSES = 8  # an invite with so many is still short enough to copy by hand
MAX_OWN_ADDRESSES = 4


def free_port() -> int:
    """Return the usual port if it is free for IPv4 and IPv6, else one of the next ports; never 0, which means any."""
    near = (tcp_ports(with_free_ports(everywhere(port)))[0] for port in range(USUAL_PORT, 1 << 16, _STEP))
    return next(filter(None, near), USUAL_PORT)


def no_network() -> UsageError:
    """Return the error to raise on a computer without a network, which no other one can reach."""
    hint = sentence("connect it; without a network only a swarm on this machine works")
    return UsageError(sentence("this machine has no network"), hint=hint)


def peers_to_ask(own: Sequence[str], met: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return bootstrap peers for an invite: this machine, members it met lately, then those of its own invite.

    Loopback addresses of this machine and of members are used only if there are no others, because then the swarm lives
    on this machine. The first peer of its own invite always has a place.
    """
    found = list(dict.fromkeys((*own[:MAX_OWN_ADDRESSES], *met)))
    outside = [address for address in found if not is_loopback(address)]
    return tuple(dict.fromkeys((*(outside or found)[: MAX_ADDRESSES - 1], *known)))[:MAX_ADDRESSES]


def reach(own: Sequence[str], peers: Sequence[str], found: str, *, is_for_here: bool) -> Reach:
    """Return how newcomers reach the swarm.

    Args:
        own: addresses of this machine.
        peers: all addresses that an invite names.
        found: what members found that tried to dial this machine: "direct", "relayed" or "unknown".
        is_for_here: whether the swarm is meant for this machine alone.
    """
    direct = [address for address in own if "/p2p-circuit" not in address]
    if found == "relayed" or len(direct) < len(own):
        return Reach.RELAYED
    if any(map(_is_public, direct)):  # members of the same network may have tried, which proves nothing for others
        return Reach.DIRECT if found == "direct" else Reach.UNTRIED
    if any(map(_is_public, peers)):
        return Reach.OTHERS
    if not all(map(is_loopback, peers)):
        return Reach.NEARBY
    return Reach.HERE if is_for_here else Reach.NOWHERE


def _is_public(address: str) -> bool:
    ip = host_of(address)
    return ip.is_global if ip is not None else address.startswith("/dns")
