"""Who belongs to a swarm: the statements that hold, merged from whatever peers bring.

Peers bring statements in any order, and nodes that saw the same ones agree. Removals are never forgotten, so an old
list cannot undo one. The rules:

- The swarm's key (the founder's) may do everything and gives ranks. Admins invite, withdraw invites and remove members.
- A person belongs to the swarm if the swarm's key witnessed the enrolment, or if the invite is the founder's or an
  admin's, had not expired or been withdrawn, and a member witnessed it.
- The founder makes a swarm public with an invite that has a price, its door. Whoever comes through it is witnessed by
  an enroller or an admin, who has checked that the price was paid, and is on probation for a while.
- Of too many enrolments with one invite the earliest count, and of equally early ones those with the smallest key.
  People who were removed since count, too, so that a removal frees no place.
- A person certifies a machine together with the machine's own key. The person, an admin or the founder removes them.
  Of a person's statements about one machine the earliest counts, of all their certificates the first 256, and of one
  author's removals of one key the earliest. Certificates of machines that an admin or the founder removed always
  count. A machine that certified itself for several members belongs to whoever of them enrolled first or, in the same
  second, has the smaller key.
- Members accuse servers of other members, and say what they found about such accusations. What follows from it is
  decided elsewhere (`potluck.audit.court`), because it depends on who serves what.
- The founder and admins choose the swarm's model; the latest choice counts.
- What an admin signed ends with the rank, so whoever takes it away signs anew what shall stay (`leadership.py`).

No I/O and no clock.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from potluck.membership.identity import public_key_of
from potluck.membership.statements import (
    Attestation,
    Charge,
    Delegation,
    Enrolment,
    Machine,
    ModelChoice,
    Promotion,
    Rank,
    Removal,
    Statement,
    Withdrawal,
)
from potluck.protocol.blocks import PeerId, PersonId

MAX_MACHINES = 32  # of one person
MAX_CERTIFICATES = 256  # of one person ever, those of removed machines included
PROBATION_S = 7 * 86_400
MAX_CHARGES = 16  # of one person, the earliest
MAX_ATTESTATIONS = 64  # of one person, and about one charge
CHARGE_LIVES_S = 365 * 86_400
MAX_STATEMENTS = 50_000  # 10,000 people with a few machines each
_MAX_AHEAD_S = 300  # statements from further in the future are not taken yet


@dataclass(frozen=True, slots=True)
class Person:
    """A member of the swarm."""

    key: bytes
    name: str
    joined_s: int
    invite: bytes
    rank: Rank
    probation_until_s: int  # 0: none; somebody with an invite vouched for them
    machines: tuple[Machine, ...]

    @property
    def id(self) -> PersonId:
        return PersonId(self.key.hex())

    def is_on_probation(self, now_s: float) -> bool:
        """Return whether this person has small budgets, serves where nobody else does, and has no vote."""
        return now_s < self.probation_until_s


@dataclass(slots=True)
class _Facts:
    """Statements by what they are about."""

    promotions: defaultdict[bytes, list[Promotion]] = field(default_factory=lambda: defaultdict(list))
    delegations: list[tuple[Delegation, bytes]] = field(default_factory=list)  # with the author
    invites: dict[bytes, tuple[Delegation, bytes]] = field(default_factory=dict)  # those that count, with the author
    withdrawals: list[tuple[Withdrawal, bytes]] = field(default_factory=list)
    enrolments: list[tuple[Enrolment, tuple[bytes, ...]]] = field(default_factory=list)
    machines: defaultdict[bytes, dict[bytes, Machine]] = field(default_factory=lambda: defaultdict(dict))  # by person
    removals: list[tuple[Removal, bytes]] = field(default_factory=list)
    charges: list[Statement] = field(default_factory=list)
    attestations: list[Statement] = field(default_factory=list)
    choices: dict[bytes, ModelChoice] = field(default_factory=dict)  # the latest of each author

    def add(self, statement: Statement, swarm_key: bytes) -> None:
        author = statement.authors[0]
        match statement.content:
            case Promotion() as promotion if author == swarm_key:
                self.promotions[promotion.person].append(promotion)
            case Delegation() as invite:
                self.delegations.append((invite, author))
            case Withdrawal() as withdrawal:
                self.withdrawals.append((withdrawal, author))
            case Enrolment() as enrolment:
                self.enrolments.append((enrolment, statement.authors))
            case Machine() as machine if statement.authors == (machine.person, machine.machine):
                said = self.machines[machine.machine]
                said[machine.person] = min(said.get(machine.person, machine), machine, key=_order)
            case Removal() as removal:
                self.removals.append((removal, author))
            case Charge():
                self.charges.append(statement)
            case Attestation():
                self.attestations.append(statement)
            case ModelChoice() as choice:
                self.choices[author] = max(self.choices.get(author, choice), choice, key=_choice_order)

    def limit_certificates(self, removed: Collection[bytes]) -> None:
        """Forget certificates beyond what one person may make; those of `removed` machines are kept and not counted."""
        certificates = sorted((each for said in self.machines.values() for each in said.values()), key=_order)
        made: defaultdict[bytes, int] = defaultdict(int)
        for machine in certificates:
            if machine.machine not in removed:
                made[machine.person] += 1
                if made[machine.person] > MAX_CERTIFICATES:
                    del self.machines[machine.machine][machine.person]

    def settle_invites(self, swarm_key: bytes, leaders: Collection[bytes]) -> None:
        """Choose what was said about each invite: the founder's latest statement, else an admin's latest.

        An invite's key is public, so what others sign about it must not replace it.
        """
        for invite, author in sorted(self.delegations, key=lambda each: (each[1] == swarm_key, _invite_order(*each))):
            if author in leaders:
                self.invites[invite.invite] = invite, author


@dataclass(frozen=True, slots=True)
class FiledCharge:
    """An accusation with the people whom it concerns."""

    accuser: PersonId
    accused: PersonId
    charge: Charge


@dataclass(frozen=True, slots=True)
class Docket:
    """The accusations and findings of a swarm, by the digests of their statements. Nothing is decided here."""

    charges: Mapping[bytes, FiledCharge] = field(default_factory=dict)
    attestations: Mapping[bytes, tuple[PersonId, Attestation]] = field(default_factory=dict)


NO_DOCKET = Docket()


class Roster:
    """The members of one swarm.

    Args:
        swarm_key: the founder's public key.
    """

    def __init__(self, swarm_key: bytes) -> None:
        self.swarm_key = swarm_key
        self.digest = b""  # equal for all who know the same statements
        self._statements: dict[bytes, Statement] = {}  # by digest
        self._about: dict[bytes, list[Statement]] = {}  # by the person, machine or invite
        self._people: dict[bytes, Person] = {}
        self._former: dict[bytes, Enrolment] = {}  # of people who were removed since
        self._owners: dict[bytes, Person] = {}  # by machine
        self._enrolled: Mapping[bytes, tuple[Enrolment, bytes]] = {}  # by person: how, and the witness
        self.docket = NO_DOCKET
        self._facts = _Facts()
        self._leaders: Collection[bytes] = (swarm_key,)
        self._removed: Mapping[bytes, Mapping[bytes, int]] = {}  # when, by author

    def __iter__(self) -> Iterator[Statement]:
        return iter(self._statements.values())

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._statements

    @property
    def people(self) -> tuple[Person, ...]:
        """Return the members, the earliest first."""
        return tuple(sorted(self._people.values(), key=lambda person: (person.joined_s, person.key)))

    def merge(self, statements: Iterable[Statement], *, now_s: float) -> list[Statement]:
        """Take statements. Return those that were new and are kept, for others who may lack them."""
        new = {
            statement.digest: statement
            for statement in statements
            if statement.digest not in self._statements and statement.content.at_s <= now_s + _MAX_AHEAD_S
        }
        if not new or len(self._statements) + len(new) > MAX_STATEMENTS:
            return []
        self._statements |= new
        self._facts = _Facts()
        for statement in self._statements.values():
            self._facts.add(statement, self.swarm_key)
        self._leaders, by_leaders = _leaders_and_removed(self._facts, self.swarm_key)
        self._facts.limit_certificates(by_leaders)
        self._removed = _with_removals_by_owners(self._facts, by_leaders)
        self._facts.settle_invites(self.swarm_key, self._leaders)
        settled = _settled(self._facts, self.swarm_key, self._leaders, self._removed)
        self._people, self._former, self._enrolled = settled.people, settled.former, settled.enrolled
        self._owners = {machine.machine: person for person in self._people.values() for machine in person.machines}
        self.docket = self._settle_docket(now_s)
        self._statements = {digest: item for digest, item in self._statements.items() if self._counts(item)}
        self.digest = hashlib.sha256(b"".join(sorted(self._statements))).digest()[:16]
        self._about = {}
        for statement in self._statements.values():
            subject = _subject(statement)
            if subject is not None:
                self._about.setdefault(subject, []).append(statement)
        return [statement for digest, statement in new.items() if digest in self._statements]

    def person(self, key: bytes) -> Person | None:
        return self._people.get(key)

    def owner(self, peer: PeerId) -> Person | None:
        """Return the member whose machine this is, or None."""
        key = public_key_of(peer)
        return None if key is None else self.owner_of_key(key)

    def member_of_key(self, key: bytes) -> Person | None:
        """Return the member with this key, or with a computer of this key."""
        return self.person(key) or self.owner_of_key(key)

    def owner_of_key(self, machine: bytes) -> Person | None:
        return self._owners.get(machine)

    def is_removed(self, key: bytes) -> bool:
        """Return whether a person or a machine has been removed."""
        return key in self._removed

    def remover(self, key: bytes) -> bytes | None:
        """Return the key that removed a person or a machine, or None if nobody did."""
        removals = self._removed.get(key, {})
        return min(removals, key=lambda author: (removals[author], author), default=None)

    def proof_of_removal(self, key: bytes) -> list[Statement]:
        """Return what proves to anybody who knows the swarm's key that a person or machine has been removed."""
        removals = [item for item in self if isinstance(item.content, Removal) and item.content.key == key]
        return [*removals, *(item for removal in removals for item in self.proof_of(removal.authors[0]))]

    def is_removed_peer(self, peer: PeerId) -> bool:
        key = public_key_of(peer)
        return key is not None and key in self._removed

    def may_lead(self, key: bytes) -> bool:
        """Return whether this is the swarm's key or an admin's, who may invite and remove."""
        return key in self._leaders

    def may_enrol(self, key: bytes) -> bool:
        """Return whether a node with this key, or of this person, may let newcomers into a public swarm."""
        person = self.member_of_key(key)
        return person is not None and (person.key in self._leaders or person.rank is Rank.ENROLLER)

    @property
    def choice(self) -> ModelChoice | None:
        """Return the latest choice of the swarm's model; None: it is the one of the invites."""
        choices = (choice for author, choice in self._facts.choices.items() if author in self._leaders)
        return max(choices, key=_choice_order, default=None)

    def proof_of_choice(self) -> list[Statement]:
        """Return what proves to anybody who knows the swarm's key which model it serves."""
        choice = self.choice
        chosen = [item for item in self if item.content == choice and item.authors[0] in self._leaders][:1]
        return [*chosen, *(item for each in chosen for item in self.proof_of(each.authors[0]))]

    @property
    def door(self) -> Delegation | None:
        """Return through what anybody may join who pays the price; None unless the swarm is public."""
        invites = [invite for invite in self.invites if invite.work_bits]
        doors = [invite for invite in invites if self._facts.invites[invite.invite][1] == self.swarm_key]
        return max(doors, key=lambda each: (each.at_s, each.invite), default=None)

    def invite(self, key: bytes) -> Delegation | None:
        """Return an invite that nobody withdrew, or None; it may have expired or be used up."""
        invite, _ = self._facts.invites.get(key, (None, b""))
        return None if _end_of(key, self._facts, self._leaders) < math.inf else invite

    @property
    def invites(self) -> tuple[Delegation, ...]:
        """Return the invites that nobody withdrew."""
        return tuple(invite for key in self._facts.invites if (invite := self.invite(key)) is not None)

    def inviter(self, invite: bytes) -> Person | None:
        """Return who made an invite, or None if that is not known any more."""
        _, author = self._facts.invites.get(invite, (None, b""))
        founders = (person for person in self.people if person.invite == self.swarm_key)
        return next(founders, None) if author == self.swarm_key else self.person(author)

    def num_enrolled(self, invite: bytes) -> int:
        """Return how many people have enrolled with an invite, those who were removed since included."""
        invites = [person.invite for person in self._people.values()] + [each.invite for each in self._former.values()]
        return invites.count(invite)

    def signed_by(self, person: Person) -> list[Statement]:
        """Return what would end with `person`: enrolments of others, and what they signed as an admin."""
        keys = {person.key, *(machine.machine for machine in person.machines)}
        found = []
        for statement in self._statements.values():
            content = statement.content
            if isinstance(content, Enrolment):
                _, inviter = self._facts.invites.get(content.invite, (None, b""))
                ends = (statement.authors[-1] in keys or inviter == person.key) and content.person != person.key
            else:
                stays = isinstance(content, Machine | Charge | Attestation)
                ends = statement.authors[0] == person.key and not stays
            if ends:
                found.append(statement)
        return found

    def proof_of(self, key: bytes) -> list[Statement]:
        """Return what proves to anybody who knows the swarm's key that a person or machine belongs to it.

        The nearest come first: whoever knows most of the swarm needs only these.
        """
        needed: list[Statement] = []
        keys, seen = deque([key]), {self.swarm_key}
        while keys:
            subject = keys.popleft()
            if subject in seen:
                continue
            seen.add(subject)
            for statement in self._about.get(subject, ()):
                needed.append(statement)
                keys += [*statement.authors, *_parents(statement)]
        return needed

    def _settle_docket(self, now_s: float) -> Docket:
        """Return the accusations and findings that count: of members about members, and not too many of anybody."""
        charges: dict[bytes, FiledCharge] = {}
        made: defaultdict[bytes, int] = defaultdict(int)
        for statement in sorted(self._facts.charges, key=_by_time):
            author, charge = self.member_of_key(statement.authors[0]), statement.content
            assert isinstance(charge, Charge)
            accused = self._owners.get(charge.machine)
            if author is None or accused is None or author == accused or author.is_on_probation(charge.at_s):
                continue
            if charge.at_s < now_s - CHARGE_LIVES_S:
                continue
            made[author.key] += 1
            if made[author.key] <= MAX_CHARGES:
                charges[statement.digest] = FiledCharge(author.id, accused.id, charge)
        attestations: dict[bytes, tuple[PersonId, Attestation]] = {}
        said: defaultdict[bytes, int] = defaultdict(int)
        heard: defaultdict[bytes, int] = defaultdict(int)
        for statement in sorted(self._facts.attestations, key=_by_lot):
            author, attestation = self.member_of_key(statement.authors[0]), statement.content
            assert isinstance(attestation, Attestation)
            filed = charges.get(attestation.charge)
            if author is None or filed is None or author.is_on_probation(attestation.at_s):
                continue
            if author.id in (filed.accuser, filed.accused):
                continue
            said[author.key] += 1
            heard[attestation.charge] += 1
            if said[author.key] <= MAX_ATTESTATIONS and heard[attestation.charge] <= MAX_ATTESTATIONS:
                attestations[statement.digest] = author.id, attestation
        return Docket(charges, attestations)

    def _counts(self, statement: Statement) -> bool:
        """Return whether a statement has an effect now; others are dropped, so that nobody fills the roster."""
        match statement.content:
            case Enrolment() as enrolment:
                witness = statement.authors[-1]
                chosen = self._enrolled.get(enrolment.person)
                return chosen is not None and (chosen == (enrolment, witness) or witness in self._leaders)
            case Machine() as machine:
                owner = self._owners.get(machine.machine)
                if owner is not None:
                    return machine in owner.machines
                said = self._facts.machines.get(machine.machine, {})
                is_known = machine.person in self._enrolled and said.get(machine.person) == machine
                return is_known and machine.machine in self._removed
            case Removal() as removal:
                return self._removed.get(removal.key, {}).get(statement.authors[0]) == removal.at_s
            case Promotion() | Delegation() | Withdrawal():
                return statement.authors[0] in self._leaders
            case Charge():
                return statement.digest in self.docket.charges
            case Attestation():
                return statement.digest in self.docket.attestations
            case ModelChoice() as choice:
                author = statement.authors[0]
                return author in self._leaders and self._facts.choices.get(author) == choice


