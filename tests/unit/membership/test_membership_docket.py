"""Accusations and findings in the roster: whose count, and that all nodes agree on them."""

from itertools import permutations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from helpers.members import NOW_S, enrolled, founded, invited

from potluck.membership.identity import Identity
from potluck.membership.roster import CHARGE_LIVES_S, MAX_CHARGES, Roster
from potluck.membership.statements import Attestation, Charge, Statement, sign

ANA, BOB, EVE = (Identity.generate() for _ in range(3))


class Swarm:
    """Ana founded it; Bob and Eve joined."""

    def __init__(self) -> None:
        founder, made = invited(founded(ANA))
        self.people = {}
        for name, machine in (("Bob", BOB), ("Eve", EVE)):
            founder, member = enrolled(founder, made, name, machine)
            assert member.person_key is not None
            self.people[name] = member.person_key
        assert founder.person_key is not None
        self.ana, self.statements = founder.person_key, list(founder.roster(NOW_S))
        self.key = founder.roster(NOW_S).swarm_key

    def charge(self, author: Ed25519PrivateKey, machine: Identity = EVE, at_s: float = NOW_S) -> Statement:
        return sign(
            self.key, Charge(machine.public_key, bytes(32), "0:4", "0" * 16, "float32 none none", int(at_s)), author
        )

    def attestation(self, charge: Statement, author: Ed25519PrivateKey, *, is_wrong: bool = True) -> Statement:
        return sign(self.key, Attestation(charge.digest, is_wrong, int(NOW_S)), author)

    def roster(self, *more: Statement, now_s: float = NOW_S) -> Roster:
        roster = Roster(self.key)
        roster.merge([*self.statements, *more], now_s=now_s)
        return roster


def test_all_nodes_agree_in_whatever_order_statements_come() -> None:
    swarm = Swarm()
    charge = swarm.charge(swarm.ana)
    said = swarm.attestation(charge, swarm.people["Bob"])
    own = swarm.attestation(charge, swarm.people["Eve"], is_wrong=False)
    for batch in permutations([charge, said, own]):
        docket = swarm.roster(*batch).docket
        assert list(docket.charges) == [charge.digest]
        assert list(docket.attestations) == [said.digest]  # nobody judges themselves


def test_a_computers_key_speaks_for_its_person() -> None:
    swarm = Swarm()
    charge = swarm.charge(swarm.ana)
    docket = swarm.roster(charge, swarm.attestation(charge, BOB.private_key)).docket
    ((person, said),) = docket.attestations.values()
    assert person == swarm.people["Bob"].public_key().public_bytes_raw().hex()
    assert said.is_wrong


def test_strangers_and_the_accused_accuse_nobody() -> None:
    swarm = Swarm()
    own = swarm.charge(swarm.people["Eve"])
    foreign = swarm.charge(Ed25519PrivateKey.generate())
    about_stranger = swarm.charge(swarm.ana, Identity.generate())
    roster = swarm.roster(own, foreign, about_stranger)
    assert not roster.docket.charges
    assert {own.digest, foreign.digest, about_stranger.digest}.isdisjoint(item.digest for item in roster)


def test_nobody_fills_the_roster_with_accusations() -> None:
    swarm = Swarm()
    charges = [swarm.charge(swarm.ana, at_s=NOW_S - number) for number in range(MAX_CHARGES + 5)]
    roster = swarm.roster(*charges)
    assert len(roster.docket.charges) == MAX_CHARGES
    assert sum(isinstance(item.content, Charge) for item in roster) == MAX_CHARGES


def test_old_accusations_are_forgotten() -> None:
    swarm = Swarm()
    charge = swarm.charge(swarm.ana)
    assert not swarm.roster(charge, now_s=NOW_S + CHARGE_LIVES_S + 1).docket.charges
