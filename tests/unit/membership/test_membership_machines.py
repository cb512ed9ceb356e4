"""Which computers are whose: lists of machines, and invites for one machine."""

from dataclasses import replace
from itertools import permutations

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from helpers.members import NOW_S, among, decided, enrolled, founded, invited, joined, shared

from potluck.errors import UsageError
from potluck.membership.identity import Identity
from potluck.membership.invite import TICKET_LIVES_S, Invite, accept, machine_invite
from potluck.membership.leadership import remove_machine
from potluck.membership.members import Members
from potluck.membership.membership import Membership
from potluck.membership.records import (
    MAX_MACHINES,
    Machine,
    Machines,
    Record,
    RecordError,
    Request,
    Ticket,
    consent_to_listing,
    read_all,
    read_record,
    sign,
)

ANA, BOB, LAPTOP, EVE = (Identity.generate() for _ in range(4))


@pytest.fixture
def founder_and_bob() -> tuple[Membership, Membership]:
    return shared(*enrolled(*invited(founded(ANA)), "Bob", BOB))  # type: ignore[return-value]


def listing(person: Membership, number: int, *machines: Machine, key: Ed25519PrivateKey | None = None) -> Record:
    """Return a person's list of machines; signed with another key if one is given."""
    assert person.person_key is not None
    assert person.swarm.founder_key is not None
    body = Machines(person.person_public, number, machines)
    return sign(person.swarm.founder_key, body, key or person.person_key)


def agreeing(person: Membership, machine: Identity, name: str = "laptop") -> Machine:
    return consent_to_listing(person.members().swarm_key, person.person_public, machine.private_key, name)


def machines_of(members: Members, name: str) -> set[bytes]:
    return {machine.key for machine in among(members, name).machines}


def learned(members: Members, records: list[Record]) -> Members:
    copy = Members(members.swarm_key, [record.data for record in members], members.heard)
    for record in records:
        copy.learn([record], NOW_S)
    return copy


def test_of_two_lists_the_greater_number_counts_then_the_smaller_hash(
    founder_and_bob: tuple[Membership, Membership],
) -> None:
    ana, bob = founder_and_bob
    machines = [agreeing(bob, Identity.generate()) for _ in range(3)]
    lists = [listing(bob, 2, machines[0]), listing(bob, 2, machines[1]), listing(bob, 1, *machines)]
    best = min(lists[:2], key=lambda record: record.hash)
    nodes = [learned(ana.members(), list(order)) for order in permutations(lists)]
    assert len({node.digest for node in nodes}) == 1
    assert all(node.list_of(bob.person_public) == best.data for node in nodes)
    newest = listing(bob, 3, machines[2])
    assert machines_of(learned(nodes[0], [newest]), "Bob") == {machines[2].key}


def test_a_list_counts_if_its_person_and_all_its_machines_signed_it(
    founder_and_bob: tuple[Membership, Membership],
) -> None:
    ana, bob = founder_and_bob
    known, stranger = ana.members(), joined(invited(ana)[1], "Eve", EVE)
    wrong = [
        listing(bob, 5, replace_consent(agreeing(bob, LAPTOP))),
        listing(bob, 5, agreeing(stranger, LAPTOP)),  # it agreed to be somebody else's
        listing(bob, 5, key=ANA.private_key),
        listing(stranger, 5, agreeing(stranger, LAPTOP)),  # neither a member nor a guest
    ]
    for record in wrong:
        assert known.learn([record], NOW_S) == []
    with pytest.raises(RecordError):
        listing(bob, 5, *[agreeing(bob, LAPTOP)] * (MAX_MACHINES + 1))


def replace_consent(machine: Machine) -> Machine:
    return msgspec.structs.replace(machine, consent=bytes(64))


def test_a_person_has_so_many_machines_and_adds_them_where_their_key_is(
    founder_and_bob: tuple[Membership, Membership],
) -> None:
    _, bob = founder_and_bob
    for number in range(MAX_MACHINES - 1):
        bob = bob.certified(Identity.generate(), f"machine {number}")
    assert len(machines_of(bob.members(), "Bob")) == MAX_MACHINES
    with pytest.raises(UsageError, match="all that one person may"):
        bob.certified(LAPTOP, "one more")
    assert bob.certified(BOB, "known") == bob
    fewer = bob.without_machine(BOB.public_key).certified(LAPTOP, "laptop")
    assert BOB.public_key not in machines_of(fewer.members(), "Bob")
    with pytest.raises(UsageError, match="your key is on another computer"):
        bob.for_node().without_machine(BOB.public_key)


def test_a_person_changes_the_list_four_times_in_four_minutes_and_a_batch_brings_one(
    founder_and_bob: tuple[Membership, Membership],
) -> None:
    ana, bob = founder_and_bob
    known, lists = ana.members(), [listing(bob, number, agreeing(bob, LAPTOP)) for number in range(2, 40)]
    wanted, worthless, _ = known.sift(lists, NOW_S)
    assert (len(wanted), worthless) == (1, len(lists) - 1)
    for record in lists[:4]:
        assert known.learn([record], NOW_S + 100)
    assert known.sift([lists[4]], NOW_S + 300)[:2] == ([], 1)
    assert known.learn([lists[4]], NOW_S + 341)