@dataclass(frozen=True, slots=True)
class _Settled:
    """The people who enrolled, by key. Attributes: former: people who were removed since; enrolled: how both did."""

    people: dict[bytes, Person] = field(default_factory=dict)
    former: dict[bytes, Enrolment] = field(default_factory=dict)
    enrolled: dict[bytes, tuple[Enrolment, bytes]] = field(default_factory=dict)


def _settled(facts: _Facts, swarm_key: bytes, leaders: Collection[bytes], removed: Collection[bytes]) -> _Settled:
    surplus: set[bytes] = set()
    while True:
        settled = _settle(facts, swarm_key, leaders, removed, surplus)
        by_invite: defaultdict[bytes, list[tuple[int, bytes]]] = defaultdict(list)
        for person in settled.people.values():
            by_invite[person.invite].append((person.joined_s, person.key))
        for former in settled.former.values():
            by_invite[former.invite].append((former.at_s, former.person))
        more = {
            key
            for invite, invited in by_invite.items()
            if invite in facts.invites
            for _, key in sorted(invited)[facts.invites[invite][0].max_people :]
        }
        if not more:
            return settled
        surplus |= more


def _settle(
    facts: _Facts,
    swarm_key: bytes,
    leaders: Collection[bytes],
    removed: Collection[bytes],
    surplus: Collection[bytes],
) -> _Settled:
    """Return who enrolled, without `surplus`. It starts with the founder and adds whom members witnessed."""
    machines: defaultdict[bytes, list[Machine]] = defaultdict(list)
    for machine in sorted((each for said in facts.machines.values() for each in said.values()), key=_order):
        if machine.machine not in removed:
            machines[machine.person].append(machine)
    settled = _Settled()
    faults = _faults(facts, leaders)
    witnesses: dict[bytes, Person] = {}  # by any key that may sign for them
    waiting = sorted(facts.enrolments, key=_enrolment_order)
    while True:
        found = False
        for enrolment, authors in waiting:
            key = enrolment.person
            if key in settled.enrolled or key in surplus:
                continue
            if not _is_admitted(enrolment, authors, facts, swarm_key, leaders, witnesses):
                continue
            found = True
            settled.enrolled[key] = enrolment, authors[-1]
            if key in removed:
                settled.former[key] = enrolment
                continue
            rank = _rank_of(key, facts)
            invite, _ = facts.invites.get(enrolment.invite, (None, b""))
            is_new = invite is not None and invite.work_bits > 0 and key not in facts.promotions
            ends_s = max(enrolment.at_s, faults.get(key, 0)) + PROBATION_S if is_new else 0
            theirs = tuple(machines[key][:MAX_MACHINES])
            person = Person(key, enrolment.name, enrolment.at_s, enrolment.invite, rank, ends_s, theirs)
            settled.people[key] = person
            witnesses |= dict.fromkeys((key, *(machine.machine for machine in person.machines)), person)
        if not found:
            return replace(settled, people=_with_own_machines(settled.people))


