"""What one computer holds of a swarm: the swarm, what it knows of its members, and the keys stored here.

A `Membership` lies in a file of its owner. A node gets only what it shows (`for_node`), so that the engine, which
speaks with strangers, never holds the key of a person. No I/O.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Annotated, Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Meta

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.members import Members, Person
from potluck.membership.records import (
    MAX_MACHINES,
    NOTHING,
    Application,
    Content,
    Entry,
    Machine,
    Machines,
    Open,
    Rank,
    Record,
    RecordError,
    consent_to_listing,
    raw_content,
    read_record,
    sign,
)
from potluck.protocol.swarm import Draft, Swarm, SwarmFields, check_swarm
from potluck.sentences import sentence

_VERSION = 2
Seed = Annotated[bytes, Meta(min_length=32, max_length=32)] | None


@dataclass(frozen=True, slots=True)
class Membership:
    """A person's or a node's part in a swarm.

    Attributes:
        records: what is known of the members, as bytes; their signatures were checked.
        reports: what members reported about each other's computers, as bytes; their signatures were checked.
        heard: when this computer first heard of people, by key, in Unix seconds; computers that they dropped as well.
        machines: the newest list of this person's machines, which nobody else may know yet.
        application: what this person applied with, or this computer asks with to be listed; empty for founders.
        invite: the entry of the invite that this person used.
        chains: those that this computer writes.
        person_seed: private key of the person; None on a further computer of that person, and in nodes.
        founder_seed: private key of the swarm; None unless this person may act as its founder.
        invite_seeds: private keys of the invites that were made on this computer, to be shown again; none in nodes.
        machine_seed: private key of this computer, for passes where the person's key is elsewhere; never kept here.
        ticket: in nodes: a pass for a computer that has the person's key and is not listed yet; never kept here.
        met: where members were found lately, the newest first; kept in another file.
    """

    swarm: Swarm
    records: tuple[bytes, ...] = field(default=(), compare=False)  # news of members restarts nobody
    reports: tuple[bytes, ...] = field(default=(), compare=False)
    heard: tuple[tuple[bytes, int], ...] = field(default=(), compare=False)
    machines: bytes = field(default=b"", compare=False)
    application: bytes = b""  # another one restarts a node, so that it applies with it
    invite: bytes = field(default=b"", compare=False)
    chains: tuple[bytes, ...] = field(default=(), compare=False)
    person_seed: bytes | None = field(default=None, repr=False)
    founder_seed: bytes | None = field(default=None, repr=False)
    machine_seed: bytes | None = field(default=None, repr=False)
    invite_seeds: tuple[bytes, ...] = field(default=(), compare=False, repr=False)
    ticket: bytes = field(default=b"", compare=False, repr=False)
    met: tuple[str, ...] = field(default=(), compare=False)

    @property
    def person_key(self) -> Ed25519PrivateKey | None:
        return None if self.person_seed is None else Ed25519PrivateKey.from_private_bytes(self.person_seed)

    @property
    def signing_key(self) -> Ed25519PrivateKey | None:
        """Return the key that signs passes: the person's, or this computer's."""
        seed = self.person_seed or self.machine_seed
        return None if seed is None else Ed25519PrivateKey.from_private_bytes(seed)

    @property
    def founder_key(self) -> Ed25519PrivateKey | None:
        return None if self.founder_seed is None else Ed25519PrivateKey.from_private_bytes(self.founder_seed)

    @property
    def person_public(self) -> bytes:
        """Return the public key of the person whose computer this is; empty where nobody is, as at a meeting point."""
        person = self.person_key
        if person is not None:
            return _public(person)
        return read_record(self.application).body.person if self.application else b""  # type: ignore[union-attr]

    def members(self) -> Members:
        """Return what is known of the members."""
        return Members(_swarm_key(self.swarm), self.all_records, dict(self.heard))

    @property
    def all_records(self) -> tuple[bytes, ...]:
        return (*self.records, *self.reports)

    def person(self, members: Members, machine: bytes = b"") -> Person | None:
        """Return the person whose computer this is, as others know them; None before anybody let them in.

        Args:
            machine: public key of this computer.
        """
        person, wanted = members.known(self._known_as(machine)), self.person_public
        return person if person is None or wanted in (b"", person.key) else None  # it may be listed by a former self

    def _known_as(self, machine: bytes) -> bytes:
        """Return the key by which others know this computer: the one that signs its passes, or its own."""
        if self.ticket:
            return read_record(self.ticket).authors[0]
        return machine if self.signing_key is None else _public(self.signing_key)

    def with_records(self, records: Iterable[Record], now_s: float) -> Membership:
        """Return the membership with the records that hold."""
        members, records = self.members(), [*records]
        for record in records:
            if isinstance(record.body, Application):  # this computer's node has forgotten whom it must not bring
                members.renew_guest(record.body.person, now_s)
        members.learn(records, now_s)
        return self.knowing(members)

    def knowing(self, members: Members) -> Membership:
        """Return the membership with all that `members` holds, in the swarm with the model that its leaders chose."""
        swarm, choice, machines = self.swarm, members.choice, self.machines
        if choice is not None:
            names = ("model", "num_blocks", "prefix", "revision")
            fields: dict[str, Any] = {name: getattr(choice, name) for name in names}
            swarm = replace(swarm, **fields, weights=choice.manifest.hex())
        chosen = members.draft_for(swarm.prefix)
        draft = Draft(chosen.model, chosen.revision, chosen.manifest.hex()) if chosen and chosen.model else None
        swarm = replace(swarm, draft=draft)
        person = self.person_key
        if person is not None and (known := members.list_of(_public(person))):
            machines = max(known, machines, key=lambda data: _list(data).number)
        records, reports = (tuple(record.data for record in kept) for kept in (members, members.reports))
        heard = (*members.heard.items(),)
        return replace(self, records=records, reports=reports, heard=heard, swarm=swarm, machines=machines)

    def with_machine(self, machine: Machine) -> Membership:
        """Return the membership in which the person lists a computer, if it was not listed before.

        Raises:
            UsageError: only a computer that holds the person's key lists others, and a list has an end.
        """
        if self.person_seed is None:
            raise UsageError(
                sentence("this computer cannot add others to your name"),
                hint=sentence("do it on the computer that joined the swarm first"),
            )
        listed = _list(self.machines).machines
        if any(each.key == machine.key for each in listed):
            return self
        if len(listed) >= MAX_MACHINES:
            raise UsageError(
                sentence(
                    "you have {number} computers in this swarm, which is all that one person may", number=MAX_MACHINES
                ),
                hint=sentence("remove one that you don't use: potluck members remove NAME --machine COMPUTER"),
            )
        return self._listing((*listed, machine))

    def without_machine(self, machine: bytes) -> Membership:
        """Return the membership in which the person does not list a computer any more. Raises UsageError."""
        if self.person_seed is None:
            raise UsageError(
                sentence("your key is on another computer"),
                hint=sentence("do it on the computer that joined the swarm first"),
            )
        return self._listing(tuple(each for each in _list(self.machines).machines if each.key != machine))

    def _listing(self, machines: tuple[Machine, ...]) -> Membership:
        person, members = self.person_key, self.members()
        assert person is not None
        body = Machines(_public(person), _list(self.machines).number + 1, machines)
        record = sign(members.swarm_key, body, person)
        members.add([record], 0.0)
        return replace(self, machines=record.data).knowing(members)

    def has_machine(self, key: bytes) -> bool:
        """Return whether this person's list names a computer."""
        return any(each.key == key for each in _list(self.machines).machines)

    def certified(self, machine: Identity, name: str) -> Membership:
        """Return the membership in which this computer is listed. Raises UsageError."""
        if self.person_key is None or self.swarm.is_open or self.has_machine(machine.public_key):
            return self
        return self.with_machine(
            consent_to_listing(_swarm_key(self.swarm), _public(self.person_key), machine.private_key, name)
        )

    def writing(
        self, contents: Sequence[Content], now_s: float, *, may_lag: bool = False
    ) -> tuple[Membership, list[Record]]:
        """Return the membership in which a leader decided something, and the new entries.

        The caller keeps other processes from writing meanwhile, and keeps the result before it tells anybody.

        Args:
            may_lag: this computer has not compared with others since it started, and others may hold later entries
                of its chains, as when a disk was restored. It opens another chain, if it has few.

        Raises:
            UsageError: this person leads nothing here, or it cannot be said.
        """
        members = self.members()
        author, appointment = _author(self, members)
        new: list[Record] = []
        own, count = members.chains.of(appointment), len(contents)
        is_far_from_full = len(own) < members.chains.most_of(_public(author)) // 2
        opens = may_lag and len(members.people) > 1 and is_far_from_full
        known = () if opens else self.chains
        chain = next((key for key in known if key in own and members.chains.next_place(key, count)), b"")
        place = members.chains.next_place(chain)
        number, before, heads = place or (0, appointment, members.chains.heads_beside(b"", {}))
        opening: list[Content] = [] if place else [Open(os.urandom(16))]
        for content in (*opening, *contents):
            entry = Entry(chain, number, before, heads, raw_content(content))
            try:
                record = sign(members.swarm_key, entry, author)
            except RecordError as error:
                raise UsageError(sentence("this cannot be decided: {why}", why=error)) from error
            new.append(record)
            chain, number, before, heads = record.chain, number + 1, record.hash, {}
        if len(members.add(new, now_s)) < len(new):
            raise UsageError(
                sentence("you decided as much as one appointment allows"),
                hint=sentence("the founder may promote you anew"),
            )
        return replace(self.knowing(members), chains=(*dict.fromkeys((chain, *self.chains)),)), new

    def for_node(self) -> Membership:
        """Return what a node needs that is known by its own key: everything but the private keys.

        Only clients draft, so another drafting model restarts no node.
        """
        swarm = replace(self.swarm, draft=None)
        return replace(self, swarm=swarm, person_seed=None, founder_seed=None, invite_seeds=())

    def for_client(self) -> Membership:
        """Return what a client needs, whose key is made for one run and vouched for by the person."""
        return replace(self, founder_seed=None, invite_seeds=())

    def is_confirmed(self, machine: bytes) -> bool:
        """Return whether a leader has confirmed this person. True in an open swarm.

        Args:
            machine: public key of this computer.
        """
        person = None if self.swarm.is_open else self.person(self.members(), machine)
        return self.swarm.is_open or (person is not None and not person.is_guest)

    @property
    def is_person_out(self) -> bool:
        """Return whether this person was removed, and not only one of their computers."""
        return not self.swarm.is_open and self.members().remover(self.person_public) is not None

    def remover(self, machine: bytes) -> str | None:
        """Return the name of who removed this person or their computer, or None if nobody did.

        Args:
            machine: public key of this computer.
        """
        if self.swarm.is_open:
            return None
        members = self.members()
        author = next(
            (found for key in (machine, self.person_public) if (found := members.remover(key)) is not None), None
        )
        if author is None:
            return None
        leader = members.founder if author == members.swarm_key else members.person(author)
        return leader.name if leader is not None else "the founder" if author == members.swarm_key else "an admin"