def test_a_machine_that_a_leader_removed_stays_away_whatever_list_follows(
    founder_and_bob: tuple[Membership, Membership],
) -> None:
    ana, bob = founder_and_bob
    bob = bob.certified(LAPTOP, "laptop")
    ana, bob = shared(ana, bob)
    ana = decided(ana, *remove_machine(ana, among(ana.members(), "Bob"), LAPTOP.public_key))
    later = listing(bob, 50, agreeing(bob, LAPTOP), agreeing(bob, BOB))
    for records in ([later, *ana.members()], [*ana.members(), later]):
        node = learned(bob.members(), records)
        assert machines_of(node, "Bob") == {BOB.public_key}
        assert node.remover(LAPTOP.public_key) == node.swarm_key
    assert shared(ana, bob)[1].remover(LAPTOP.public_key) == "Ana"
    assert shared(ana, bob)[1].remover(BOB.public_key) is None


def test_a_machine_of_two_people_belongs_to_the_smaller_key_and_to_members_before_guests(
    founder_and_bob: tuple[Membership, Membership],
) -> None:
    ana, bob = founder_and_bob
    ana, made = invited(ana)
    guest = joined(made, "Eve", EVE)
    people = {each.person_public: each for each in (ana, bob)}
    lists = [listing(each, 9, agreeing(each, LAPTOP)) for each in (ana, bob)]
    ours = [read_record(guest.application), listing(guest, 9, agreeing(guest, LAPTOP))]
    for order in permutations([*lists, *ours]):
        node = learned(learned(ana.members(), list(order)), list(order))
        owner = node.owner_of_key(LAPTOP.public_key)
        assert owner is not None
        assert owner.key == min(people)
    node = learned(learned(ana.members(), ours), lists)
    assert among(node, "Eve").machines, "a guest may list it, but it speaks for a member"


def test_an_invite_for_one_machine_asks_and_its_owner_lists_the_computer(
    founder_and_bob: tuple[Membership, Membership],
) -> None:
    ana, bob = founder_and_bob
    made = machine_invite(bob, NOW_S)
    laptop = accept(made, "ignored", LAPTOP, "laptop", NOW_S)
    assert (laptop.person_seed, laptop.founder_seed, laptop.person_public) == (None, None, bob.person_public)
    known = ana.members()
    assert known.learn(read_all([laptop.application]), NOW_S)
    asking = known.request_to(bob.person_public, NOW_S)
    assert asking is not None
    assert asking.name == "laptop"
    assert known.owner_of_key(LAPTOP.public_key) is None, "it is nobody's before the owner says so"
    second = accept(made, "ignored", EVE, "Eve's", NOW_S)
    assert known.learn(read_all([second.application]), NOW_S) == [], "one computer may ask at a time"
    bob = bob.knowing(known).with_machine(asking)
    assert LAPTOP.public_key in machines_of(shared(bob, laptop)[1].members(), "Bob")
    assert known.request_to(bob.person_public, NOW_S + TICKET_LIVES_S + 1) is None
    with pytest.raises(UsageError, match="expired"):
        accept(made, "ignored", LAPTOP, "laptop", NOW_S + TICKET_LIVES_S + 1)
    with pytest.raises(UsageError, match="cannot add others"):
        machine_invite(laptop, NOW_S)


def test_only_a_ticket_of_the_person_themselves_lets_a_computer_ask(
    founder_and_bob: tuple[Membership, Membership],
) -> None:
    ana, bob = founder_and_bob
    swarm_key, key = ana.members().swarm_key, Ed25519PrivateKey.generate()
    assert bob.person_key is not None
    public = key.public_key().public_bytes_raw()

    def ticket(author: Ed25519PrivateKey, *, person: bytes = bob.person_public, expires_s: float = NOW_S + 60) -> bytes:
        return sign(swarm_key, Ticket(person, public, int(expires_s)), author).data

    def asks(proof: bytes, holder: Ed25519PrivateKey = key, consent: Machine = agreeing(bob, LAPTOP)) -> bool:  # noqa: B008
        request = sign(swarm_key, Request(bob.person_public, proof, consent), holder)
        return bool(ana.members().learn([request], NOW_S))

    good = ticket(bob.person_key)
    assert asks(good)
    assert not asks(good, holder=EVE.private_key)
    assert not asks(good, consent=agreeing(ana, LAPTOP))
    assert not asks(ticket(EVE.private_key))
    assert not asks(ticket(bob.person_key, expires_s=NOW_S - 1))
    assert ana.person_key is not None
    assert not asks(ticket(ana.person_key, person=ana.person_public))
    for noise in (b"", b"noise", bob.application):
        assert not asks(noise)
    assert isinstance(machine_invite(bob, NOW_S), Invite)


def test_a_restored_computer_numbers_its_list_after_the_newest_that_it_heard_of(
    founder_and_bob: tuple[Membership, Membership],
) -> None:
    ana, bob = founder_and_bob
    backup = bob
    for _ in range(3):
        bob = bob.certified(Identity.generate(), "another")
    ana = shared(ana, bob)[0]
    restored = backup.with_records(ana.members(), NOW_S).certified(LAPTOP, "laptop")
    assert LAPTOP.public_key in machines_of(shared(ana, restored)[0].members(), "Bob")
    assert len(machines_of(shared(ana, restored)[0].members(), "Bob")) == 5
    assert replace(restored, machines=b"").knowing(ana.members()).machines == bob.machines


def test_computers_that_a_member_dropped_are_remembered_but_are_no_people(
    founder_and_bob: tuple[Membership, Membership],
) -> None:
    ana, bob = founder_and_bob
    machine = Identity.generate()
    members = learned(ana.members(), [listing(bob, 2, agreeing(bob, machine))])
    members = learned(members, [listing(bob, 3)])
    assert members.was_listed(machine.public_key)
    assert machine.public_key not in members.heard
    assert not members.was_listed(Identity.generate().public_key)
