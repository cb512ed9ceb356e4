"""Whether the members hold, whatever members, leaders and the network do: `members_hold`.

Real gates call each other in one process. Calls arrive in random order, some are lost, some arrive twice, and answers
get lost as well. The attackers have the source: their gates take what honest ones refuse, and they sign what they like
with the keys that are theirs. Each scenario ends with all honest nodes comparing in pairs; then three things are
counted on each of them: confirmed people who are missing, removed people or machines who are back, and nodes that
differ from the first one. `broken` in the detail names other promises that a scenario found broken.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.figures import Measured
from potluck.membership.backup import back_up, read_backup
from potluck.membership.budgets import Budgets
from potluck.membership.gate import ROSTER, MembersGate
from potluck.membership.identity import Identity
from potluck.membership.invite import Invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import (
    DAY_S,
    ChosenModel,
    choose_model,
    decisions,
    dismiss,
    promote,
    remove,
    remove_machine,
    seats,
    tend,
)
from potluck.membership.membership import Membership
from potluck.membership.presentation import MAX_NEWS, Exchange, encode
from potluck.membership.records import (
    NOTHING,
    Application,
    Confirm,
    Content,
    EndInvite,
    Entry,
    Machines,
    Open,
    Rank,
    Record,
    Remove,
    Seats,
    consent_to_listing,
    raw_content,
    read_all,
    read_record,
    sign,
)
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.swarm import new_swarm
from tests.helpers.members import World, founded, invited, joined

_LOSS = 0.15  # of calls, and as many of answers; as many calls arrive twice
_MAX_TURNS = 6  # of the event loop that a call takes
_ROUNDS = 30
_WORTHLESS = 10_000
_LIST_MACHINES = 8
_WAITS = {"_ALONE_S": 0.0, "_RETRY_S": 0.0, "_PATIENCE_S": 0.02}  # nobody waits in real time


def hold(soak: bool) -> Measured:
    """Return how many confirmed people were lost, removed ones returned, and nodes disagree, over all scenarios."""
    detail: dict[str, Any] = {}
    total, holds = 0, True
    for scenario in _SCENARIOS:
        seeds = range((2 if soak else 1) if scenario in _LONG else (40 if soak else 6))
        print(f"{scenario.__name__.strip('_')}: seeds 0 to {seeds[-1]}", flush=True)
        began_s, found = time.monotonic(), _Found()
        for seed in seeds:
            found.add(asyncio.run(_in_swarm(scenario, seed, is_full=soak)), seed)
        total += found.lost + found.returned + found.differing
        holds = holds and not found.broken
        detail[scenario.__name__.strip("_")] = {**found.told(), "s": round(time.monotonic() - began_s, 1)}
    return Measured(total, detail, holds=holds)


@dataclass
class _Found:
    """What went wrong."""

    lost: int = 0
    returned: int = 0
    differing: int = 0
    nodes: int = 0
    broken: list[str] = field(default_factory=list)
    noted: dict[str, Any] = field(default_factory=dict)

    def add(self, other: _Found, seed: int) -> None:
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
class _Swarm(World):
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
    found: _Found = field(default_factory=_Found)
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

    async def finish(self) -> _Found:
        """Count, after all honest nodes have compared without losses."""
        self.loss, self.cut = 0.0, set()
        for _ in range(6):
            for one, other in itertools.permutations(self.names(), 2):
                await self._meet(one, other)
            await self.quiet()
            views = {_view(gate) for gate in self.honest()}
            if len(views) == 1:
                break
        gates = self.honest()
        first = _view(gates[0])
        for gate in gates:
            present = [each.name for each in gate.roster.people.values()]
            self.found.lost += len(self.members - set(present))
            self.found.returned += len(self.removed & set(present))
            self.found.returned += sum(gate.roster.owner_of_key(key) is not None for key in self.machines)
            self.found.differing += _view(gate) != first
        self.found.nodes += len(gates)
        return self.found


def _view(gate: MembersGate) -> frozenset[object]:
    """Return what a node says of the members: names, ranks, machines, the model, open invites."""
    roster = gate.roster
    people = [(key, each.name, each.rank, each.machines) for key, each in roster.people.items()]
    return frozenset([*people, *roster.invites, roster.choice])


def _lost() -> RemoteError:
    return RemoteError(Code.UNREACHABLE, "lost")


Scenario = Callable[[_Swarm], Awaitable[None]]


async def _in_swarm(scenario: Scenario, seed: int, *, is_full: bool) -> _Found:
    """Run a scenario in a swarm of Ana, who founded it, and of the members Bob, Cleo and Dora."""
    random.seed(seed)
    swarm = _Swarm(rng=random.Random(seed), is_full=is_full)
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


# -- what attackers write ----------------------------------------------------------------------------------------------


def _seed_key(made: Invite | None) -> Ed25519PrivateKey:
    assert made is not None
    assert made.seed is not None
    return Ed25519PrivateKey.from_private_bytes(made.seed)


def _invented(swarm: _Swarm, count: int, made: Invite | None = None) -> list[Record]:
    """Return applications of people who don't exist, and the lists of their machines."""
    holder, key = _seed_key(made or swarm.made), swarm.gate("Ana").roster.swarm_key
    records = []
    for number in range(count):
        person, machine = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
        public = person.public_key().public_bytes_raw()
        invite = holder.public_key().public_bytes_raw()
        records.append(sign(key, Application(public, f"Ghost {number}", invite), person, holder))
        records.append(sign(key, Machines(public, 1, (consent_to_listing(key, public, machine, "x"),)), person))
    return records