class _Kept(msgspec.Struct):
    """The fields of a stored membership."""

    version: int
    swarm: SwarmFields
    records: tuple[bytes, ...]
    heard: tuple[tuple[bytes, int], ...]
    machines: bytes
    application: bytes
    invite: bytes
    chains: tuple[bytes, ...]
    person: Seed
    founder: Seed
    reports: tuple[bytes, ...] = ()  # not in `records`, where versions that do not know reports would fail
    draft: tuple[str, ...] | None = None  # None: written by a version that knows no drafting models
    invite_seeds: tuple[bytes, ...] = ()


_SAME = ("records", "heard", "machines", "application", "invite", "chains", "reports", "invite_seeds")


def encode_membership(membership: Membership) -> bytes:
    """Return the bytes in which a computer keeps a membership. They contain private keys."""
    same = {name: getattr(membership, name) for name in _SAME}
    seeds = membership.person_seed, membership.founder_seed
    swarm, draft = membership.swarm, membership.swarm.draft
    named = () if draft is None else astuple(draft)
    kept = _Kept(_VERSION, swarm.fields, person=seeds[0], founder=seeds[1], **same, draft=named)
    return msgspec.msgpack.encode(kept)


def decode_membership(data: bytes) -> Membership:
    """Read a membership. Raises ValueError for anything that `encode_membership` did not make."""
    try:
        kept = msgspec.msgpack.decode(data, type=_Kept)
        if kept.version != _VERSION:
            raise ValueError("made by another version")
        swarm = check_swarm(Swarm(*kept.swarm, draft=Draft(*kept.draft) if kept.draft else None))
        for record in (*kept.records, *kept.reports):
            read_record(record)
    except (msgspec.MsgspecError, TypeError, UsageError) as error:
        raise ValueError(f"not a membership: {error}") from error
    same = {name: getattr(kept, name) for name in _SAME}
    membership = Membership(swarm, **same, person_seed=kept.person, founder_seed=kept.founder)
    return membership if swarm.is_open or kept.draft is not None else membership.knowing(membership.members())


def _author(membership: Membership, members: Members) -> tuple[Ed25519PrivateKey, bytes]:
    """Return the key of this leader, and the appointment under which it writes. Raises UsageError."""
    if membership.founder_key is not None:
        return membership.founder_key, NOTHING
    person = membership.person_key
    live = members.chains.appointments_of(_public(person)) if person is not None else {}
    best = min(live, key=lambda key: (live[key].rank is not Rank.ADMIN, key), default=None)
    if person is None or best is None:
        raise UsageError(
            sentence("only the founder and admins of the swarm can do this"), hint=sentence("ask one of them")
        )
    return person, best


def _list(data: bytes) -> Machines:
    """Return a list of machines; for no data an empty one, which no person signed."""
    body = read_record(data).body if data else None
    return body if isinstance(body, Machines) else Machines(NOTHING, 0, ())


def _public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def _swarm_key(swarm: Swarm) -> bytes:
    if swarm.founder_key is None:
        raise UsageError(sentence("{name} is an open swarm, which has no members", name=swarm.name))
    return swarm.founder_key
