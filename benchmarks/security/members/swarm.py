"""A swarm of real gates in one process, whose calls arrive in random order, twice or not at all.

The attackers have the source: their gates accept what honest ones refuse, and they sign what they like with the keys
that are theirs.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.membership.gate import ROSTER, MembersGate
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite
from potluck.membership.leadership import (
    promote,
    remove,
    tend,
)
from potluck.membership.membership import Membership
from potluck.membership.presentation import MAX_NEWS, Exchange, encode
from potluck.membership.records import (
    Application,
    Confirm,
    Content,
    Entry,
    Machines,
    Open,
    Rank,
    Record,
    Seats,
    consent_to_listing,
    raw_content,
    read_record,
    sign,
)
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from tests.helpers.members import World, founded, invited, joined

_LOSS = 0.15  # share of calls, and of answers, that get lost; as many calls arrive twice
_MAX_TURNS = 6  # turns of the event loop that a call takes
_ROUNDS = 30
_WAITS = {"_ALONE_S": 0.0, "_RETRY_S": 0.0, "_PATIENCE_S": 0.02}  # nobody waits in real time


@dataclass
class Findings:
    """Counts of members that were lost, came back or saw different lists, and texts of broken rules."""

    lost: int = 0
    returned: int = 0
    differing: int = 0
    nodes: int = 0
    broken: list[str] = field(default_factory=list)
    noted: dict[str, Any] = field(default_factory=dict)

    def add(self, other: Findings, seed: int) -> None:
        self.lost += other.lost
        self.returned += other.returned
        self.differing += other.differing
        self.nodes += other.nodes
        self.broken += [f"seed {seed}: {text}" for text in other.broken]
        if other.lost + other.returned + other.differing:
            self.noted.setdefault("seeds", []).append(seed)
        self.noted |= other.noted

    def told(self) -> dict[str, Any]:
        counts = {"lost": self.lost, "returned": self.returned, "differing": self.differing, "nodes": self.nodes}
        return {**counts, **({"broken": self.broken} if self.broken else {}), **self.noted}


@dataclass
class TriedSwarm(World):
    """A swarm whose network loses, doubles and reorders, and what must be true of its members in the end.

    Attributes:
        members: names of people who must be members, and of those who must not be.
        machines: computers that leaders removed.
        people: the computers of people, by name; those of attackers are not asked what they think.
    """

    rng: random.Random = field(default_factory=random.Random)
    loss: float = _LOSS
    is_full: bool = False
    members: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    machines: set[bytes] = field(default_factory=set)
    people: dict[str, Identity] = field(default_factory=dict)
    attackers: set[str] = field(default_factory=set)
    found: Findings = field(default_factory=Findings)
    made: Invite | None = None

    async def carry(self, me: PeerId, peer: PeerId, protocol: str, body: bytes) -> bytes:
        for _ in range(self.rng.randrange(_MAX_TURNS)):
            await asyncio.sleep(0)
        if self.rng.random() < self.loss:
            raise _lost()
        answer = await super().carry(me, peer, protocol, body)
        if self.rng.random() < self.loss:
            answer = await super().carry(me, peer, protocol, body)
        if self.rng.random() < self.loss:
            raise _lost()
        return answer

    # -- people --------------------------------------------------------------------------------------------------------

    def found_swarm(self) -> None:
        self.people["Ana"] = Identity.generate()
        founder, self.made = invited(founded(self.people["Ana"]), people=60)
        self.node(founder, self.people["Ana"])
        self.members.add("Ana")

    def gate(self, name: str) -> MembersGate:
        return self.nodes[self.people[name].peer_id]

    def own(self, name: str) -> Membership:
        return self.memberships[self.people[name].peer_id]

    def person(self, name: str) -> bytes:
        return self.own(name).person_public

    async def newcomer(self, name: str, at: str, invite: Invite | None = None, **options: object) -> MembersGate:
        """Let somebody join at a member's node, as a guest."""
        identity = self.people[name] = Identity.generate()
        made = invite or self.made
        assert made is not None
        membership = joined(made, name, identity)
        gate = self.node(membership.for_node(), identity, **options)
        self.memberships[identity.peer_id] = membership
        await self.insist(gate.present, self.people[at].peer_id)
        return gate

    async def admit(self, *names: str, at: str = "Ana", by: str = "Ana") -> None:
        """Let people join, and have a leader's daemon confirm them."""
        for name in names:
            await self.newcomer(name, at)
            self.now_s += 60
            await self.settle(6)
            self.tend(by)
        self.members |= set(names)
        await self.settle(6)

    async def insist(self, do: Callable[[PeerId], Awaitable[None]], peer: PeerId) -> None:
        for _ in range(400):
            try:
                await do(peer)
            except RemoteError:
                await asyncio.sleep(0)
            else:
                return
        self.found.broken.append("somebody who should be let in was not")

    async def consult(self, one: str, other: str) -> None:
        """Have somebody's node compare with another one, presenting itself first as hosts do."""

        async def compare(peer: PeerId) -> None:
            self.gate(one).forget(peer)
            await self.gate(one).present(peer)
            await self.gate(one).compare(peer)

        await self.insist(compare, self.people[other].peer_id)

    # -- leaders -------------------------------------------------------------------------------------------------------

    def decide(self, name: str, *contents: Content) -> list[Record]:
        gate, identity = self.gate(name), self.people[name]
        known = self.own(name).knowing(gate.roster)
        self.memberships[identity.peer_id], new = known.writing(contents, self.now_s)
        gate.publish(record.data for record in new)
        return new

    def tend(self, *names: str) -> None:
        for name in names:
            identity, gate = self.people[name], self.gate(name)
            known = self.own(name).knowing(gate.roster)
            self.memberships[identity.peer_id], new = tend(known, identity, "desktop", self.now_s)
            gate.publish(new)

    async def promote(self, name: str) -> None:
        known = self.gate("Ana").roster
        self.decide("Ana", *promote(self.own("Ana"), known, known.people[self.person(name)], Rank.ADMIN))
        await self.settle(8)

    def expel(self, by: str, name: str) -> None:
        known = self.gate(by).roster
        self.decide(by, *remove(self.own(by).knowing(known), known, known.people[self.person(name)]))
        self.members.discard(name)
        self.removed.add(name)

    def restart(self, name: str, *, forgets: int = 0, **options: object) -> None:
        """Start a person's node anew from what its daemon kept, perhaps without the newest records."""
        identity = self.people[name]
        known = self.own(name).knowing(self.gate(name).roster)
        records = known.records[: len(known.records) - forgets]
        self.memberships[identity.peer_id] = replace(known, records=records)
        self.node(replace(known.for_node(), records=records), identity, **options)
        self.memberships[identity.peer_id] = replace(known, records=records)

    # -- the end -------------------------------------------------------------------------------------------------------

    def honest(self) -> list[MembersGate]:
        """Return the nodes that hear all news, as those of people who lost their place don't."""
        return [self.gate(name) for name in self.names()]

    def names(self) -> list[str]:
        first = next(name for name in self.people if name not in self.attackers and self.is_here(name))
        known = {b"", *self.gate(first).roster.people}
        out = self.attackers | {name for name in self.people if self._key_of(name) not in known}
        out |= {name for name, identity in self.people.items() if identity.public_key in self.machines}
        return [name for name in self.people if name not in out and self.is_here(name)]

    def _key_of(self, name: str) -> bytes:
        membership = self.memberships.get(self.people[name].peer_id)
        return b"" if membership is None else membership.person_public

    def is_here(self, name: str) -> bool:
        return self.people[name].peer_id in self.nodes

    def cut_between(self, some: Iterable[str], others: Iterable[str]) -> None:
        pairs = itertools.product(some, others)
        self.cut |= {frozenset((self.people[one].peer_id, self.people[other].peer_id)) for one, other in pairs}

    async def settle(self, rounds: int = _ROUNDS) -> None:
        """Have nodes meet and compare in random pairs; in the end, without losses, each with each other."""
        names = [name for name in self.people if self.is_here(name)]
        for _ in range(rounds):
            one, other = self.rng.sample(names, 2) if len(names) > 1 else (names[0], names[0])
            if one != other:
                await self._meet(one, other)
        await self.quiet()

    async def _meet(self, one: str, other: str) -> None:
        gate, peer = self.gate(one), self.people[other].peer_id
        with contextlib.suppress(RemoteError, TimeoutError):
            async with asyncio.timeout(1.0):
                await (gate.compare(peer) if peer in gate._presented else gate.present(peer))

    async def finish(self) -> Findings:
        """Count, after all honest nodes have compared without losses."""
        self.loss, self.cut = 0.0, set()
        for _ in range(6):
            for one, other in itertools.permutations(self.names(), 2):
                await self._meet(one, other)
            await self.quiet()
            views = {view_of(gate) for gate in self.honest()}
            if len(views) == 1:
                break
        gates = self.honest()
        first = view_of(gates[0])
        for gate in gates:
            present = [each.name for each in gate.roster.people.values()]
            self.found.lost += len(self.members - set(present))
            self.found.returned += len(self.removed & set(present))
            self.found.returned += sum(gate.roster.owner_of_key(key) is not None for key in self.machines)
            self.found.differing += view_of(gate) != first
        self.found.nodes += len(gates)
        return self.found


