"""Random decisions, forks, restored disks and deliveries: in the end all nodes agree, and nothing fails on the way."""

import contextlib
import random
from dataclasses import replace

import pytest
from helpers.members import NOW_S, appointed, compare, enrolled, founded, invited, shared

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.leadership import dismiss, mend, promote, remove
from potluck.membership.members import Members, Person
from potluck.membership.membership import Membership
from potluck.membership.records import NOTHING, Confirm, Content, Entry, Rank, Remove, raw_content, sign

FOUNDERS = ("desktop", "laptop")  # two computers of the founder's
LEADERS = (*FOUNDERS, "bob", "bob's second", "cleo")


class Swarm:
    """Computers of leaders and two members' nodes, which meet when the test says so."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        ana, made = invited(founded(Identity.generate()), people=500)
        ana, bob = enrolled(ana, made, "Bob", Identity.generate())
        ana, cleo = enrolled(ana, made, "Cleo", Identity.generate())
        ana, bob = appointed(ana, bob)
        ana, cleo = appointed(ana, cleo)
        own = (ana, replace(ana, chains=()), bob, replace(bob, chains=()), cleo)
        self.held = dict(zip(LEADERS, shared(*own), strict=True))
        self.nodes = {name: each.members() for name, each in self.held.items()}
        self.nodes |= {name: self.held["cleo"].members() for name in ("one", "other")}
        self.invite = next(iter(ana.members().invites))
        self.copies: dict[str, Membership] = {}

    def step(self) -> None:
        """Do something that may happen, or that a hostile leader may do."""
        name = self.rng.choice(LEADERS)
        does = [self.decide, self.decide, self.decide, self.meet, self.meet, self.meet, self.copy, self.restore]
        self.rng.choice([*does, self.contradict] if name not in FOUNDERS else does)(name)

    def meet(self, name: str) -> None:
        compare(self.nodes[name], self.nodes[self.rng.choice([each for each in self.nodes if each != name])])

    def copy(self, name: str) -> None:
        self.copies[name] = self.held[name].knowing(self.nodes[name])

    def restore(self, name: str) -> None:
        if name in self.copies:
            self.held[name] = self.copies[name]
            self.nodes[name] = self.copies[name].members()

    def decide(self, name: str) -> None:
        with contextlib.suppress(UsageError):
            self.write(name, self._decision(self.held[name].knowing(self.nodes[name]), self.nodes[name]))

    def write(self, name: str, contents: list[Content]) -> None:
        if contents:
            self.held[name], new = self.held[name].knowing(self.nodes[name]).writing(contents, NOW_S)
            self.nodes[name].learn(new, NOW_S)

    def contradict(self, name: str) -> None:
        """Tell one node something else than the others, under a number that is taken."""
        key, node = self.held[name].person_key, self.nodes[name]
        assert key is not None
        chains = [
            (key, chain) for key, chain in node.chains if key in self.held[name].chains and len(chain.entries) > 1
        ]
        if chains:
            chain, found = self.rng.choice(chains)
            number = self.rng.randrange(1, len(found.entries))
            said = self.rng.choice([self._somebody(), Remove(self.rng.choice([*node.people]))])
            entry = Entry(chain, number, found.entries[number - 1].hash, {}, raw_content(said))
            node = self.nodes[self.rng.choice([*self.nodes])]
            node.learn([sign(node.swarm_key, entry, key)], NOW_S)

    def _decision(self, own: Membership, members: Members) -> list[Content]:
        others = [person for person in members.people.values() if not person.is_founder]
        kind = self.rng.choice(
            ("confirm", "remove", "promote", "dismiss") if own.founder_seed else ("confirm", "remove")
        )
        if kind == "confirm" or not others:
            return [self._somebody()]
        person = self.rng.choice(others)
        if kind == "remove":
            return remove(own, members, person)
        if kind == "promote":
            return promote(own, members, person, self.rng.choice((Rank.ADMIN, Rank.MEMBER)))
        return dismiss(members, person, keep=self.rng.choice((None, 0, 1, 2)))

    def _somebody(self) -> Confirm:
        return Confirm(self.rng.randbytes(32), "Somebody", self.invite)

    def agree(self) -> None:
        """Have all nodes meet, and the founder settle what is forked, until nothing is left to settle."""
        for _ in range(4):
            for _ in range(3):
                for one in self.nodes.values():
                    for other in self.nodes.values():
                        if one is not other:
                            compare(one, other)
            for name in FOUNDERS:
                node = self.nodes[name]
                forked = [each for each in node.people.values() if self._is_forked(node, each)]
                gone = [Person(key, "", b"") for key in node.removed]
                self.write(
                    name, [*mend(node), *(content for each in (*forked, *gone) for content in dismiss(node, each))]
                )

    def _is_forked(self, node: Members, person: Person) -> bool:
        return any(node.chains.forked(key) for key in node.chains.appointments_of(person.key))


@pytest.mark.parametrize("seed", range(12))
def test_all_nodes_agree_in_the_end(seed: int) -> None:
    for number in range(3):
        swarm = Swarm(3 * seed + number)
        for _ in range(30):
            swarm.step()
        swarm.agree()
        first, *others = swarm.nodes.values()
        for node in others:
            assert (node.digest, node.people.keys(), node.choice) == (first.digest, first.people.keys(), first.choice)
        assert not first.chains.forked(NOTHING)
        anew = Members(first.swarm_key, [record.data for record in first])
        assert (anew.digest, anew.people.keys()) == (first.digest, first.people.keys())
