"""What founders, admins and members sign: founding a swarm, invites, ranks and removals.

Each function returns statements for the roster; who merges them makes them known. No I/O.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import MAX_PROOF, Invite
from potluck.membership.membership import Membership
from potluck.membership.roster import Person, Roster
from potluck.membership.statements import (
    MAX_MODEL_CHARS,
    MAX_PEOPLE_OF_INVITE,
    MAX_REVISION_CHARS,
    Delegation,
    Enrolment,
    ModelChoice,
    Promotion,
    Rank,
    Removal,
    Statement,
    StatementError,
    Withdrawal,
    countersign,
    sign,
)
from potluck.membership.work import DEFAULT_BITS
from potluck.protocol.swarm import Swarm

DEFAULT_DAYS = 14
DEFAULT_PEOPLE = 10
DAY_S = 86_400
_CODE_GROUP = 4
_DOOR_DAYS = 3650  # of a public swarm


@dataclass(frozen=True, slots=True)
class SwarmModel:
    """A model for a swarm. `weights`: SHA-256 of the manifest of its files; empty: any files of that name count."""

    name: str
    num_blocks: int
    revision: str
    weights: bytes = b""


def found(swarm: Swarm, name: str, machine: Identity, machine_name: str, now_s: float) -> Membership:
    """Return the membership of the founder of `swarm`, which gets its key here.

    Args:
        name: what others call the founder.
        machine: key of this computer's node.
    """
    founder = Ed25519PrivateKey.generate()
    key = founder.public_key().public_bytes_raw()
    swarm = replace(swarm, founder_key=key, prefix=f"{swarm.prefix}-{hashlib.sha256(key).hexdigest()[:8]}")
    return as_founder(Membership(swarm, founder_seed=founder.private_bytes_raw()), name, machine, machine_name, now_s)


def as_founder(membership: Membership, name: str, machine: Identity, machine_name: str, now_s: float) -> Membership:
    """Return a membership in which a new person of this name has been enrolled with the swarm's key."""
    founder, person = _founder(membership), Ed25519PrivateKey.generate()
    swarm_key = founder.public_key().public_bytes_raw()
    enrolment = Enrolment(person.public_key().public_bytes_raw(), name, swarm_key, int(now_s))
    statement = sign(swarm_key, enrolment, founder, founder)
    membership = replace(membership, person_seed=person.private_bytes_raw())
    membership = membership.with_statements([statement], now_s)
    return membership.with_machine(machine, machine_name, now_s)


def invite(
    membership: Membership,
    now_s: float,
    *,
    people: int = DEFAULT_PEOPLE,
    days: float = DEFAULT_DAYS,
) -> tuple[Statement, Invite]:
    """Return an invite, and the statement that makes it valid.

    Raises:
        UsageError: only the founder and admins may invite.
    """
    roster, author = membership.roster(now_s), _leader(membership, now_s)
    holder = Ed25519PrivateKey.generate()
    delegation = Delegation(holder.public_key().public_bytes_raw(), int(now_s + days * DAY_S), people, int(now_s))
    statement = sign(roster.swarm_key, delegation, author)
    roster.merge([statement], now_s=now_s)
    return statement, Invite(membership.swarm, holder.private_bytes_raw(), _proof(roster, delegation.invite))


def open_door(membership: Membership, now_s: float, *, bits: int = DEFAULT_BITS) -> Statement:
    """Return the statement that makes a swarm public, or gives a public one a new door. A withdrawal ends it.

    Args:
        bits: the price of joining, see `work.py`.

    Raises:
        UsageError: only the founder makes a swarm public, and an open swarm has no members.
    """
    if membership.swarm.is_open:
        raise UsageError("an open swarm has no members", hint="create a public one: potluck swarm create --public")
    founder = _founder(membership)
    door = Ed25519PrivateKey.generate().public_key().public_bytes_raw()  # nobody needs the private half
    delegation = Delegation(door, int(now_s + _DOOR_DAYS * DAY_S), MAX_PEOPLE_OF_INVITE, int(now_s), bits)
    return sign(founder.public_key().public_bytes_raw(), delegation, founder)


def public_invite(membership: Membership, now_s: float) -> Invite | None:
    """Return the invite that a public swarm may publish; None if the swarm isn't public."""
    if membership.swarm.is_open:
        return None
    roster = membership.roster(now_s)
    if roster.door is None:
        return None
    return Invite(membership.swarm, None, _proof(roster, roster.door.invite))


def choose_model(membership: Membership, model: SwarmModel, now_s: float) -> Statement:
    """Return the statement by which the swarm serves another model, or other files of the same one.

    Raises:
        UsageError: only the founder and admins may, and names have limits.
    """
    swarm = membership.swarm
    if swarm.is_open:
        raise UsageError("an open swarm keeps its model", hint="create another swarm: potluck swarm create")
    author, roster, at_s = _leader(membership, now_s), membership.roster(now_s), int(now_s)
    if roster.choice is not None:
        at_s = max(at_s, roster.choice.at_s + 1)  # clocks of two leaders may differ
    stem = f"_{swarm.name}-{hashlib.sha256(roster.swarm_key).hexdigest()[:8]}"
    choice = ModelChoice(model.name, model.num_blocks, f"{stem}-{at_s:x}", model.revision, model.weights, at_s)
    try:
        return sign(roster.swarm_key, choice, author)
    except StatementError as error:
        hint = f"a name has at most {MAX_MODEL_CHARS} letters and a revision {MAX_REVISION_CHARS}; rename the folder"
        raise UsageError(f"the swarm cannot name this model: {error}", hint=hint) from error


