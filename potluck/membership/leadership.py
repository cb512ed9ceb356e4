"""What founders and admins decide: founding a swarm, invites, confirmations, ranks, removals, the model.

Each function returns what to write; `Membership.writing` signs it. No I/O.
"""

from __future__ import annotations

import base64
import bisect
import hashlib
import secrets
from dataclasses import dataclass, replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite
from potluck.membership.members import Members, Person
from potluck.membership.membership import Membership
from potluck.membership.records import (
    MAX_PEOPLE_OF_INVITE,
    NOTHING,
    Appoint,
    Choose,
    ChooseDraft,
    Confirm,
    Content,
    Dismiss,
    EndInvite,
    Rank,
    Record,
    Remove,
    Seats,
    public_key,
)
from potluck.protocol.swarm import Swarm
from potluck.sentences import sentence

DEFAULT_DAYS = 14
DEFAULT_PEOPLE = 10
DEFAULT_SEATS = 100  # seats that an admin's invites may offer at the same time
DAY_S = 86_400
_CODE_GROUP = 4
_PUBLIC_DAYS = 3650
_CROWD, _CROWD_S = 3, 60  # guests of one invite in so many seconds; further ones wait for a click


@dataclass(frozen=True, slots=True)
class ChosenModel:
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
    person = Ed25519PrivateKey.generate()
    membership = Membership(swarm, founder_seed=founder.private_bytes_raw(), person_seed=person.private_bytes_raw())
    own = Confirm(person.public_key().public_bytes_raw(), name, key)
    membership, _ = membership.writing([own], now_s)
    return membership.certified(machine, machine_name)


def seats(now_s: float, *, people: int = DEFAULT_PEOPLE, days: float = DEFAULT_DAYS) -> tuple[Seats, bytes]:
    """Return an invite, and the private key that its holders apply with."""
    seed = secrets.token_bytes(32)
    return Seats(public_key(seed), people, int(now_s + days * DAY_S)), seed


def offering(membership: Membership, offer: Seats, now_s: float) -> list[Content]:
    """Return the decision to make an invite. Raises UsageError for members, and for more seats than an admin has."""
    require_leader(membership)
    opened = membership.writing([offer], now_s)[0].members().invites
    if not opened.keys() >= {offer.invite, *membership.members().invites}:
        hint = sentence("end one of your invites, or ask the founder for more seats")
        raise UsageError(sentence("your open invites would let in more people than you may invite"), hint=hint)
    return [offer]


def with_seed(membership: Membership, seed: bytes) -> Membership:
    """Return the membership in which an invite that was made here can be shown again; those that are over are gone."""
    open_, before = membership.members().invites, membership.invite_seeds
    return replace(membership, invite_seeds=(*(each for each in before if public_key(each) in open_), seed))


def invite_made_before(
    membership: Membership, now_s: float, *, people: int | None = None, days: float | None = None
) -> Invite | None:
    """Return the newest invite that was made here and still lets people in; None: there is none.

    Args:
        people, days: what it has to be made for, or for up to a day or half of the time less; None: anything.
    """
    if not membership.invite_seeds:
        return None
    members = membership.members()
    for seed in reversed(membership.invite_seeds):
        offer = members.invites.get(public_key(seed))
        if offer is None or offer.expires_s <= now_s or members.free_seats(offer.invite) <= 0:
            continue
        ended_early_s = 0.0 if days is None else now_s + days * DAY_S - offer.expires_s
        is_as_long = days is None or 0 <= ended_early_s < min(DAY_S, days * DAY_S / 2)
        if is_as_long and people in (None, offer.people):
            return Invite(membership.swarm, seed, members.entry_of(offer.invite))
    return None


def public_seats(membership: Membership, now_s: float) -> Seats:
    """Return the invite that makes a swarm public.

    Raises:
        UsageError: only the founder makes a swarm public, and an open swarm has no members.
    """
    if membership.swarm.is_open:
        raise UsageError(
            sentence("an open swarm has no members"),
            hint=sentence("create a public one: potluck swarm create --public"),
        )
    require_founder(membership)
    seed = secrets.token_bytes(32)
    return Seats(public_key(seed), MAX_PEOPLE_OF_INVITE, int(now_s + _PUBLIC_DAYS * DAY_S), seed)


def choose_model(membership: Membership, model: ChosenModel) -> Choose:
    """Return the decision by which the swarm serves another model, or other files of the same one.

    Raises:
        UsageError: an open swarm keeps its model.
    """
    swarm = membership.swarm
    if swarm.founder_key is None:
        raise UsageError(
            sentence("an open swarm keeps its model"), hint=sentence("create another swarm: potluck swarm create")
        )
    stem = f"_{swarm.name}-{hashlib.sha256(swarm.founder_key).hexdigest()[:8]}"
    return Choose(model.name, model.num_blocks, f"{stem}-{secrets.token_hex(4)}", model.revision, model.weights)