def _with_own_machines(people: dict[bytes, Person]) -> dict[bytes, Person]:
    """Leave each machine to the first of those who certified it."""
    owner: dict[bytes, bytes] = {}
    for person in sorted(people.values(), key=lambda each: (each.joined_s, each.key)):
        for machine in person.machines:
            owner.setdefault(machine.machine, person.key)
    return {
        key: replace(person, machines=tuple(each for each in person.machines if owner[each.machine] == key))
        for key, person in people.items()
    }


def _is_admitted(
    enrolment: Enrolment,
    authors: tuple[bytes, ...],
    facts: _Facts,
    swarm_key: bytes,
    leaders: Collection[bytes],
    witnesses: dict[bytes, Person],
) -> bool:
    if len(authors) != 2:
        return False
    applicant, witness_key = authors
    invite, inviter = facts.invites.get(enrolment.invite, (None, b""))
    is_public = invite is not None and invite.work_bits > 0
    if applicant != (enrolment.person if is_public else enrolment.invite):
        return False
    if witness_key == swarm_key:
        return True
    witness = witnesses.get(witness_key)
    if invite is None or witness is None:
        return False
    if is_public and (inviter != swarm_key or not (witness.key in leaders or witness.rank is Rank.ENROLLER)):
        return False
    return enrolment.at_s <= min(invite.expires_s, _end_of(enrolment.invite, facts, leaders))


