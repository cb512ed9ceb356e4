"""Nodes that saw the same statements in different orders agree."""

from dataclasses import replace
from itertools import permutations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from helpers.members import NOW_S, enrolled, founded, invited

from potluck.membership.identity import Identity
from potluck.membership.leadership import remove_machine
from potluck.membership.membership import Membership
from potluck.membership.roster import MAX_CERTIFICATES, Roster
from potluck.membership.statements import Delegation, Enrolment, Machine, Removal, Statement, sign

ANA, BOB, EVE, SHARED = (Identity.generate() for _ in range(4))


def _people() -> tuple[Membership, list[Statement], list[Ed25519PrivateKey]]:
    """Return the founder's membership, a swarm of three people, and the keys of Bob and Eve, who joined later."""
    founder, made = invited(founded(ANA))
    keys = []
    for name, machine in (("Bob", BOB), ("Eve", EVE)):
        founder, member = enrolled(founder, made, name, machine)
        assert member.person_key is not None
        keys.append(member.person_key)
    return founder, list(founder.roster(NOW_S)), keys


def _certificate(
    founder: Membership, person: Ed25519PrivateKey, name: str, at_s: float, machine: Ed25519PrivateKey | None = None
) -> Statement:
    key = machine or SHARED.private_key
    content = Machine(key.public_key().public_bytes_raw(), person.public_key().public_bytes_raw(), name, int(at_s))
    return sign(founder.roster(NOW_S).swarm_key, content, person, key)


def _merged(founder: Membership, *batches: list[Statement]) -> Roster:
    roster = Roster(founder.roster(NOW_S).swarm_key)
    for batch in batches:
        roster.merge(batch, now_s=NOW_S)
    return roster


def _in_any_order(founder: Membership, known: list[Statement], said: list[Statement]) -> list[Roster]:
    """Return rosters that heard one statement after the other, which are equal whatever the order."""
    rosters = [_merged(founder, known, *([item] for item in order)) for order in permutations(said)]
    rosters += [_merged(founder, [*order, *known]) for order in permutations(said)]
    assert len({roster.digest for roster in rosters}) == 1
    return rosters


def test_a_machine_that_certified_itself_twice_belongs_to_the_same_person_everywhere() -> None:
    founder, people, (bob, eve) = _people()
    nobody = Ed25519PrivateKey.generate()
    said = [
        _certificate(founder, bob, "Bob's", NOW_S),
        _certificate(founder, eve, "Eve's", NOW_S - 9),  # a machine says any time it likes
        _certificate(founder, eve, "Eve's again", NOW_S - 8),
        _certificate(founder, nobody, "nobody's", NOW_S - 99),
    ]
    rosters = _in_any_order(founder, people, said)
    owners = {owner.key for roster in rosters if (owner := roster.owner_of_key(SHARED.public_key)) is not None}
    first = min((person for person in rosters[0].people if person.name != "Ana"), key=lambda each: each.key)
    assert owners == {first.key}, "both enrolled in the same second, so the smaller key comes first"
    assert all(roster.owner_of_key(SHARED.public_key) is not None for roster in rosters)


def test_of_a_persons_statements_about_one_machine_the_earliest_counts() -> None:
    founder, people, (bob, _) = _people()
    said = [_certificate(founder, bob, name, NOW_S - age_s) for name, age_s in (("new", 0), ("old", 9), ("older", 9))]
    machines = [
        machine
        for roster in _in_any_order(founder, people, said)
        for person in roster.people
        for machine in person.machines
    ]
    assert {machine.name for machine in machines if machine.machine == SHARED.public_key} == {"old"}


def test_what_others_sign_about_an_invite_removes_nobody_who_came_with_it() -> None:
    founder, people, (bob, eve) = _people()
    swarm_key = founder.roster(NOW_S).swarm_key
    (invite,) = _merged(founder, people).invites
    forged = replace(invite, expires_s=int(NOW_S) - 9, max_people=1, at_s=int(NOW_S))
    said = [sign(swarm_key, forged, key) for key in (bob, eve, Ed25519PrivateKey.generate())]
    for roster in _in_any_order(founder, people, said):
        assert {person.name for person in roster.people} == {"Ana", "Bob", "Eve"}
        assert roster.invites == (invite,)
        assert not any(isinstance(item.content, Delegation) and item.content == forged for item in roster)


