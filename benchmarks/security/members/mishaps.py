"""Partitions, wrong clocks, crowds, absences, restarts, and storms of all that."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.security.members.swarm import TriedSwarm, offer_of
from potluck.membership.identity import Identity
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import (
    DAY_S,
    seats,
)
from potluck.membership.membership import Membership
from potluck.membership.records import (
    NOTHING,
    Confirm,
    Content,
    Machines,
    Record,
    Remove,
    consent_to_listing,
    sign,
)
from potluck.protocol.blocks import PeerId
from potluck.protocol.swarm import new_swarm


async def partitions_that_meet(swarm: TriedSwarm) -> None:
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


async def clocks_two_hours_off(swarm: TriedSwarm) -> None:
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


async def many_people(swarm: TriedSwarm) -> None:
    """2,000 people of 8 machines (100 unless soak): a newcomer learns all, one removal costs what is new."""
    count = 2000 if swarm.is_full else 100
    key, invite = swarm.gate("Ana").roster.swarm_key, offer_of(swarm.made).invite
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


async def a_founder_who_never_comes_back(swarm: TriedSwarm) -> None:
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


async def restarts_in_the_middle_of_writes(swarm: TriedSwarm) -> None:
    """The founder's computer stops at each step of writing a decision, and decides anew after each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "swarms.json"
        made = JoinedSwarms(path, Path(folder) / "key")
        machine = made.machine()
        made.create(new_swarm("home", "model", 12), name="Ana")
        name = itertools.count()

        def naming(_: Membership) -> list[Content]:
            return [Confirm(os.urandom(32), f"Person {next(name)}", offer_of(swarm.made).invite)]

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


async def a_storm(swarm: TriedSwarm) -> None:
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


_LIST_MACHINES = 8