def _chain(swarm: _Swarm, name: str, *contents: Content, blind: bool = True) -> list[Record]:
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


def _ghosts(swarm: _Swarm, count: int) -> list[Confirm]:
    invite = _offer(swarm.made).invite
    return [Confirm(os.urandom(32), f"Ghost {number}", invite) for number in range(count)]


async def _send(swarm: _Swarm, by: str, records: Sequence[Record]) -> int:
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


def _offer(made: Invite | None) -> Seats:
    assert made is not None
    content = read_record(made.proof).content
    assert isinstance(content, Seats)
    return content


# -- the scenarios -----------------------------------------------------------------------------------------------------


async def _a_member_invents_people(swarm: _Swarm) -> None:
    """Mallory holds the invite; before and after its end she fills its seats, and people join it meanwhile."""
    await swarm.admit("Mallory")
    swarm.attackers.add("Mallory")
    await _send(swarm, "Mallory", _invented(swarm, 80))
    swarm.gate("Mallory").roster.learn(_invented(swarm, 80), swarm.now_s)
    await swarm.settle()
    swarm.tend("Ana")
    await swarm.settle()
    taken = swarm.gate("Ana").roster.num_confirmed(_offer(swarm.made).invite)
    if taken > 60:
        swarm.found.broken.append(f"{taken} people on 60 seats")
    swarm.decide("Ana", EndInvite(_offer(swarm.made).invite))
    await swarm.settle()
    before = len(swarm.gate("Ana").roster.people)
    late = _invented(swarm, 40)
    swarm.gate("Mallory").roster.learn(late, swarm.now_s)
    await _send(swarm, "Mallory", late)
    await swarm.settle()
    swarm.tend("Ana")
    if len(swarm.gate("Ana").roster.people) != before:
        swarm.found.broken.append("an ended invite let somebody in")


async def _two_members_together(swarm: _Swarm) -> None:
    """Mallory and Trudy list each other's and others' machines, and bring back what was removed."""
    await swarm.admit("Mallory", "Trudy", "Eve")
    swarm.attackers |= {"Mallory", "Trudy"}
    key, shared = swarm.gate("Ana").roster.swarm_key, Identity.generate()
    old = list(swarm.gate("Bob").roster)
    swarm.decide("Ana", *remove_machine(swarm.own("Ana"), _person(swarm, "Eve"), swarm.people["Eve"].public_key))
    swarm.machines.add(swarm.people["Eve"].public_key)
    lists = []
    for number, name in itertools.product((5, 6), ("Mallory", "Trudy")):
        person, public = swarm.own(name).person_key, swarm.person(name)
        assert person is not None
        own = consent_to_listing(key, public, shared.private_key, f"shared {number}")
        stolen = [_with_key(own, swarm.people[each].public_key) for each in ("Bob", "Cleo")]
        lists += [sign(key, Machines(public, number, (own,)), person)]
        lists += [sign(key, Machines(public, number + 50, (own, each)), person) for each in stolen]
    for order in (lists, lists[::-1]):
        for name in ("Mallory", "Trudy"):
            await _send(swarm, name, order)
        await swarm.settle()
    swarm.expel("Ana", "Mallory")
    await _send(swarm, "Trudy", [*old, *read_all([swarm.own("Mallory").application]), *lists])
    await swarm.settle()
    for name in ("Bob", "Cleo"):
        owner = swarm.gate("Ana").roster.owner_of_key(swarm.people[name].public_key)
        if owner is None or owner.name != name:
            swarm.found.broken.append("a machine was stolen")