def view_of(gate: MembersGate) -> frozenset[object]:
    """Return what a node says of the members: names, ranks, machines, the model, open invites."""
    roster = gate.roster
    people = [(key, each.name, each.rank, each.machines) for key, each in roster.people.items()]
    return frozenset([*people, *roster.invites, roster.choice])


def _lost() -> RemoteError:
    return RemoteError(Code.UNREACHABLE, "lost")


Scenario = Callable[[TriedSwarm], Awaitable[None]]


async def in_swarm(scenario: Scenario, seed: int, *, is_full: bool) -> Findings:
    """Run a scenario in a swarm of Ana, who founded it, and of the members Bob, Cleo and Dora."""
    random.seed(seed)
    swarm = TriedSwarm(rng=random.Random(seed), is_full=is_full)
    swarm.found_swarm()
    try:
        with contextlib.ExitStack() as stack:
            for name, value_s in _WAITS.items():
                stack.enter_context(mock.patch(f"potluck.membership.gate.{name}", value_s))
            await swarm.admit("Bob", "Cleo", "Dora")
            await scenario(swarm)
            return await swarm.finish()
    finally:
        await swarm.stop()


def seed_key(made: Invite | None) -> Ed25519PrivateKey:
    assert made is not None
    assert made.seed is not None
    return Ed25519PrivateKey.from_private_bytes(made.seed)


