"""The one line of text with which others join a swarm.

An invite is `potluck4:` and base64url of a msgpack message with a checksum in front. It names the swarm and members
that lead to it, and holds the private key with which its reader may apply. That of a public swarm is the same, but no
secret. An invite for one machine lets a person's further computer ask to be listed. The invite of an open swarm holds
no key. A `potluck:` link names a swarm and its public key; it lets nobody in. `leadership.seats` says
for how many people and days an invite is good. Light imports only, the daemon uses this.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass, field, replace

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.membership import Membership, Seed
from potluck.membership.records import (
    MAX_RECORD_BYTES,
    Application,
    Request,
    Seats,
    Ticket,
    consent_to_listing,
    is_signed,
    public_key,
    read_record,
    sign,
)
from potluck.protocol.swarm import Swarm, SwarmFields, check_swarm
from potluck.sentences import sentence

TICKET_LIVES_S = 600
_VERSION = 4
CHECKSUM_BYTES = 4
MAX_LETTERS = 16_384
_INVITE = re.compile(r"potluck(\d{1,4}):([A-Za-z0-9_-]*)")
_LINK = re.compile(r"potluck:([A-Za-z0-9][A-Za-z0-9_-]{0,39}):([0-9a-f]{64})")
PASTE_HINT = "copy the whole line again, from `potluck4:` to its end; `potluck swarm invite` prints it"


@dataclass(frozen=True, slots=True)
class Invite:
    """A decoded invite.

    Attributes:
        seed: the invite's private key; None in an open swarm.
        proof: the entry of the invite, or the ticket for one machine; empty in an open swarm.
    """

    swarm: Swarm
    seed: bytes | None = field(default=None, repr=False)
    proof: bytes = b""

    @property
    def is_public(self) -> bool:
        """Return whether this is no secret."""
        content = read_record(self.proof).content if self.proof else None
        return isinstance(content, Seats) and bool(content.seed)

    @property
    def ticket(self) -> Ticket | None:
        """Return the ticket of an invite for one machine."""
        body = read_record(self.proof).body if self.proof else None
        return body if isinstance(body, Ticket) else None


class _Body(msgspec.Struct, array_like=True):
    """The fields of an invite."""

    swarm: SwarmFields
    seed: Seed
    proof: bytes


def encode_invite(invite: Invite) -> str:
    """Return the invite as one line without spaces. Everybody who reads it may apply."""
    body = msgspec.msgpack.encode(_Body(invite.swarm.fields, invite.seed, invite.proof))
    return f"potluck{_VERSION}:{_letters(_checksum(body) + body)}"


def decode_invite(text: str) -> Invite:
    """Read an invite that stands alone; `pasted.find_invite` finds one in a text.

    Raises:
        UsageError: not an invite, a damaged one, or one of another version.
    """
    text = text.strip()
    match = _INVITE.fullmatch(text) if len(text) <= MAX_LETTERS else None
    if match is None:
        raise UsageError(sentence("this is not an invite"), hint=PASTE_HINT)
    if int(match[1]) > _VERSION:
        raise UsageError(
            sentence("this invite was made by a newer version"), hint=sentence("update Potluck, then try again")
        )
    if int(match[1]) < _VERSION:
        raise UsageError(
            sentence("this invite was made by an older version"),
            hint=sentence("ask its founder to create the swarm anew"),
        )
    raw = _body_of(match[2])
    try:
        body = msgspec.msgpack.decode(raw, type=_Body)
        invite = Invite(check_swarm(Swarm(*body.swarm)), body.seed, body.proof)
        _check(invite)
    except (msgspec.MsgspecError, ValueError, TypeError) as error:
        raise UsageError(sentence("the invite is damaged"), hint=PASTE_HINT) from error
    return invite


def link_of(swarm: Swarm) -> str:
    """Return the link of a swarm with members, which is no secret."""
    assert swarm.founder_key is not None
    return f"potluck:{swarm.name}:{swarm.founder_key.hex()}"


def read_link(text: str) -> tuple[str, bytes]:
    """Return the swarm's name and its public key. Raises UsageError."""
    match = _LINK.fullmatch(text.strip())
    if match is None:
        raise UsageError(sentence("this is not the link of a swarm"), hint=sentence("`potluck swarm show` prints it"))
    return match[1], bytes.fromhex(match[2])


def public_invite(membership: Membership) -> Invite | None:
    """Return the invite that a public swarm may publish; None if the swarm isn't public."""
    members = None if membership.swarm.is_open else membership.members()
    offer = None if members is None else members.public_invite
    if members is None or offer is None:
        return None
    return Invite(membership.swarm, offer.seed, members.entry_of(offer.invite))