def _with_key(machine: Any, key: bytes) -> Any:
    return type(machine)(key, machine.name, machine.consent)


async def _an_admin_turns_bad(swarm: _Swarm) -> None:
    """Bob leads honestly, then invents, removes and ends invites; dismissed, he and an offline accomplice go on."""
    await swarm.promote("Bob")
    await swarm.newcomer("Eve", "Cleo")
    swarm.now_s += 60
    await swarm.settle()
    await swarm.consult("Bob", "Cleo")
    swarm.tend("Bob")  # an honest confirmation
    swarm.members.add("Eve")
    await swarm.settle()
    await swarm.consult("Ana", "Bob")
    await swarm.admit("Trudy")
    known = swarm.gate("Ana").roster
    kept = len(decisions(known, known.people[swarm.person("Bob")]))
    swarm.attackers |= {"Bob", "Trudy"}
    removals = [Remove(swarm.person(name)) for name in ("Cleo", "Dora", "Ana")]
    bad: list[Content] = [*_ghosts(swarm, 20), *removals]
    swarm.decide("Bob", *bad, EndInvite(_offer(swarm.made).invite), seats(swarm.now_s, people=90)[0])
    held_back = [_chain(swarm, "Bob", *_ghosts(swarm, 5), *removals, blind=blind) for blind in (True, False)]
    for chain in held_back:
        swarm.gate("Trudy").publish(record.data for record in chain)
    await swarm.settle()
    await swarm.consult("Ana", "Bob")
    known = swarm.gate("Ana").roster
    trudy = swarm.nodes.pop(swarm.people["Trudy"].peer_id)
    swarm.decide("Ana", *dismiss(known, known.people[swarm.person("Bob")], keep=kept))
    await swarm.settle()
    swarm.nodes[swarm.people["Trudy"].peer_id] = trudy  # she comes back with what he held back
    for chain in held_back:
        await _send(swarm, "Trudy", chain)
        await _send(swarm, "Bob", [*chain, *reversed(chain)])
    await swarm.settle()
    await swarm.consult("Cleo", "Ana")  # whom Bob removed, so that nobody told her more
    ghosts = [each for each in swarm.gate("Cleo").roster.people.values() if each.name.startswith("Ghost")]
    if ghosts:
        swarm.found.broken.append(f"{len(ghosts)} invented people stay")


async def _two_leaders_at_once(swarm: _Swarm) -> None:
    """Ana and Bob decide while they can't reach each other: confirmations, removals, models, an invite's end."""
    await swarm.promote("Bob")
    await swarm.admit("Eve", "Finn")
    swarm.cut_between(("Ana", "Cleo"), ("Bob", "Dora", "Eve", "Finn"))
    await swarm.newcomer("Gus", "Cleo")
    await swarm.newcomer("Hal", "Dora")
    swarm.now_s += 60
    await swarm.settle()
    await swarm.consult("Ana", "Cleo")
    await swarm.consult("Bob", "Dora")
    swarm.decide("Ana", choose_model(swarm.own("Ana"), ChosenModel("hers", 4, "main")))
    swarm.decide("Bob", choose_model(swarm.own("Bob"), ChosenModel("his", 4, "main")))
    swarm.decide("Ana", EndInvite(_offer(swarm.made).invite))
    swarm.expel("Bob", "Finn")
    swarm.expel("Ana", "Eve")
    for name, by in (("Hal", "Bob"), ("Finn", "Ana")):
        swarm.decide(by, Confirm(swarm.person(name), name, _offer(swarm.made).invite))
    swarm.decide("Bob", Remove(swarm.person("Ana")))  # which only the founder may
    swarm.members.add("Hal")  # whose confirmation had not seen the invite's end
    await swarm.settle()
    swarm.cut.clear()
    await swarm.settle()
    await swarm.consult("Cleo", "Ana")
    if (choice := swarm.gate("Ana").roster.choice) is None or choice.model != "hers":
        swarm.found.broken.append("the founder's model does not count")


