"""Founders, members and their gates without a network: gates call each other directly."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from potluck.membership.gate import PRESENT, ROSTER, MembersGate
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite, accept
from potluck.membership.leadership import DEFAULT_SEATS, found, promote, seats
from potluck.membership.members import Members, Person
from potluck.membership.membership import Membership
from potluck.membership.records import Application, Confirm, Content, Rank, read_all, read_record
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.swarm import new_swarm

NOW_S = 1_800_000_000.0


def founded(machine: Identity, name: str = "Ana", now_s: float = NOW_S) -> Membership:
    return found(new_swarm("home", "model", 12), name, machine, f"{name}'s desktop", now_s)


def invited(leader: Membership, **limits: object) -> tuple[Membership, Invite]:
    """Return a leader's membership with a new invite, and the invite."""
    offer, seed = seats(NOW_S, **limits)  # type: ignore[arg-type]
    leader, new = leader.writing([offer], NOW_S)
    return leader, Invite(leader.swarm, seed, new[-1].data)


def joined(made: Invite, name: str, machine: Identity) -> Membership:
    return accept(made, name, machine, f"{name}'s laptop", NOW_S)


def enrolled(leader: Membership, made: Invite, name: str, machine: Identity) -> tuple[Membership, Membership]:
    """Confirm somebody as a leader does; return both memberships, which know of it."""
    newcomer = joined(made, name, machine)
    application = read_record(newcomer.application).body
    assert isinstance(application, Application)
    leader, _ = leader.writing([Confirm(application.person, name, application.invite)], NOW_S)
    leader = leader.with_records(read_all([newcomer.machines]), NOW_S)
    return leader, newcomer.with_records(read_all(leader.records), NOW_S)


def decided(leader: Membership, *contents: Content) -> Membership:
    """Return the membership of a leader who decided this."""
    return leader.writing(contents, NOW_S)[0]


def appointed(
    founder: Membership, member: Membership, rank: Rank = Rank.ADMIN, *, seats: int = DEFAULT_SEATS
) -> tuple[Membership, Membership]:
    """Return the founder's membership and that of a member whom the founder gave a rank."""
    known = founder.members()
    person = known.people[member.person_public]
    founder = decided(founder, *promote(founder, known, person, rank, seats=seats))
    return founder, shared(founder, member)[1]


def shared(*memberships: Membership) -> tuple[Membership, ...]:
    """Return memberships whose computers told each other all they know."""
    everything = read_all([data for each in memberships for data in (*each.records, *filter(None, [each.machines]))])
    return tuple(each.with_records(everything, NOW_S).with_records(everything, NOW_S) for each in memberships)


def compare(one: Members, other: Members, now_s: float = NOW_S) -> None:
    """Have two nodes give each other what they lack, until they hold the same or nothing more is taken."""
    for _ in range(20):
        there = [*one.chains.lacking(other.chains.heads), *one.others_than(other.short_hashes)[0]]
        here = [*other.chains.lacking(one.chains.heads), *other.others_than(one.short_hashes)[0]]
        if not other.learn(there, now_s) + one.learn(here, now_s):
            return
    raise AssertionError("two nodes go on telling each other the same")


def people(members: Members) -> list[str]:
    """Return the names of the members."""
    return sorted(person.name for person in members.people.values())


def known_by(membership: Membership, gate: MembersGate) -> Membership:
    """Return the membership with all that the gate knows."""
    return membership.knowing(gate.roster)


def names(gate: MembersGate) -> list[str]:
    return people(gate.roster)


def person(gate: MembersGate, name: str) -> Person:
    return among(gate.roster, name)


def among(members: Members, name: str) -> Person:
    """Return the member or guest of this name."""
    return next(each for each in (*members.people.values(), *members.guests.values()) if each.name == name)


@dataclass
class World:
    """Nodes that reach each other, at a time that tests move."""

    now_s: float = NOW_S
    nodes: dict[PeerId, MembersGate] = field(default_factory=dict)
    memberships: dict[PeerId, Membership] = field(default_factory=dict)  # of leaders, as their daemons keep them
    kept: dict[PeerId, list[bytes]] = field(default_factory=dict)
    cut_off: dict[PeerId, list[PeerId]] = field(default_factory=dict)  # removed peers each node dropped
    cut: set[frozenset[PeerId]] = field(default_factory=set)  # pairs that do not reach each other

    def node(self, membership: Membership, identity: Identity, **options: object) -> MembersGate:
        """Return a started gate of a computer, or with another identity of a node that runs on it."""
        me = identity.peer_id

        async def call(peer: PeerId, protocol: str, body: bytes) -> bytes:
            return await self.carry(me, peer, protocol, body)

        kept = {
            "clock": lambda: self.now_s,
            "on_news": self.kept.setdefault(me, []).extend,
            "on_removed": self.cut_off.setdefault(me, []).extend,
        }
        gate = self.nodes[me] = MembersGate(membership, identity, call, **(kept | options))  # type: ignore[arg-type]
        self.memberships[me] = membership
        gate.start()
        return gate

    async def carry(self, me: PeerId, peer: PeerId, protocol: str, body: bytes) -> bytes:
        """Return the answer of a node to a call."""
        other = self.nodes.get(peer)
        if other is None or frozenset((me, peer)) in self.cut:
            raise RemoteError(Code.UNREACHABLE, "nobody there")
        if not other.may_call(me, protocol):
            raise RemoteError(Code.NOT_A_MEMBER, "not presented")
        return await {PRESENT: other.answer_present, ROSTER: other.answer_roster}[protocol](body, me)

    def begin(self, identity: Identity, **limits: object) -> tuple[Membership, Invite, MembersGate]:
        """Return the founder's membership, an invite, and the founder's gate."""
        founder, made = invited(founded(identity), **limits)
        return founder, made, self.node(founder, identity)

    def lead(self, identity: Identity, contents: Sequence[Content]) -> None:
        """Have the leader of a node decide something, as their daemon does."""
        gate = self.nodes[identity.peer_id]
        known = self.memberships[identity.peer_id].knowing(gate.roster)
        self.memberships[identity.peer_id], new = known.writing(contents, self.now_s)
        gate.publish(record.data for record in new)

    def confirm(self, identity: Identity, guests: Iterable[Person]) -> None:
        """Have the leader of a node confirm guests."""
        self.lead(identity, [Confirm(guest.key, guest.name, guest.invite) for guest in guests])

    async def join(self, made: Invite, name: str, identity: Identity, by: Identity, **options: object) -> MembersGate:
        """Return the gate of a newcomer whom the leader's node `by` let in and confirmed."""
        gate = self.node(joined(made, name, identity).for_node(), identity, **options)
        await gate.present(by.peer_id)
        self.confirm(by, self.nodes[by.peer_id].roster.guests.values())
        await gate.compare(by.peer_id)
        return gate

    async def quiet(self) -> None:
        """Let the gates tell each other what is new."""
        for _ in range(200):
            await asyncio.sleep(0)

    async def stop(self) -> None:
        for gate in self.nodes.values():
            await gate.stop()