def require_leader(membership: Membership, now_s: float) -> None:
    """Raise UsageError unless this person founded the swarm or is an admin."""
    if not membership.swarm.is_open:
        _leader(membership, now_s)


def withdraw(membership: Membership, key: bytes, now_s: float) -> list[Statement]:
    """Return the statement that ends an invite. Raises UsageError for those who may not."""
    author = _leader(membership, now_s)
    return [sign(membership.roster(now_s).swarm_key, Withdrawal(key, int(now_s)), author)]


def promote(membership: Membership, person: Person, rank: Rank, now_s: float) -> list[Statement]:
    """Return the statements that give a person a rank; what a former admin or enroller signed is signed anew.

    Raises:
        UsageError: only the founder gives ranks, and only a public swarm has enrollers.
    """
    founder, roster = _founder(membership), membership.roster(now_s)
    if rank is Rank.ENROLLER and roster.door is None:
        raise UsageError(
            "only a public swarm has enrollers", hint="an admin may invite people: potluck members promote"
        )
    statements = [sign(roster.swarm_key, Promotion(person.key, rank, int(now_s)), founder)]
    if person.rank is not Rank.MEMBER and rank not in (Rank.ADMIN, person.rank):
        led = [item for item in roster.signed_by(person) if not isinstance(item.content, Enrolment)]
        invited = [item for item in roster.signed_by(person) if isinstance(item.content, Enrolment)]
        statements += _signed_anew(roster, founder, [*led, *invited])
    return statements


def remove(membership: Membership, person: Person, now_s: float) -> list[Statement]:
    """Return the statements that end a person's membership and keep the members whose enrolment they witnessed.

    Raises:
        UsageError: only the founder and admins remove people, and only the founder removes admins.
    """
    roster = membership.roster(now_s)
    needs_founder = person.rank is Rank.ADMIN or person.invite == roster.swarm_key
    author = _founder(membership) if needs_founder else _leader(membership, now_s)
    removal = sign(roster.swarm_key, Removal(person.key, int(now_s)), author)
    return [removal, *_signed_anew(roster, author, roster.signed_by(person))]


def remove_machine(membership: Membership, machine: bytes, now_s: float) -> list[Statement]:
    """Return the statement that ends a computer's certificate.

    Raises:
        UsageError: it is another person's computer, and this person neither founded the swarm nor is an admin.
    """
    roster = membership.roster(now_s)
    owner = next((each for each in roster.people if machine in [item.machine for item in each.machines]), None)
    person = membership.person_key
    is_own = person is not None and owner is not None and owner.key == person.public_key().public_bytes_raw()
    author = person if is_own and person is not None else _leader(membership, now_s)
    return [sign(roster.swarm_key, Removal(machine, int(now_s)), author)]


def recovery_code(membership: Membership) -> str:
    """Return the swarm's private key as letters in groups, to be written down. Raises UsageError for non-founders."""
    seed = membership.founder_seed
    if seed is None:
        raise UsageError("only the founder's computer has the recovery code")
    letters = base64.b32encode(seed + hashlib.sha256(seed).digest()[:3]).decode()
    return "-".join(letters[start : start + _CODE_GROUP] for start in range(0, len(letters), _CODE_GROUP))


def recover(membership: Membership, code: str) -> Membership:
    """Return the membership with the founder's rights. Raises UsageError for a code that is not this swarm's."""
    try:
        raw = base64.b32decode("".join(letter for letter in code.upper() if letter.isalnum()))
    except ValueError:
        raw = b""
    seed, checksum = raw[:-3], raw[-3:]
    if len(seed) != 32 or hashlib.sha256(seed).digest()[:3] != checksum:
        raise UsageError("the code is incomplete or has a wrong letter in it", hint="it has 14 groups of four letters")
    key = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    if key != membership.swarm.founder_key:
        raise UsageError(f"this is not the recovery code of {membership.swarm.name}")
    return replace(membership, founder_seed=seed)


def _proof(roster: Roster, invite: bytes) -> tuple[bytes, ...]:
    """Return what shows a newcomer that an invite counts, and which model the swarm serves."""
    items = dict.fromkeys((*roster.proof_of(invite)[: MAX_PROOF // 2], *roster.proof_of_choice()))
    return tuple(item.data for item in items)[:MAX_PROOF]


def _signed_anew(roster: Roster, author: Ed25519PrivateKey, statements: Sequence[Statement]) -> list[Statement]:
    """Return statements under another author: enrolments keep the applicant's signature and get a new witness."""
    return [
        countersign(roster.swarm_key, item, author)
        if isinstance(item.content, Enrolment)
        else sign(roster.swarm_key, item.content, author)
        for item in statements
    ]


def _leader(membership: Membership, now_s: float) -> Ed25519PrivateKey:
    if membership.founder_key is not None:
        return membership.founder_key
    person = membership.person_key
    if person is None or not membership.roster(now_s).may_lead(person.public_key().public_bytes_raw()):
        raise UsageError("only the founder and admins of the swarm can do this", hint="ask one of them")
    return person


def _founder(membership: Membership) -> Ed25519PrivateKey:
    if membership.founder_key is None:
        raise UsageError("only the founder of the swarm can do this", hint="on a new computer: potluck members recover")
    return membership.founder_key