async def _two_computers_of_one_leader(swarm: _Swarm) -> None:
    """Ana's and Bob's second computers write at the same time as the first ones, and both end an admin at once."""
    await swarm.promote("Bob")
    for name in ("Ana", "Bob"):
        other = f"{name}'s laptop"
        swarm.people[other] = Identity.generate()
        known = replace(swarm.own(name).knowing(swarm.gate(name).roster), chains=())
        known = known.certified(swarm.people[other], "laptop")
        swarm.node(known.for_node(), swarm.people[other])
        swarm.memberships[swarm.people[other].peer_id] = known
        await swarm.insist(swarm.gate(other).present, swarm.people["Cleo"].peer_id)
    for number, name in enumerate(("Ana", "Ana's laptop", "Bob", "Bob's laptop") * 2):
        swarm.decide(name, _named(_ghosts(swarm, 1)[0], f"Person {number}"))
        swarm.members.add(f"Person {number}")
        await swarm.settle(2)
    swarm.expel("Ana", "Dora")
    await swarm.settle()
    for name in ("Ana", "Ana's laptop"):
        await swarm.consult(name, "Cleo")
    for name in ("Bob", "Bob's laptop"):
        await swarm.consult(name, "Cleo")
    await swarm.settle(60)
    await swarm.consult("Ana", "Bob")
    await swarm.consult("Ana", "Bob's laptop")
    swarm.tend("Ana", "Ana's laptop")
    for name in ("Ana", "Ana's laptop"):
        with contextlib.suppress(RemoteError):
            await swarm.gate("Ana's laptop").compare(swarm.people["Ana"].peer_id)
        swarm.decide(name, *dismiss(swarm.gate(name).roster, _person(swarm, "Bob")))


def _named(confirmation: Confirm, name: str) -> Confirm:
    return Confirm(confirmation.person, name, confirmation.invite)


async def _a_leader_restored_from_a_backup(swarm: _Swarm) -> None:
    """Ana and Bob lose their computers, restore an old backup and decide before they have compared with anybody."""
    await swarm.promote("Bob")
    leaders = [swarm.own(name).knowing(swarm.gate(name).roster) for name in ("Ana", "Bob")]
    sealed = back_up(leaders, "correct horse battery")
    await swarm.admit("Eve", "Finn", by="Ana")
    await swarm.consult("Bob", "Ana")
    swarm.expel("Bob", "Finn")
    await swarm.settle()
    for name, restored in zip(("Ana", "Bob"), read_backup(sealed, "correct horse battery"), strict=True):
        identity = swarm.people[name] = Identity.generate()
        known = restored.certified(identity, "new computer")
        swarm.node(known.for_node(), identity)
        swarm.memberships[identity.peer_id] = known
        swarm.decide(name, _named(_ghosts(swarm, 1)[0], f"Guest of {name}"))
        swarm.members.add(f"Guest of {name}")
    await swarm.settle(60)
    swarm.tend("Ana", "Bob")


async def _a_chain_with_a_fork(swarm: _Swarm) -> None:
    """Ana's disk is set back and she goes on; Bob writes two branches on purpose. Ana's computer settles both."""
    await swarm.promote("Bob")
    await swarm.admit("Eve")
    earlier = swarm.own("Ana")
    before = set(swarm.members)
    swarm.cut_between(("Ana",), ("Cleo", "Dora", "Eve", "Bob"))
    swarm.cut_between(("Bob",), ("Eve",))
    swarm.decide("Ana", _named(_ghosts(swarm, 1)[0], "On a branch"))
    swarm.cut.clear()
    swarm.cut_between(("Eve", "Dora"), ("Cleo", "Bob", "Ana"))
    for _ in range(3):
        await swarm.consult("Cleo", "Ana")
    identity = swarm.people["Ana"]
    swarm.node(earlier.for_node(), identity)
    swarm.memberships[identity.peer_id] = earlier
    swarm.decide("Ana", _named(_ghosts(swarm, 1)[0], "On another"))
    author, admin = swarm.own("Bob").person_key, swarm.gate("Bob").roster
    assert author is not None
    (appointment,) = admin.chains.appointments_of(swarm.person("Bob"))
    start = Entry(b"", 0, appointment, {}, raw_content(Open(os.urandom(16))))
    opening = sign(admin.swarm_key, start, author)
    branches = [
        sign(admin.swarm_key, Entry(opening.hash, 1, opening.hash, {}, raw_content(content)), author)
        for content in _ghosts(swarm, 2)
    ]
    swarm.gate("Dora").publish([opening.data, branches[0].data])
    swarm.gate("Cleo").publish([opening.data, branches[1].data])
    swarm.cut.clear()
    await swarm.settle(60)
    for name in ("Cleo", "Dora", "Bob", "Eve"):
        await swarm.consult("Ana", name)
    swarm.tend("Ana")
    known = swarm.gate("Ana").roster
    swarm.decide("Ana", *dismiss(known, known.people[swarm.person("Bob")]))
    await swarm.settle()
    swarm.members = before
    if known.chains.forked(NOTHING):
        swarm.found.broken.append("the founder's fork was not settled")