def invented_records(swarm: TriedSwarm, count: int, made: Invite | None = None) -> list[Record]:
    """Return applications of people who don't exist, and the lists of their machines."""
    holder, key = seed_key(made or swarm.made), swarm.gate("Ana").roster.swarm_key
    records = []
    for number in range(count):
        person, machine = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
        public = person.public_key().public_bytes_raw()
        invite = holder.public_key().public_bytes_raw()
        records.append(sign(key, Application(public, f"Ghost {number}", invite), person, holder))
        records.append(sign(key, Machines(public, 1, (consent_to_listing(key, public, machine, "x"),)), person))
    return records


def forged_chain(swarm: TriedSwarm, name: str, *contents: Content, blind: bool = True) -> list[Record]:
    """Return a chain that a leader opened and told nobody of; `blind`: it names no heads."""
    roster, author = swarm.gate("Ana").roster, swarm.own(name).person_key
    assert author is not None
    (appointment,) = roster.chains.appointments_of(swarm.person(name))
    heads = {} if blind else roster.chains.heads_beside(b"", {})
    records = [sign(roster.swarm_key, Entry(b"", 0, appointment, heads, raw_content(Open(os.urandom(16)))), author)]
    for number, content in enumerate(contents, 1):
        entry = Entry(records[0].hash, number, records[-1].hash, {}, raw_content(content))
        records.append(sign(roster.swarm_key, entry, author))
    return records


def confirmed_ghosts(swarm: TriedSwarm, count: int) -> list[Confirm]:
    invite = offer_of(swarm.made).invite
    return [Confirm(os.urandom(32), f"Ghost {number}", invite) for number in range(count)]


async def send_records(swarm: TriedSwarm, by: str, records: Sequence[Record]) -> int:
    """Bring records to all honest nodes, insisting; return how often they were refused."""
    refused = 0
    for start in range(0, len(records), MAX_NEWS):
        body = encode(Exchange(tuple(record.data for record in records[start : start + MAX_NEWS])))
        for name in [each for each in swarm.people if each not in swarm.attackers and swarm.is_here(each)]:
            for _ in range(4):
                try:
                    await swarm.carry(swarm.people[by].peer_id, swarm.people[name].peer_id, ROSTER, body)
                    break
                except RemoteError:
                    refused += 1
    return refused


def offer_of(made: Invite | None) -> Seats:
    assert made is not None
    content = read_record(made.proof).content
    assert isinstance(content, Seats)
    return content


def person_of(swarm: TriedSwarm, name: str) -> Any:
    return swarm.gate("Ana").roster.people[swarm.person(name)]