def machine_invite(membership: Membership, now_s: float) -> Invite:
    """Return an invite for one more computer of this person. Raises UsageError where the person's key is not."""
    person, swarm_key = membership.person_key, membership.swarm.founder_key
    if person is None or swarm_key is None:
        raise UsageError(
            sentence("this computer cannot add others to your name"),
            hint=sentence("do it on the computer that joined the swarm first"),
        )
    seed = secrets.token_bytes(32)
    ticket = Ticket(person.public_key().public_bytes_raw(), public_key(seed), int(now_s + TICKET_LIVES_S))
    return Invite(membership.swarm, seed, sign(swarm_key, ticket, person).data)


def accept(invite: Invite, name: str, machine: Identity, machine_name: str, now_s: float) -> Membership:
    """Return the membership of somebody who joins: a new key, and what they apply with.

    With an invite for one machine the person's key stays where it is.

    Args:
        name: what others call the person.
        machine: key of this computer's node.

    Raises:
        UsageError: the invite has expired.
    """
    swarm, seed = invite.swarm, invite.seed
    if swarm.founder_key is None or seed is None:
        return Membership(swarm)
    _refuse_expired(invite, now_s)
    ticket, holder = invite.ticket, Ed25519PrivateKey.from_private_bytes(seed)
    if ticket is not None:
        return Membership(swarm, application=_request(invite, ticket, machine, machine_name))
    person = Ed25519PrivateKey.generate()
    application = Application(person.public_key().public_bytes_raw(), name, public_key(seed))
    signed = sign(swarm.founder_key, application, person, holder)
    membership = Membership(swarm, application=signed.data, invite=invite.proof, person_seed=person.private_bytes_raw())
    return membership.certified(machine, machine_name)


def renewed(membership: Membership, invite: Invite, machine: Identity, machine_name: str, now_s: float) -> Membership:
    """Return the membership of somebody who was not let in yet, applying with another invite of the same swarm.

    Raises:
        UsageError: the invite has expired.
    """
    person, swarm_key, seed, ticket = membership.person_key, membership.swarm.founder_key, invite.seed, invite.ticket
    if swarm_key is None or seed is None or not membership.application or (person is None) != (ticket is not None):
        return membership
    if membership.is_confirmed(machine.public_key):
        return membership
    _refuse_expired(invite, now_s)
    if ticket is not None:
        return replace(membership, application=_request(invite, ticket, machine, machine_name))
    before = read_record(membership.application).body
    assert isinstance(before, Application)
    assert person is not None
    holder = Ed25519PrivateKey.from_private_bytes(seed)
    application = sign(swarm_key, Application(before.person, before.name, public_key(seed)), person, holder)
    return replace(membership, application=application.data, invite=invite.proof)


def _refuse_expired(invite: Invite, now_s: float) -> None:
    record, ticket = read_record(invite.proof), invite.ticket
    expires_s = ticket.expires_s if ticket is not None else record.content.expires_s  # type: ignore[union-attr]
    if expires_s < now_s:
        raise UsageError(sentence("this invite has expired"), hint=sentence("ask for another one"))


def _request(invite: Invite, ticket: Ticket, machine: Identity, machine_name: str) -> bytes:
    """Return what a computer asks with to be listed."""
    key = invite.swarm.founder_key or b""
    consent = consent_to_listing(key, ticket.person, machine.private_key, machine_name)
    holder = Ed25519PrivateKey.from_private_bytes(invite.seed or b"")
    return sign(key, Request(ticket.person, invite.proof, consent), holder).data


def _check(invite: Invite) -> None:
    """Raise ValueError for an invite that leads nowhere."""
    if invite.swarm.is_open:
        if invite.seed is not None or invite.proof:
            raise ValueError("an open swarm has no keys")
        return
    if invite.seed is None or len(invite.proof) > MAX_RECORD_BYTES:
        raise ValueError("no key")
    record, ticket = read_record(invite.proof), invite.ticket
    offered = ticket.key if ticket is not None else record.content.invite if isinstance(record.content, Seats) else b""
    if offered != public_key(invite.seed) or not is_signed(invite.swarm.founder_key or b"", record):
        raise ValueError("a key of something else")


def _body_of(letters: str) -> bytes:
    try:
        raw = base64.b64decode(letters + "=" * (-len(letters) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise UsageError(sentence("the invite is incomplete"), hint=PASTE_HINT) from error
    checksum, body = raw[:CHECKSUM_BYTES], raw[CHECKSUM_BYTES:]
    if checksum != _checksum(body) or _letters(raw) != letters:  # the last letter may have bits that say nothing
        raise UsageError(sentence("the invite is incomplete or has a wrong letter in it"), hint=PASTE_HINT)
    return body


def _letters(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:CHECKSUM_BYTES]