def test_the_first_removal_that_counts_names_the_remover_in_any_order() -> None:
    founder, people, (bob, eve) = _people()
    swarm_key = founder.roster(NOW_S).swarm_key
    own = _certificate(founder, bob, "Bob's", NOW_S)
    removals = [
        sign(swarm_key, Removal(SHARED.public_key, int(NOW_S) - 9), eve),  # it isn't hers
        sign(swarm_key, Removal(SHARED.public_key, int(NOW_S) + 1), bob),
        *remove_machine(founder.with_statements([*people, own], NOW_S), SHARED.public_key, NOW_S + 2),
    ]
    removers = {roster.remover(SHARED.public_key) for roster in _in_any_order(founder, [*people, own], removals)}
    assert removers == {bob.public_key().public_bytes_raw()}


def test_a_member_lengthens_the_list_by_so_much_only() -> None:
    founder, people, (bob, _) = _people()
    swarm_key = founder.roster(NOW_S).swarm_key
    said = []
    for age_s in range(MAX_CERTIFICATES + 20):
        laptop = Ed25519PrivateKey.generate()
        said.append(_certificate(founder, bob, "laptop", NOW_S - age_s, laptop))
        said.append(sign(swarm_key, Removal(laptop.public_key().public_bytes_raw(), int(NOW_S)), bob))
    roster = _merged(founder, people, said)
    assert len(list(roster)) == len(people) - 1 + 2 * MAX_CERTIFICATES  # one of the people's is Bob's own laptop
    backwards = _merged(founder, people, *([item] for item in reversed(said[-60:])), said)
    assert backwards.digest == roster.digest
    assert len(roster.people) == 3


def test_removing_again_adds_nothing_to_the_list() -> None:
    founder, people, (bob, _) = _people()
    swarm_key = founder.roster(NOW_S).swarm_key
    removals = [sign(swarm_key, Removal(SHARED.public_key, int(NOW_S) - age_s), bob) for age_s in range(3)]
    certified = _merged(founder, people, [_certificate(founder, bob, "Bob's", NOW_S)])
    for roster in _in_any_order(founder, list(certified), removals):
        assert len(list(roster)) == len(list(certified)) + 1
        assert removals[2].digest in roster


def test_a_witness_enrols_a_person_once() -> None:
    founder, made = invited(founded(ANA))
    assert made.seed is not None
    swarm_key, holder = founder.roster(NOW_S).swarm_key, Ed25519PrivateKey.from_private_bytes(made.seed)
    person, invite = (Ed25519PrivateKey.generate().public_key().public_bytes_raw(), holder.public_key())
    enrolments = [
        sign(swarm_key, Enrolment(person, name, invite.public_bytes_raw(), int(NOW_S)), holder, ANA.private_key)
        for name in ("Bob", "Rob", "Bert")
    ]
    known = list(founder.roster(NOW_S))
    for roster in _in_any_order(founder, known, enrolments):
        assert len(list(roster)) == len(known) + 1
        assert {person.name for person in roster.people} == {"Ana", "Bert"}, "as everywhere"


def test_certificates_of_machines_that_leaders_removed_stay_however_many_follow() -> None:
    founder, people, (bob, _) = _people()
    roster = _merged(founder, people, [_certificate(founder, bob, "Bob's", NOW_S)])
    founder = founder.with_statements(list(roster), NOW_S)
    removal = remove_machine(founder, SHARED.public_key, NOW_S)
    laptops = ((NOW_S - age_s, Ed25519PrivateKey.generate()) for age_s in range(1, MAX_CERTIFICATES + 2))
    more = [_certificate(founder, bob, "x", at_s, laptop) for at_s, laptop in laptops]
    roster.merge([*removal, *more], now_s=NOW_S)
    assert roster.is_removed(SHARED.public_key)
    assert any(isinstance(item.content, Machine) and item.content.machine == SHARED.public_key for item in roster)