def _faults(facts: _Facts, leaders: Collection[bytes]) -> dict[bytes, int]:
    """Return when an admin or the founder last removed a computer of each person, whose probation then begins anew."""
    faults: dict[bytes, int] = {}
    for removal, author in facts.removals:
        owners = facts.machines.get(removal.key, {}).keys() - {author}
        if author in leaders:
            faults |= {owner: max(faults.get(owner, 0), removal.at_s) for owner in owners}
    return faults


def _end_of(invite: bytes, facts: _Facts, leaders: Collection[bytes]) -> float:
    """Return when an invite was withdrawn; infinity if it was not."""
    ends = (item.at_s for item, author in facts.withdrawals if item.invite == invite and author in leaders)
    return min(ends, default=math.inf)


def _leaders_and_removed(facts: _Facts, swarm_key: bytes) -> tuple[set[bytes], dict[bytes, dict[bytes, int]]]:
    """Return the keys that may lead, and the people and machines that they removed: when, by author."""
    admins = {person for person in facts.promotions if _rank_of(person, facts) is Rank.ADMIN}
    admins |= {enrolment.person for enrolment, authors in facts.enrolments if authors == (swarm_key, swarm_key)}
    removed = _earliest({}, ((removal, author) for removal, author in facts.removals if author == swarm_key))
    leaders = {swarm_key, *(admins - removed.keys())}
    others = (
        (removal, author)
        for removal, author in facts.removals
        if author in leaders and admins.isdisjoint(facts.machines.get(removal.key) or (removal.key,))
    )
    return leaders, _earliest(removed, others)


