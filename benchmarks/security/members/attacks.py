"""Members and admins who mean harm."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.security.members.swarm import (
    TriedSwarm,
    confirmed_ghosts,
    forged_chain,
    invented_records,
    offer_of,
    person_of,
    seed_key,
    send_records,
    view_of,
)
from potluck.membership.budgets import Budgets
from potluck.membership.identity import Identity
from potluck.membership.leadership import (
    decisions,
    dismiss,
    remove_machine,
    seats,
)
from potluck.membership.presentation import MAX_NEWS
from potluck.membership.records import (
    NOTHING,
    Application,
    Content,
    EndInvite,
    Entry,
    Machines,
    Open,
    Record,
    Remove,
    consent_to_listing,
    raw_content,
    read_all,
    sign,
)
from potluck.protocol.blocks import PeerId


async def a_member_invents_people(swarm: TriedSwarm) -> None:
    """Mallory holds the invite; before and after its end she fills its seats, and people join it meanwhile."""
    await swarm.admit("Mallory")
    swarm.attackers.add("Mallory")
    await send_records(swarm, "Mallory", invented_records(swarm, 80))
    swarm.gate("Mallory").roster.learn(invented_records(swarm, 80), swarm.now_s)
    await swarm.settle()
    swarm.tend("Ana")
    await swarm.settle()
    taken = swarm.gate("Ana").roster.num_confirmed(offer_of(swarm.made).invite)
    if taken > 60:
        swarm.found.broken.append(f"{taken} people on 60 seats")
    swarm.decide("Ana", EndInvite(offer_of(swarm.made).invite))
    await swarm.settle()
    before = len(swarm.gate("Ana").roster.people)
    late = invented_records(swarm, 40)
    swarm.gate("Mallory").roster.learn(late, swarm.now_s)
    await send_records(swarm, "Mallory", late)
    await swarm.settle()
    swarm.tend("Ana")
    if len(swarm.gate("Ana").roster.people) != before:
        swarm.found.broken.append("an ended invite let somebody in")


async def two_members_together(swarm: TriedSwarm) -> None:
    """Mallory and Trudy list each other's and others' machines, and bring back what was removed."""
    await swarm.admit("Mallory", "Trudy", "Eve")
    swarm.attackers |= {"Mallory", "Trudy"}
    key, shared = swarm.gate("Ana").roster.swarm_key, Identity.generate()
    old = list(swarm.gate("Bob").roster)
    swarm.decide("Ana", *remove_machine(swarm.own("Ana"), person_of(swarm, "Eve"), swarm.people["Eve"].public_key))
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
            await send_records(swarm, name, order)
        await swarm.settle()
    swarm.expel("Ana", "Mallory")
    await send_records(swarm, "Trudy", [*old, *read_all([swarm.own("Mallory").application]), *lists])
    await swarm.settle()
    for name in ("Bob", "Cleo"):
        owner = swarm.gate("Ana").roster.owner_of_key(swarm.people[name].public_key)
        if owner is None or owner.name != name:
            swarm.found.broken.append("a machine was stolen")


async def an_admin_turns_bad(swarm: TriedSwarm) -> None:
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
    bad: list[Content] = [*confirmed_ghosts(swarm, 20), *removals]
    swarm.decide("Bob", *bad, EndInvite(offer_of(swarm.made).invite), seats(swarm.now_s, people=90)[0])
    held_back = [
        forged_chain(swarm, "Bob", *confirmed_ghosts(swarm, 5), *removals, blind=blind) for blind in (True, False)
    ]
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
        await send_records(swarm, "Trudy", chain)
        await send_records(swarm, "Bob", [*chain, *reversed(chain)])
    await swarm.settle()
    await swarm.consult("Cleo", "Ana")  # whom Bob removed, so that nobody told her more
    ghosts = [each for each in swarm.gate("Cleo").roster.people.values() if each.name.startswith("Ghost")]
    if ghosts:
        swarm.found.broken.append(f"{len(ghosts)} invented people stay")


async def ten_thousand_worthless(swarm: TriedSwarm) -> None:
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
    before = [(view_of(gate), gate.roster.digest, len(list(gate.roster))) for gate in swarm.honest()]
    slowest_ms, refused = 0.0, 0
    swarm.loss = 0.0
    for name in ("Mallory", "Trudy"):
        for batch in _worthless(swarm, name, _WORTHLESS):
            sending = asyncio.ensure_future(send_records(swarm, name, batch))
            while not sending.done():
                began_s = time.perf_counter()
                await swarm.consult("Bob", "Ana")
                slowest_ms = max(slowest_ms, (time.perf_counter() - began_s) * 1000)
            refused += sending.result()
            swarm.now_s += 1
    after = [(view_of(gate), gate.roster.digest, len(list(gate.roster))) for gate in swarm.honest()]
    if before != after:
        swarm.found.broken.append("worthless records changed something")
    swarm.found.noted |= {"of_each": _WORTHLESS, "refused": refused, "honest_call_ms": round(slowest_ms, 1)}


_WORTHLESS = 10_000


def _with_key(machine: Any, key: bytes) -> Any:
    return type(machine)(key, machine.name, machine.consent)


def _charging(swarm: TriedSwarm, budgets: Budgets) -> Callable[[PeerId, int], bool]:
    return lambda peer, units: budgets.charge(peer, units, swarm.now_s)


def _worthless(swarm: TriedSwarm, name: str, count: int) -> Iterator[list[Record]]:
    """Yield batches of records, all of them signed, none of them allowed."""
    roster, key = swarm.gate("Ana").roster, swarm.gate("Ana").roster.swarm_key
    person, public, stranger = swarm.own(name).person_key, swarm.person(name), Ed25519PrivateKey.generate()
    assert person is not None
    (chain,) = list(roster.chains.of(NOTHING))[:1]
    number, before, _ = roster.chains.next_place(chain) or (0, NOTHING, {})
    victim = swarm.person("Bob")
    machine = consent_to_listing(key, public, stranger, "x")
    ghost = confirmed_ghosts(swarm, 1)[0]

    def entries(at: int) -> Record:
        body = (
            Entry(chain, number + at % 3, before, {}, raw_content(ghost)),  # an entry in the founder's chain
            Entry(b"", 0, NOTHING, {}, raw_content(Open(at.to_bytes(16, "big")))),  # a chain like the founder's
            Entry(b"", 0, os.urandom(32), {}, raw_content(Open(at.to_bytes(16, "big")))),
            Entry(chain, 1, os.urandom(32), {}, raw_content(ghost)),  # a fork of the founder's chain
        )[at % 4]
        return sign(key, body, person)

    def applications(at: int) -> Record:
        invite = (seed_key(swarm.made), stranger)[at % 2]
        body = Application(public, "X", invite.public_key().public_bytes_raw())
        return sign(key, body, person, invite)  # a member's own, or with an invite that nobody made

    def lists(at: int) -> Record:
        if at % 2:
            return sign(key, Machines(victim, at + 2, (machine,) * 8), person)  # somebody else's list
        return sign(key, Machines(public, 0, (machine,) * 8), stranger)

    for make in (entries, applications, lists):
        for start in range(0, count, MAX_NEWS):
            yield [make(at) for at in range(start, min(start + MAX_NEWS, count))]
