"""Chooses the addresses in an invite and what may be shown of it, and tells how newcomers reach the swarm.

`potluck.membership.leadership.seats` says for how many people and days an invite is good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from potluck_control.api.schema import SwarmInvite
from potluck_control.methods.swarms import InviteReach

from potluck.errors import UsageError
from potluck.membership.invite import Invite, encode_invite, link_of, public_invite
from potluck.membership.membership import Membership
from potluck.membership.records import Seats, read_record
from potluck.p2p.listening import host_of, is_loopback
from potluck.protocol.swarm import Swarm
from potluck.sentences import sentence

MAX_ADDRESSES = 8  # an invite with so many addresses is still short enough to copy by hand
MAX_OWN_ADDRESSES = 4


def no_network() -> UsageError:
    """Return the error for a computer without a network, which no other one can reach."""
    hint = sentence("connect it; without a network only a swarm on this machine works")
    return UsageError(sentence("this machine has no network"), hint=hint)


def peers_for_invite(own: Sequence[str], met: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the bootstrap peers for an invite: this machine, members it met lately, then those of its own invite.

    Loopback addresses of this machine and of members are used only if there are no others, because then the swarm lives
    on this machine. The first peer of its own invite always has a place.
    """
    found = list(dict.fromkeys((*own[:MAX_OWN_ADDRESSES], *met)))
    outside = [address for address in found if not is_loopback(address)]
    return tuple(dict.fromkeys((*(outside or found)[: MAX_ADDRESSES - 1], *known)))[:MAX_ADDRESSES]


def reach(own: Sequence[str], peers: Sequence[str], found: str, *, is_for_here: bool) -> InviteReach:
    """Return how newcomers reach the swarm.

    Args:
        own: addresses of this machine.
        peers: all addresses that an invite names.
        found: the result of members that tried to dial this machine: "direct", "relayed" or "unknown".
        is_for_here: whether the swarm is meant for this machine alone.
    """
    direct = [address for address in own if "/p2p-circuit" not in address]
    if found == "relayed" or len(direct) < len(own):
        return InviteReach.RELAYED
    if any(map(_is_public, direct)):  # members of the same network may have tried, which proves nothing for others
        return InviteReach.DIRECT if found == "direct" else InviteReach.UNTRIED
    if any(map(_is_public, peers)):
        return InviteReach.OTHERS
    if not all(map(is_loopback, peers)):
        return InviteReach.NEARBY
    return InviteReach.HERE if is_for_here else InviteReach.NOWHERE


def invite_for_all(membership: Membership) -> Invite | None:
    """Return the invite of an open or public swarm, which is no secret; None if people are invited one by one."""
    return Invite(membership.swarm) if membership.swarm.is_open else public_invite(membership)


def describe_invite(made: Invite, membership: Membership, swarm: Swarm) -> SwarmInvite:
    """Return an invite as text, with its end and how many of its seats are taken.

    Args:
        swarm: the swarm with the addresses that newcomers ask.
    """
    encoded, link = encode_invite(replace(made, swarm=swarm)), "" if swarm.is_open else link_of(swarm)
    offer = read_record(made.proof).content if made.proof else None
    if not isinstance(offer, Seats) or made.is_public:
        return SwarmInvite(swarm.name, encoded, link=link)
    used = offer.people - membership.members().free_seats(offer.invite)
    return SwarmInvite(swarm.name, encoded, offer.expires_s, offer.people, link, used)


def _is_public(address: str) -> bool:
    ip = host_of(address)
    return ip.is_global if ip is not None else address.startswith("/dns")