async def _the_worst_order(swarm: _Swarm) -> None:
    """A node hears everything backwards, twice and one by one; another late; a third forgets again and again."""
    await swarm.promote("Bob")
    await swarm.admit("Eve", "Finn", "Gus")
    swarm.expel("Ana", "Finn")
    await swarm.consult("Bob", "Ana")
    swarm.decide("Bob", *(_named(each, f"Person {at}") for at, each in enumerate(_ghosts(swarm, 20))))
    swarm.members |= {f"Person {number}" for number in range(20)}
    await swarm.consult("Ana", "Bob")
    everything = list(swarm.gate("Ana").roster)
    for name, records in (("Late", everything[::-1]), ("Twice", [*everything, *everything])):
        swarm.people[name] = Identity.generate()
        swarm.node(replace(swarm.own("Cleo").for_node(), records=()), swarm.people[name])
        for record in (*records, *swarm.rng.sample(records, len(records))):
            swarm.gate(name).publish([record.data])
    for forgets in (1, 5, 15, len(everything)):
        swarm.restart("Dora", forgets=forgets)
        await swarm.settle(5)
    laptop = swarm.own("Cleo").knowing(swarm.gate("Ana").roster)
    for name in ("Late", "Twice"):
        laptop = laptop.certified(swarm.people[name], name)
        swarm.gate(name).publish([laptop.machines])
    swarm.gate("Ana").publish([laptop.machines])
    await swarm.settle()


async def _partitions_that_meet(swarm: _Swarm) -> None:
    """Two halves admit guests of one invite of five seats, and each has a leader who confirms them."""
    await swarm.promote("Bob")
    offer, seed = seats(swarm.now_s, people=5)
    (entry,) = swarm.decide("Ana", offer)
    assert swarm.made is not None
    few = replace(swarm.made, seed=seed, proof=entry.data)
    await swarm.settle()
    halves = (("Ana", "Cleo"), ("Bob", "Dora"))
    for one, other in itertools.pairwise(halves):
        for gate, peer in ((one[1], one[0]), (other[1], "Ana"), (other[0], "Ana")):
            await swarm.consult(gate, peer)
    swarm.cut_between(*halves)
    for number, (leader, member) in itertools.product(range(4), halves):
        name = f"{leader}'s {number}"
        await swarm.newcomer(name, member, few)
        others = [each for half in halves if leader not in half for each in half]
        guests = [each for each in swarm.people if each.endswith(f"'s {number}") or "'s " in each]
        swarm.cut_between([name], [*others, *(each for each in guests if not each.startswith(leader))])
        await swarm.consult(leader, member)  # who hears of them one by one, as of no crowd
        swarm.now_s += 30
    await swarm.settle(60)
    for leader, member in halves:
        await swarm.consult(leader, member)
        swarm.tend(leader)
        confirmed = [each.name for each in swarm.gate(leader).roster.people.values() if each.name.startswith(leader)]
        swarm.members |= set(confirmed)
        if len(confirmed) < 4:
            swarm.found.broken.append("a half did not confirm its guests")
    swarm.cut.clear()
    await swarm.settle(60)


