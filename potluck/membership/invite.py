"""The one line of text with which others join a swarm.

An invite is `potluck2:` and base64url of a msgpack map with a checksum in front. It names the swarm and members that
lead to it, and holds the private key with which its reader may enrol, until it expires, is used up or withdrawn. The
invite of an open swarm holds no key. Nor does that of a public swarm, which anybody may publish: joining with it
costs work. It begins with `potluck3:`, because versions before public swarms don't know who may let people in there.
A `potluck:` link names a swarm and its public key; it lets nobody in.
Light imports only, the daemon uses this.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field

import msgpack
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.membership import Membership, read_all
from potluck.membership.roster import Roster
from potluck.membership.statements import KEY_BYTES, MAX_STATEMENT_BYTES, Delegation, Enrolment, sign
from potluck.protocol.swarm import Swarm, from_fields, to_fields

_VERSION, _PUBLIC_VERSION = 2, 3
_CHECKSUM_BYTES = 4
_MAX_LETTERS = 16_384
MAX_PROOF = 8  # statements; one for the founder's invites, two for an admin's, as many for the choice of the model
_INVITE = re.compile(r"potluck(\d{1,4}):([A-Za-z0-9_-]*)")
_LINK = re.compile(r"potluck:([A-Za-z0-9][A-Za-z0-9_-]{0,39}):([0-9a-f]{64})")
_PASTE_HINT = "copy the whole line again, from `potluck2:` to its end; `potluck swarm invite` prints it"


@dataclass(frozen=True, slots=True)
class Invite:
    """What an invite says.

    Attributes:
        seed: the invite's private key; None in an open swarm, and in the invite that a public swarm publishes.
        proof: statements that show who made the invite and that they may.
    """

    swarm: Swarm
    seed: bytes | None = field(default=None, repr=False)
    proof: tuple[bytes, ...] = ()

    @property
    def is_public(self) -> bool:
        """Return whether this is no secret, and joining costs work."""
        return self.seed is None and not self.swarm.is_open


def is_invite(text: str) -> bool:
    """Return whether a text looks like an invite rather than like a name."""
    return re.match(r"\s*potluck\d+:", text) is not None


def encode_invite(invite: Invite) -> str:
    """Return the invite as one line without spaces. Whoever reads it may enrol."""
    swarm = invite.swarm
    body = msgpack.packb([to_fields(swarm), invite.seed, invite.proof])
    version = _PUBLIC_VERSION if invite.is_public else _VERSION
    return f"potluck{version}:{_letters(_checksum(body) + body)}"


def decode_invite(text: str) -> Invite:
    """Read an invite; spaces and line breaks that copying put into it do not matter.

    Raises:
        UsageError: not an invite, a damaged one, or one of another version.
    """
    compact = "".join(text.split())
    match = _INVITE.fullmatch(compact) if len(compact) <= _MAX_LETTERS else None
    if match is None:
        raise UsageError("this is not an invite", hint=_PASTE_HINT)
    if int(match[1]) > _PUBLIC_VERSION:
        raise UsageError("this invite was made by a newer version", hint="update Potluck, then try again")
    if int(match[1]) < _VERSION:
        raise UsageError(
            "this invite was made by an older version", hint="ask its founder to update Potluck and to send a new one"
        )
    body = _body_of(match[2])
    try:
        fields, seed, proof = msgpack.unpackb(body)
        swarm = from_fields(fields)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise UsageError("the invite is damaged", hint=_PASTE_HINT) from error
    is_public = int(match[1]) == _PUBLIC_VERSION
    is_seed = isinstance(seed, bytes) and len(seed) == KEY_BYTES and not is_public
    is_seed |= seed is None and swarm.is_open is not is_public
    is_proof = isinstance(proof, list) and len(proof) <= MAX_PROOF
    if not is_seed or not is_proof or not all(isinstance(item, bytes) for item in proof):
        raise UsageError("the invite is damaged", hint=_PASTE_HINT)
    return Invite(swarm, seed, tuple(item for item in proof if len(item) <= MAX_STATEMENT_BYTES))


def link_of(swarm: Swarm) -> str:
    """Return the link of a swarm with members, which is no secret."""
    assert swarm.founder_key is not None
    return f"potluck:{swarm.name}:{swarm.founder_key.hex()}"


def read_link(text: str) -> tuple[str, bytes]:
    """Return the swarm's name and its public key. Raises UsageError."""
    match = _LINK.fullmatch(text.strip())
    if match is None:
        raise UsageError("this is not the link of a swarm", hint="`potluck swarm show` prints it")
    return match[1], bytes.fromhex(match[2])


def accept(invite: Invite, name: str, machine: Identity, machine_name: str, now_s: float) -> Membership:
    """Return the membership of somebody who joins: a new key, and the application for a member to witness.

    Args:
        name: what others call the person.
        machine: key of this computer's node.

    Raises:
        UsageError: the invite has expired, or it was not made by somebody who may invite.
    """
    swarm = invite.swarm
    if swarm.founder_key is None:
        return Membership(swarm)
    person = Ed25519PrivateKey.generate()
    key = person.public_key().public_bytes_raw()
    inviter = person if invite.seed is None else Ed25519PrivateKey.from_private_bytes(invite.seed)
    roster = Roster(swarm.founder_key)
    roster.merge(read_all(roster.swarm_key, invite.proof), now_s=now_s)
    delegation = _delegation(roster, invite, inviter.public_key().public_bytes_raw(), now_s)
    application = sign(swarm.founder_key, Enrolment(key, name, delegation.invite, int(now_s)), inviter)
    membership = Membership(swarm, invite.proof, application.data, person.private_bytes_raw())
    return membership.following(roster).with_machine(machine, machine_name, now_s)


def _delegation(roster: Roster, invite: Invite, key: bytes, now_s: float) -> Delegation:
    delegation = roster.door if invite.is_public else roster.invite(key)
    if delegation is None:
        raise UsageError("this invite was not made by somebody who may invite", hint="ask for another one")
    if delegation.expires_s < now_s:
        raise UsageError("this invite has expired", hint="ask for another one")
    return delegation


def _body_of(letters: str) -> bytes:
    try:
        raw = base64.b64decode(letters + "=" * (-len(letters) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise UsageError("the invite is incomplete", hint=_PASTE_HINT) from error
    checksum, body = raw[:_CHECKSUM_BYTES], raw[_CHECKSUM_BYTES:]
    if checksum != _checksum(body) or _letters(raw) != letters:  # the last letter may have bits that say nothing
        raise UsageError("the invite is incomplete or has a wrong letter in it", hint=_PASTE_HINT)
    return body


def _letters(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_CHECKSUM_BYTES]