def _with_removals_by_owners(
    facts: _Facts, removed: Mapping[bytes, Mapping[bytes, int]]
) -> dict[bytes, dict[bytes, int]]:
    """Return `removed` with the machines that were removed by people who had certified them."""
    owners = ((removal, author) for removal, author in facts.removals if author in facts.machines.get(removal.key, {}))
    return _earliest(removed, owners)


def _earliest(
    removed: Mapping[bytes, Mapping[bytes, int]], removals: Iterable[tuple[Removal, bytes]]
) -> dict[bytes, dict[bytes, int]]:
    """Return `removed` with more removals, of which the earliest of each author counts."""
    found = {key: dict(authors) for key, authors in removed.items()}
    for removal, author in removals:
        authors = found.setdefault(removal.key, {})
        authors[author] = min(authors.get(author, removal.at_s), removal.at_s)
    return found


def _rank_of(person: bytes, facts: _Facts) -> Rank:
    latest = max(facts.promotions.get(person, ()), key=lambda each: (each.at_s, each.rank), default=None)
    return Rank.MEMBER if latest is None else Rank(latest.rank)


def _invite_order(invite: Delegation, author: bytes) -> tuple[int, bytes, int, int, int]:
    return invite.at_s, author, invite.expires_s, invite.max_people, invite.work_bits