async def _clocks_two_hours_off(swarm: _Swarm) -> None:
    """Nodes whose clocks are two hours ahead and behind admit people about the expiry of an invite."""
    offer, seed = seats(swarm.now_s, people=20, days=1)
    (entry,) = swarm.decide("Ana", offer)
    assert swarm.made is not None
    short = replace(swarm.made, seed=seed, proof=entry.data)
    await swarm.settle()
    for name, off_s in (("Cleo", 7200.0), ("Dora", -7200.0)):
        swarm.restart(name, clock=lambda off_s=off_s: swarm.now_s + off_s)
    await swarm.settle()
    swarm.now_s += DAY_S - 3600
    for number, at in enumerate(("Bob", "Dora", "Dora")):
        await swarm.newcomer(f"Person {number}", at, short)
        swarm.now_s += 60
    await swarm.settle()
    for name in ("Bob", "Dora", "Cleo"):
        await swarm.consult("Ana", name)
    swarm.tend("Ana")
    for number in range(3):
        laptop = Identity.generate()
        swarm.memberships[swarm.people["Bob"].peer_id] = swarm.own("Bob").certified(laptop, f"laptop {number}")
        swarm.gate("Bob").publish([swarm.own("Bob").machines])
    swarm.members |= {"Person 0", "Person 1", "Person 2"}
    swarm.now_s += 7200
    await swarm.newcomer("Too late", "Dora", short)
    await swarm.settle()
    swarm.expel("Ana", "Person 2")
    await swarm.settle()
    swarm.tend("Ana")
    if "Too late" in [each.name for each in swarm.gate("Ana").roster.people.values()]:
        swarm.found.broken.append("somebody who came after the expiry was confirmed without a click")


async def _ten_thousand_worthless(swarm: _Swarm) -> None:
    """A member and a newcomer send 10,000 entries, applications and lists that are worth nothing; nothing changes."""
    await swarm.admit("Mallory")
    await swarm.newcomer("Trudy", "Cleo")
    swarm.attackers |= {"Mallory", "Trudy"}
    await swarm.settle(40)
    for name in ("Ana", "Bob", "Cleo", "Dora"):
        swarm.gate(name)._exchange._charge = _charging(swarm, Budgets(swarm.gate(name).payer_of))
    for one, other in itertools.permutations(("Ana", "Bob", "Cleo", "Dora"), 2):
        await swarm.consult(one, other)
    await swarm.settle(40)
    before = [(_view(gate), gate.roster.digest, len(list(gate.roster))) for gate in swarm.honest()]
    slowest_ms, refused = 0.0, 0
    swarm.loss = 0.0
    for name in ("Mallory", "Trudy"):
        for batch in _worthless(swarm, name, _WORTHLESS):
            sending = asyncio.ensure_future(_send(swarm, name, batch))
            while not sending.done():
                began_s = time.perf_counter()
                await swarm.consult("Bob", "Ana")
                slowest_ms = max(slowest_ms, (time.perf_counter() - began_s) * 1000)
            refused += sending.result()
            swarm.now_s += 1
    after = [(_view(gate), gate.roster.digest, len(list(gate.roster))) for gate in swarm.honest()]
    if before != after:
        swarm.found.broken.append("worthless records changed something")
    swarm.found.noted |= {"of_each": _WORTHLESS, "refused": refused, "honest_call_ms": round(slowest_ms, 1)}


def _charging(swarm: _Swarm, budgets: Budgets) -> Callable[[PeerId, int], bool]:
    return lambda peer, units: budgets.charge(peer, units, swarm.now_s)


def _worthless(swarm: _Swarm, name: str, count: int) -> Iterator[list[Record]]:
    """Yield batches of records, all of them signed, none of them allowed."""
    roster, key = swarm.gate("Ana").roster, swarm.gate("Ana").roster.swarm_key
    person, public, stranger = swarm.own(name).person_key, swarm.person(name), Ed25519PrivateKey.generate()
    assert person is not None
    (chain,) = list(roster.chains.of(NOTHING))[:1]
    number, before, _ = roster.chains.next_place(chain) or (0, NOTHING, {})
    victim = swarm.person("Bob")
    machine = consent_to_listing(key, public, stranger, "x")
    ghost = _ghosts(swarm, 1)[0]

    def entries(at: int) -> Record:
        body = (
            Entry(chain, number + at % 3, before, {}, raw_content(ghost)),  # in the founder's chain
            Entry(b"", 0, NOTHING, {}, raw_content(Open(at.to_bytes(16, "big")))),  # a chain like the founder's
            Entry(b"", 0, os.urandom(32), {}, raw_content(Open(at.to_bytes(16, "big")))),
            Entry(chain, 1, os.urandom(32), {}, raw_content(ghost)),  # a fork of the founder's chain
        )[at % 4]
        return sign(key, body, person)

    def applications(at: int) -> Record:
        invite = (_seed_key(swarm.made), stranger)[at % 2]
        body = Application(public, "X", invite.public_key().public_bytes_raw())
        return sign(key, body, person, invite)  # a member's own, or with an invite that nobody made

    def lists(at: int) -> Record:
        if at % 2:
            return sign(key, Machines(victim, at + 2, (machine,) * 8), person)  # of somebody else
        return sign(key, Machines(public, 0, (machine,) * 8), stranger)

    for make in (entries, applications, lists):
        for start in range(0, count, MAX_NEWS):
            yield [make(at) for at in range(start, min(start + MAX_NEWS, count))]


