"""Leaders who decide at the same time, from two computers, or from an older state."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace

from benchmarks.security.members.swarm import TriedSwarm, confirmed_ghosts, offer_of, person_of
from potluck.membership.backup import back_up, read_backup
from potluck.membership.identity import Identity
from potluck.membership.leadership import (
    ChosenModel,
    choose_model,
    dismiss,
)
from potluck.membership.records import (
    NOTHING,
    Confirm,
    EndInvite,
    Entry,
    Open,
    Remove,
    raw_content,
    sign,
)
from potluck.protocol.codes import RemoteError


async def two_leaders_at_once(swarm: TriedSwarm) -> None:
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
    swarm.decide("Ana", EndInvite(offer_of(swarm.made).invite))
    swarm.expel("Bob", "Finn")
    swarm.expel("Ana", "Eve")
    for name, by in (("Hal", "Bob"), ("Finn", "Ana")):
        swarm.decide(by, Confirm(swarm.person(name), name, offer_of(swarm.made).invite))
    swarm.decide("Bob", Remove(swarm.person("Ana")))  # Only the founder may do that.
    swarm.members.add("Hal")  # Their confirmation had not seen the invite's end.
    await swarm.settle()
    swarm.cut.clear()
    await swarm.settle()
    await swarm.consult("Cleo", "Ana")
    if (choice := swarm.gate("Ana").roster.choice) is None or choice.model != "hers":
        swarm.found.broken.append("the founder's model does not count")


async def two_computers_of_one_leader(swarm: TriedSwarm) -> None:
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
        swarm.decide(name, _named(confirmed_ghosts(swarm, 1)[0], f"Person {number}"))
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
        swarm.decide(name, *dismiss(swarm.gate(name).roster, person_of(swarm, "Bob")))


async def a_leader_restored_from_a_backup(swarm: TriedSwarm) -> None:
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
        swarm.decide(name, _named(confirmed_ghosts(swarm, 1)[0], f"Guest of {name}"))
        swarm.members.add(f"Guest of {name}")
    await swarm.settle(60)
    swarm.tend("Ana", "Bob")


async def a_chain_with_a_fork(swarm: TriedSwarm) -> None:
    """Ana's disk is set back and she goes on; Bob writes two branches on purpose. Ana's computer settles both."""
    await swarm.promote("Bob")
    await swarm.admit("Eve")
    earlier = swarm.own("Ana")
    before = set(swarm.members)
    swarm.cut_between(("Ana",), ("Cleo", "Dora", "Eve", "Bob"))
    swarm.cut_between(("Bob",), ("Eve",))
    swarm.decide("Ana", _named(confirmed_ghosts(swarm, 1)[0], "On a branch"))
    swarm.cut.clear()
    swarm.cut_between(("Eve", "Dora"), ("Cleo", "Bob", "Ana"))
    for _ in range(3):
        await swarm.consult("Cleo", "Ana")
    identity = swarm.people["Ana"]
    swarm.node(earlier.for_node(), identity)
    swarm.memberships[identity.peer_id] = earlier
    swarm.decide("Ana", _named(confirmed_ghosts(swarm, 1)[0], "On another"))
    author, admin = swarm.own("Bob").person_key, swarm.gate("Bob").roster
    assert author is not None
    (appointment,) = admin.chains.appointments_of(swarm.person("Bob"))
    start = Entry(b"", 0, appointment, {}, raw_content(Open(os.urandom(16))))
    opening = sign(admin.swarm_key, start, author)
    branches = [
        sign(admin.swarm_key, Entry(opening.hash, 1, opening.hash, {}, raw_content(content)), author)
        for content in confirmed_ghosts(swarm, 2)
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


async def the_worst_order(swarm: TriedSwarm) -> None:
    """A node hears everything backwards, twice and one by one; another late; a third forgets again and again."""
    await swarm.promote("Bob")
    await swarm.admit("Eve", "Finn", "Gus")
    swarm.expel("Ana", "Finn")
    await swarm.consult("Bob", "Ana")
    swarm.decide("Bob", *(_named(each, f"Person {at}") for at, each in enumerate(confirmed_ghosts(swarm, 20))))
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


def _named(confirmation: Confirm, name: str) -> Confirm:
    return Confirm(confirmation.person, name, confirmation.invite)
