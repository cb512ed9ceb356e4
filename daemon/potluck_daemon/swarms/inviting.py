"""Tells which invite of a swarm is no secret, and what may be shown of an invite."""

from __future__ import annotations

from dataclasses import replace

from potluck_control.schema import SwarmInvite

from potluck.membership.invite import Invite, encode_invite, link_of, public_invite
from potluck.membership.membership import Membership
from potluck.membership.records import Seats, read_record
from potluck.protocol.swarm import Swarm


def invite_for_all(membership: Membership) -> Invite | None:
    """Return the invite of an open or public swarm, which is no secret; None: people are invited."""
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