async def _many_people(swarm: _Swarm) -> None:
    """2,000 people of 8 machines (100 unless soak): a newcomer learns all, one removal costs what is new."""
    count = 2000 if swarm.is_full else 100
    key, invite = swarm.gate("Ana").roster.swarm_key, _offer(swarm.made).invite
    people = [Ed25519PrivateKey.generate() for _ in range(count)]
    publics = [person.public_key().public_bytes_raw() for person in people]
    swarm.decide("Ana", *(Confirm(public, f"Person {at}", invite) for at, public in enumerate(publics)))
    lists = []
    for person, public in zip(people, publics, strict=True):
        machines = [Ed25519PrivateKey.generate() for _ in range(_LIST_MACHINES)]
        agreed = tuple(consent_to_listing(key, public, machine, "machine") for machine in machines)
        lists.append(sign(key, Machines(public, 1, agreed), person).data)
    for start in range(0, count, 500):
        swarm.gate("Ana").publish(lists[start : start + 500])
    swarm.members |= {f"Person {number}" for number in range(count)}
    swarm.loss, whole_s = 0.0, 0.0
    for name in ("Bob", "Cleo", "Dora"):
        began_s = time.perf_counter()
        await swarm.gate(name).compare(swarm.people["Ana"].peer_id)
        whole_s = max(whole_s, time.perf_counter() - began_s)
    await swarm.quiet()
    swarm.cut_between(["Cleo"], ["Ana", "Bob", "Dora"])
    swarm.decide("Ana", Remove(publics[0]))
    await swarm.quiet()
    swarm.cut.clear()
    swarm.members.discard("Person 0")
    swarm.removed.add("Person 0")
    sent: list[int] = []
    carry = swarm.carry

    async def weigh(me: PeerId, peer: PeerId, protocol: str, body: bytes) -> bytes:
        answer = await carry(me, peer, protocol, body)
        sent.append(len(body) + len(answer))
        return answer

    swarm.carry = weigh  # type: ignore[method-assign]
    began_s = time.perf_counter()
    await swarm.gate("Cleo").compare(swarm.people["Ana"].peer_id)
    swarm.found.noted |= {
        "people": count,
        "whole_s": round(whole_s, 2),
        "one_new_s": round(time.perf_counter() - began_s, 2),
        "one_new_kb": sum(sent) // 1000,
    }
    swarm.carry = carry  # type: ignore[method-assign]


async def _a_founder_who_never_comes_back(swarm: _Swarm) -> None:
    """Ana is away for sixty days: members stay, guests stay guests and come in again, somebody else joins."""
    del swarm.nodes[swarm.people["Ana"].peer_id]
    await swarm.newcomer("Eve", "Bob")
    for day in range(60):
        swarm.now_s += DAY_S
        if day == 10:
            await swarm.newcomer("Finn", "Cleo")
        if day % 15 == 14:
            for name in ("Bob", "Cleo", "Dora"):
                swarm.restart(name)
        for name in ("Eve", "Finn") if day > 10 else ("Eve",):
            gate, peer = swarm.gate(name), swarm.people["Bob"].peer_id
            gate.forget(peer)
            await swarm.insist(gate.present, peer)
            if swarm.gate("Bob").member(swarm.people[name].peer_id) is None:
                swarm.found.broken.append(f"day {day}: {name} is out")
        await swarm.settle(4)
    if any(not each.is_guest for each in swarm.gate("Bob").roster.guests.values()):
        swarm.found.broken.append("a guest became a member")


