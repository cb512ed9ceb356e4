"""Guests: who has a seat that no leader confirmed yet, and whom a leader's computer confirms without asking."""

from helpers.members import (
    NOW_S,
    among,
    appointed,
    compare,
    decided,
    enrolled,
    founded,
    invited,
    joined,
    people,
    shared,
)

from potluck.membership.identity import Identity
from potluck.membership.invite import Invite
from potluck.membership.leadership import DAY_S, confirm, dismiss, guests_to_confirm, public_seats, seats, tend
from potluck.membership.members import GUEST_LIVES_S, PROBATION_S, Members
from potluck.membership.membership import Membership
from potluck.membership.records import EndInvite, Rank, Seats, read_all, read_record

ANA = Identity.generate()


def applying(made: Invite, name: str) -> Membership:
    return joined(made, name, Identity.generate())


def heard(members: Members, *newcomers: Membership, now_s: float = NOW_S) -> list[str]:
    """Have a node hear of newcomers; return the names of those who are new."""
    new = members.learn(read_all([each.application for each in newcomers]), now_s)
    return [item.body.name for item in new]  # type: ignore[union-attr]


def confirmed(leader: Membership, members: Members) -> tuple[list[str], list[str]]:
    welcome, held = guests_to_confirm(leader.knowing(members), members)
    return [each.name for each in welcome], [each.name for each in held]


def test_guests_take_free_seats_and_an_invite_ends_with_its_guests() -> None:
    ana, made = invited(founded(ANA), people=3)
    ana, _ = enrolled(ana, made, "Bob", Identity.generate())
    node, newcomers = ana.members(), [applying(made, f"N {number}") for number in range(5)]
    wanted, worthless, _ = node.sift(read_all([each.application for each in newcomers]), NOW_S)
    assert (len(wanted), worthless) == (2, 3), "the rest costs no signature"
    assert heard(node, *newcomers) == ["N 0", "N 1"]
    assert heard(node, newcomers[0]) == []
    offer = read_record(made.proof).content
    assert isinstance(offer, Seats)
    ended = decided(ana.knowing(node), EndInvite(offer.invite))
    assert not ended.members().guests
    assert people(ended.members()) == ["Ana", "Bob"]
    assert heard(ended.members(), newcomers[0]) == []


def test_a_leader_confirms_the_oldest_first_until_the_seats_are_taken() -> None:
    ana, made = invited(founded(ANA), people=2)
    node = ana.members()
    elsewhere = [ana.members() for _ in range(2)]
    late, first, second = (applying(made, name) for name in ("late", "first", "second"))
    heard(node, first, now_s=NOW_S + 1)
    heard(elsewhere[0], late, second, now_s=NOW_S)
    assert confirmed(ana, node) == (["first"], [])
    ana = decided(ana.knowing(node), confirm(among(node, "first")))
    others = elsewhere[0]
    others.learn(ana.members(), NOW_S + 2)
    welcome, held = confirmed(ana, others)
    assert (len(welcome), held) == (1, []), "nodes let in more guests than there are seats"
    assert people(others) == ["Ana", "first"]


def test_guests_after_the_expiry_and_crowds_wait_for_a_click() -> None:
    ana, made = invited(founded(ANA), people=50, days=1)
    node = ana.members()
    for number in range(5):
        heard(node, applying(made, f"P {number}"), now_s=NOW_S + number)
    heard(node, applying(made, "later"), now_s=NOW_S + 100)
    heard(node, applying(made, "too late"), now_s=NOW_S + DAY_S + 60)
    assert confirmed(ana, node) == (["P 0", "P 1", "P 2", "later"], ["P 3", "P 4", "too late"])
    members = decided(ana.knowing(node), *(confirm(among(node, f"P {number}")) for number in range(3))).members()
    assert confirmed(ana, members) == (["later"], ["P 3", "P 4", "too late"]), "those confirmed before count as well"


def test_a_public_invite_lets_crowds_in_and_only_leaders_and_enrollers_confirm_them() -> None:
    ana, made = invited(founded(ANA))
    ana = decided(ana, public_seats(ana, NOW_S))
    ana, bob = enrolled(ana, made, "Bob", Identity.generate())
    ana, cleo = enrolled(ana, made, "Cleo", Identity.generate())
    ana, bob = appointed(ana, bob, Rank.ENROLLER)
    cleo = shared(ana, cleo)[1]
    node = ana.members()
    public = node.public_invite
    assert public is not None
    door = Invite(ana.swarm, public.seed, node.entry_of(public.invite))
    heard(node, *(applying(door, f"P {number}") for number in range(9)), applying(made, "private"))
    assert [len(confirmed(each, node)[0]) for each in (ana, bob, cleo)] == [10, 9, 0]
    bob, new = tend(bob.knowing(node), Identity.generate(), "desktop", NOW_S)
    assert len(bob.members().people) == 3 + 9
    assert len(new) == 1 + 1 + 9, "the list of machines, a chain, and the confirmations"
    again, nothing = tend(bob, Identity.generate(), "desktop", NOW_S)
    assert len(nothing) == 1
    person = next(each for each in again.members().people.values() if each.name == "P 0")
    members = again.members()
    assert members.is_on_probation(person, NOW_S + PROBATION_S - 1)
    assert not members.is_on_probation(person, NOW_S + PROBATION_S)
    assert not members.is_on_probation(among(members, "Cleo"), NOW_S)
    assert members.is_on_probation(among(members, "private"), NOW_S + 2 * PROBATION_S), "a guest is"


def test_a_guest_whom_nobody_confirms_is_forgotten_by_all_although_they_compare() -> None:
    ana, made = invited(founded(ANA), days=90)
    one, other = ana.members(), ana.members()
    bob = applying(made, "Bob")
    heard(one, bob)
    compare(one, other, NOW_S + 1)
    later = NOW_S + GUEST_LIVES_S + 60
    heard(one, applying(made, "Cleo"), now_s=later)
    assert [each.name for each in one.guests.values()] == ["Cleo"]
    for _ in range(3):
        compare(one, other, later)
    for node in (one, other):
        assert [each.name for each in node.guests.values()] == ["Cleo"]
    one.renew_guest(read_record(bob.application).body.person, later)  # type: ignore[union-attr]
    assert heard(one, bob, now_s=later) == ["Bob"], "whoever comes in person is taken again"


def test_an_invite_that_is_ahead_of_its_chain_counts_for_guests_while_its_author_leads() -> None:
    ana, made = invited(founded(ANA))
    ana, bob = enrolled(ana, made, "Bob", Identity.generate())
    ana, bob = appointed(ana, bob)
    node = ana.members()
    offer, seed = seats(NOW_S)
    bob, new = bob.writing([offer], NOW_S)
    theirs = Invite(bob.swarm, seed, new[-1].data)
    newcomer = applying(theirs, "Dora")
    assert heard(node, newcomer) == []
    assert node.add_shown_invite(new[-1])
    assert heard(node, newcomer) == ["Dora"]
    assert confirmed(ana, node) == ([], []), "no leader's chain says so yet"
    told = ana.members()
    told.add_shown_invite(new[-1])
    heard(told, newcomer)
    told.learn(bob.members(), NOW_S)
    assert confirmed(ana, told) == (["Dora"], [])
    node.learn(decided(ana, *dismiss(node, among(node, "Bob"))).members(), NOW_S)
    assert not node.guests
    assert not node.add_shown_invite(new[-1])
    stranger, _ = invited(founded(Identity.generate()))
    assert not any(node.add_shown_invite(record) for record in stranger.members())