def choose_draft(membership: Membership, draft: ChosenModel | None) -> ChooseDraft:
    """Return the decision by which a small model drafts for the swarm's present one; None: nothing drafts."""
    prefix = membership.swarm.prefix
    return ChooseDraft(prefix) if draft is None else ChooseDraft(prefix, draft.name, draft.revision, draft.weights)


def guests_to_confirm(membership: Membership, members: Members) -> tuple[list[Person], list[Person]]:
    """Return the guests to be confirmed, the oldest first, and those about whom a leader has to decide.

    Such guests came after the invite's time, or after others in the same minute, as when an invite gets into the wrong
    hands.
    """
    own = membership.person(members)
    may_lead = membership.founder_seed is not None or (own is not None and own.may_lead)
    welcome: list[Person] = []
    held: list[Person] = []
    order: dict[bytes, list[tuple[int, bytes]]] = {}  # invite -> its people in the order in which they were heard of
    for each in (*members.people.values(), *members.guests.values()):
        bisect.insort(order.setdefault(each.invite, []), (members.heard.get(each.key, 0), each.key))
    free = {invite: offer.people - members.num_confirmed(invite) for invite, offer in members.invites.items()}
    for guest in sorted(members.guests.values(), key=lambda each: (members.heard.get(each.key, 0), each.key)):
        is_public = members.is_public(guest.invite)
        if guest.invite not in members.invites or not (may_lead or (is_public and own is not None and own.may_enrol)):
            continue
        at_s = members.heard.get(guest.key, 0)
        beside = order[guest.invite]
        num_before = bisect.bisect_left(beside, (at_s, guest.key)) - bisect.bisect_left(beside, (at_s - _CROWD_S + 1,))
        is_crowd = not is_public and num_before >= _CROWD
        if at_s > members.expires_s(guest.invite) or is_crowd:
            held.append(guest)
        elif free[guest.invite] > 0:
            free[guest.invite] -= 1
            welcome.append(guest)
    return welcome, held


def confirm(guest: Person) -> Confirm:
    return Confirm(guest.key, guest.name, guest.invite)


def promote(
    membership: Membership, members: Members, person: Person, rank: Rank, *, seats: int = DEFAULT_SEATS
) -> list[Content]:
    """Return what gives a person a rank. All that a former leader decided so far goes on to count.

    Raises:
        UsageError: only the founder gives ranks, to members, and only a public swarm has enrollers.
    """
    require_founder(membership)
    if person.is_guest:
        raise UsageError(sentence("{name} is not confirmed yet", name=person.name), hint="potluck members confirm")
    if rank is Rank.ENROLLER and members.public_invite is None:
        raise UsageError(
            sentence("only a public swarm has enrollers"),
            hint=sentence("an admin may invite people: potluck members promote"),
        )
    before = members.chains.appointments_of(person.key)
    if rank is not Rank.MEMBER and any(each.rank is rank and each.seats == seats for each in before.values()):
        return []
    ended = dismiss(members, person)
    return ended if rank is Rank.MEMBER else [*ended, Appoint(person.key, rank, seats)]


def dismiss(members: Members, person: Person, *, keep: int | None = None) -> list[Content]:
    """Return what ends a person's appointments.

    Args:
        keep: how many of their decisions count, see `decisions`; None: all that are known here.
    """
    known = decisions(members, person)
    kept = known[:keep]
    found: list[Content] = []
    for appointment in members.chains.appointments_of(person.key):
        chains = members.chains.of(appointment)
        ends = {chain: entries[0].hash for chain, entries in chains.items()}
        ends |= {record.chain: record.hash for record in kept if record.chain in chains}
        found.append(Dismiss(appointment, ends))
    for unseated in members.only_confirmed_by(known[len(kept) :]):  # leaders who were members by what does not count
        found += [] if unseated == person else dismiss(members, unseated)
    return found


def decisions(members: Members, person: Person) -> list[Record]:
    """Return what a leader decided under appointments that last, chain by chain as they became known here."""
    chains = [each for key in members.chains.appointments_of(person.key) for each in members.chains.of(key).items()]
    return [record for _, entries in chains for record in entries[1:]]


def effects(members: Members, membership: Membership, contents: list[Content]) -> tuple[list[Person], list[Person]]:
    """Return who would lose their place and who would come back if this were decided."""
    changed = membership.knowing(members).writing(contents, 0.0)[0].members()
    lost = [person for key, person in members.people.items() if key not in changed.people]
    return lost, [person for key, person in changed.people.items() if key not in members.people]