async def _restarts_in_the_middle_of_writes(swarm: _Swarm) -> None:
    """The founder's computer stops at each step of writing a decision, and decides anew after each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "swarms.json"
        made = JoinedSwarms(path, Path(folder) / "key")
        machine = made.machine()
        made.create(new_swarm("home", "model", 12), name="Ana")
        name = itertools.count()

        def naming(_: Membership) -> list[Content]:
            return [Confirm(os.urandom(32), f"Person {next(name)}", _offer(swarm.made).invite)]

        swarm.people = {"Ana": machine}
        swarm.nodes.clear()
        swarm.members = {"Ana"}
        swarm.node(made.load()["home"].for_node(), machine)
        for number in range(3):
            swarm.people[f"Node {number}"] = machine_key = Identity.generate()
            swarm.node(made.load()["home"].for_node(), machine_key)
        steps = ("fsync", "replace", "write")
        for step in range(10):
            left = [step]

            def stopping(work: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
                def stop(*args: Any, **options: Any) -> Any:
                    left[0] -= 1
                    if left[0] < 0:
                        raise KeyboardInterrupt
                    return work(*args, **options)

                return stop

            new: list[Record] = []
            with contextlib.ExitStack() as stack:
                for each in steps:
                    stack.enter_context(mock.patch.object(os, each, stopping(getattr(os, each), left)))
                with contextlib.suppress(KeyboardInterrupt):
                    _, new = made.lead("home", naming)
            for decided in (new, JoinedSwarms(path, Path(folder) / "key").lead("home", naming)[1]):
                swarm.gate(f"Node {step % 3}").publish(record.data for record in decided)
                swarm.members |= {each.content.name for each in decided if isinstance(each.content, Confirm)}
        members = made.load()["home"].members()
        swarm.gate("Ana").publish(record.data for record in members)
        for one, other in itertools.permutations(swarm.people, 2):
            gate = swarm.gate(one)
            gate._presented.add(swarm.people[other].peer_id)
            gate._admitted.add(swarm.people[other].peer_id)
            gate._remember_owner(swarm.people[other].peer_id, next(iter(members.people)))
        if members.chains.forked(NOTHING) or len(members.chains.of(NOTHING)) > 1:
            swarm.found.broken.append("a restart broke the founder's chain")


async def _a_storm(swarm: _Swarm) -> None:
    """Hundreds of random things happen: people join and are removed, leaders decide, links fail, nodes restart."""
    await swarm.promote("Bob")
    names = (f"Person {number}" for number in itertools.count())

    def at_random(*others: str) -> str:
        here = [each for each in swarm.people if each not in swarm.removed | set(others)]
        return swarm.rng.choice([each for each in here if swarm.gate(each)._is_member()] or ["Ana"])

    for _ in range(600 if swarm.is_full else 150):
        match swarm.rng.randrange(7):
            case 0 if len(swarm.people) < 25:
                name, at = next(names), at_random()
                swarm.found.broken, before = [], swarm.found.broken
                await swarm.newcomer(name, at)
                swarm.found.broken = before  # a storm may keep somebody out
            case 1:
                leader = swarm.rng.choice(("Ana", "Bob"))
                swarm.tend(leader)
                known = swarm.gate(leader).roster.people.values()
                swarm.members |= {each.name for each in known} - swarm.removed
            case 2 if swarm.rng.random() < 0.3 and (name := at_random("Ana", "Bob")) not in ("Ana", "Bob"):
                leader = swarm.rng.choice(("Ana", "Bob"))
                if swarm.person(name) in swarm.gate(leader).roster.people:
                    swarm.expel(leader, name)
            case 3:
                halves = [name for name in swarm.people if swarm.rng.random() < 0.5]
                swarm.cut.clear()
                swarm.cut_between(halves, [name for name in swarm.people if name not in halves])
            case 4:
                swarm.cut.clear()
            case 5:
                swarm.restart(at_random(), forgets=swarm.rng.randrange(3) if swarm.rng.random() < 0.3 else 0)
            case _:
                swarm.now_s += swarm.rng.randrange(600)
                await swarm.settle(8)


def _person(swarm: _Swarm, name: str) -> Any:
    return swarm.gate("Ana").roster.people[swarm.person(name)]


_SCENARIOS: tuple[Scenario, ...] = (
    _a_member_invents_people,
    _two_members_together,
    _an_admin_turns_bad,
    _two_leaders_at_once,
    _two_computers_of_one_leader,
    _a_leader_restored_from_a_backup,
    _a_chain_with_a_fork,
    _the_worst_order,
    _partitions_that_meet,
    _clocks_two_hours_off,
    _ten_thousand_worthless,
    _many_people,
    _a_founder_who_never_comes_back,
    _restarts_in_the_middle_of_writes,
    _a_storm,
)
_LONG = (_ten_thousand_worthless, _many_people)