def _choice_order(choice: ModelChoice) -> tuple[int, str, int, str, bytes, str]:
    return choice.at_s, choice.model, choice.num_blocks, choice.revision, choice.manifest, choice.prefix


def _enrolment_order(signed: tuple[Enrolment, tuple[bytes, ...]]) -> tuple[int, bytes, tuple[bytes, ...], bytes, str]:
    enrolment, authors = signed
    return enrolment.at_s, enrolment.person, authors, enrolment.invite, enrolment.name


def _order(machine: Machine) -> tuple[int, bytes, str]:
    return machine.at_s, machine.machine, machine.name


def _by_time(statement: Statement) -> tuple[int, bytes]:
    return statement.content.at_s, statement.digest


def _by_lot(statement: Statement) -> bytes:
    """Order findings so that nobody chooses which of too many count."""
    content = statement.content
    return hashlib.sha256((content.charge if isinstance(content, Attestation) else b"") + statement.authors[0]).digest()


def _subject(statement: Statement) -> bytes | None:
    match statement.content:
        case Enrolment(person=key) | Promotion(person=key) | Delegation(invite=key) | Machine(machine=key):
            return key
        case _:
            return None


def _parents(statement: Statement) -> tuple[bytes, ...]:
    """Return further keys that a proof of this statement has to explain."""
    match statement.content:
        case Enrolment(invite=invite):
            return (invite,)
        case Machine(person=person):
            return (person,)
        case _:
            return ()