def remove(membership: Membership, members: Members, person: Person) -> list[Content]:
    """Return what ends a person's membership, and a leader's appointments.

    Raises:
        UsageError: only the founder and admins remove people, and only the founder removes leaders.
    """
    if person.is_founder:
        raise UsageError(sentence("nobody can remove the founder"), hint="potluck leave")
    if person.may_lead:
        require_founder(membership)
    require_leader(membership)
    ended = dismiss(members, person) if membership.founder_seed is not None else []
    return [*ended, Remove(person.key)]


def remove_machine(membership: Membership, person: Person, machine: bytes) -> list[Content]:
    """Return what takes a computer from another person's list for ever. Raises UsageError as `remove`."""
    if person.may_lead:
        require_founder(membership)
    require_leader(membership)
    return [Remove(person.key, machine)]


def may_lead(membership: Membership) -> bool:
    """Return whether this person founded the swarm or is an admin, and the key to lead with is here."""
    person = membership.person(membership.members()) if membership.person_seed is not None else None
    return membership.founder_seed is not None or (person is not None and person.may_lead)


def require_leader(membership: Membership) -> None:
    """Raise UsageError for people who may not lead. Nobody leads an open swarm."""
    if not membership.swarm.is_open and not may_lead(membership):
        raise UsageError(
            sentence("only the founder and admins of the swarm can do this"), hint=sentence("ask one of them")
        )


def require_founder(membership: Membership) -> None:
    """Raise UsageError unless the founder's key is here."""
    if membership.founder_seed is None:
        raise UsageError(
            sentence("only the founder of the swarm can do this"),
            hint=sentence("on a new computer: potluck members recover"),
        )


def require_other_leader(membership: Membership) -> None:
    """Raise UsageError if the swarm has nobody to lead it once this computer forgets its keys."""
    if membership.founder_seed is None:
        return
    name, people = membership.swarm.name, membership.members().people.values()
    if not any(person.rank is Rank.ADMIN and not person.is_founder for person in people):
        raise UsageError(
            sentence(
                "you founded {name}: if you leave, nobody can appoint admins, invite or confirm people, or remove them",
                name=name,
            ),
            hint=sentence("note its recovery code (potluck members recovery-code), appoint an admin, or add --yes"),
        )


def tend(membership: Membership, machine: Identity, machine_name: str, now_s: float) -> tuple[Membership, list[bytes]]:
    """Do what a person's computer does without asking, once it has compared with others; return what is new.

    It lists itself, if the person's key is here. A leader's confirms guests, and closes chains of the founder's that
    have a fork and those of leaders who were removed.
    """
    if membership.swarm.is_open or membership.person_seed is None:
        return membership, []
    new: list[bytes] = []
    members = membership.members()
    if members.person(membership.person_public) is not None and not membership.has_machine(machine.public_key):
        membership = membership.certified(machine, machine_name)
        members, new = membership.members(), [membership.machines]
    welcome, _ = guests_to_confirm(membership, members)
    contents: list[Content] = [confirm(guest) for guest in welcome]
    if membership.founder_seed is not None:
        removed = [content for key in members.removed for content in dismiss(members, Person(key, "", b""))]
        contents += [*removed, *mend(members)]
    if contents:
        membership, entries = membership.writing(contents, now_s)
        new += [entry.data for entry in entries]
    return membership, new


def mend(members: Members) -> list[Content]:
    """Return what ends the founder's own chains that have a fork, at what this computer holds.

    The entry that is known of the other branch is decided anew, unless the founder has decided otherwise since.
    """
    forked = members.chains.forked(NOTHING)
    contents: list[Content] = [Dismiss(NOTHING, dict(forked))] if forked else []
    for key, chain in members.chains:
        rival = chain.rival if key in forked else None
        if rival is None or rival.hash in members.chains.dismissals:
            continue
        if isinstance(rival.content, Confirm | Remove | Appoint | EndInvite | Seats) or (
            isinstance(rival.content, Dismiss) and rival.content.appointment != NOTHING
        ):
            contents.append(rival.content)
    return contents


def recovery_code(membership: Membership) -> str:
    """Return the swarm's private key as letters in groups, to be written down. Raises UsageError for non-founders."""
    seed = membership.founder_seed
    if seed is None:
        raise UsageError(sentence("only the founder's computer has the recovery code"))
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
        raise UsageError(
            sentence("the code is incomplete or has a wrong letter in it"),
            hint=sentence("it has 14 groups of four letters"),
        )
    if public_key(seed) != membership.swarm.founder_key:
        raise UsageError(sentence("this is not the recovery code of {name}", name=membership.swarm.name))
    return replace(membership, founder_seed=seed)
