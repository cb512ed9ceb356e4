"""Reports of wrong results: who may make them, how many are kept, and that nothing follows from them."""

from dataclasses import replace

import pytest

from potluck.audit.choices import WINDOW_TOKENS
from potluck.membership.identity import Identity
from potluck.membership.invite import public_invite
from potluck.membership.leadership import public_seats
from potluck.membership.members import REPORT_LIVES_S, Members
from potluck.membership.membership import Membership, decode_membership, encode_membership
from potluck.membership.records import MAX_REPORTS, Machines, Record, Remove, WrongResults, read_all, sign, write_report
from potluck.protocol.blocks import PeerId
from tests.helpers.members import NOW_S, compare, decided, enrolled, founded, invited, joined

ANA, BOB, EVE, *OTHERS = (Identity.generate() for _ in range(9))


def report(
    reporter: Membership,
    machine: Identity,
    now_s: float = NOW_S,
    signer: Identity | None = None,
    tokens: tuple[int, int] = (32, 64),
) -> Record:
    key = reporter.person_key if signer is None else signer.private_key
    assert key is not None
    found = WrongResults(PeerId(machine.peer_id), (0, 4), tokens, (), 0.5, 0.002)
    return write_report(reporter.members().swarm_key, reporter.person_public, machine.public_key, found, key, now_s)


@pytest.fixture(scope="module")
def swarm() -> tuple[Membership, Membership, Membership]:
    ana, made = invited(founded(ANA), people=9)
    ana, bob = enrolled(ana, made, "Bob", BOB)
    ana, eve = enrolled(ana, made, "Eve", EVE)
    return ana, bob.with_records(read_all(ana.records), NOW_S), eve


def reported(members: Members) -> list[tuple[bytes, bytes]]:
    return sorted((each.body.person, each.body.machine) for each in members.reports)  # type: ignore[union-attr]


def test_a_members_report_reaches_everybody_and_changes_nobodys_place(
    swarm: tuple[Membership, Membership, Membership],
) -> None:
    ana, bob, eve = (each.members() for each in swarm)
    people, digest = dict(bob.people), bob.digest
    bob.learn([report(swarm[1], EVE)], NOW_S)
    compare(bob, ana)
    compare(ana, eve)
    assert reported(ana) == reported(eve) == [(swarm[1].person_public, EVE.public_key)]
    assert bob.people == people
    assert bob.digest == digest


def test_only_a_member_and_their_computers_sign_a_members_report(
    swarm: tuple[Membership, Membership, Membership],
) -> None:
    ana = swarm[0].members()
    forged = report(swarm[1], ANA, signer=EVE)
    assert ana.sift([forged], NOW_S) == ([], 0, False)  # Bob's list may just have changed
    assert ana.learn([forged], NOW_S) == []
    assert ana.learn([report(swarm[1], ANA, signer=BOB)], NOW_S)


def test_guests_report_nobody_and_nobody_their_own_computers(
    swarm: tuple[Membership, Membership, Membership],
) -> None:
    ana, made = invited(swarm[0], people=3)
    guest = joined(made, "Gus", OTHERS[0])
    members = ana.with_records(read_all([guest.application, guest.machines]), NOW_S).members()
    assert members.guests
    for record in (report(guest, BOB), report(swarm[1], BOB)):
        assert members.sift([record], NOW_S) == ([], 0, False)  # nobody pays for bringing them


def test_unlisting_a_computer_does_not_erase_what_is_reported_of_it(
    swarm: tuple[Membership, Membership, Membership],
) -> None:
    ana, _, eve = swarm
    members = ana.members()
    members.learn([report(swarm[1], EVE), report(swarm[1], OTHERS[1])], NOW_S)
    listed = members.machines_of(eve.person_public)
    assert listed is not None
    for number, machines in enumerate(((), listed.machines), start=listed.number + 1):
        assert eve.person_key is not None
        renewed = sign(members.swarm_key, Machines(eve.person_public, number, machines), eve.person_key)
        assert members.learn([renewed], NOW_S)
        assert (members.owner_of_key(EVE.public_key) is None) is (not machines)
    kept = sorted(machine.public_key for machine in (EVE, OTHERS[1]))  # also of one that nobody lists yet
    assert [machine for _, machine in reported(members)] == kept


def test_a_person_has_few_reports_and_displaces_only_their_own(
    swarm: tuple[Membership, Membership, Membership],
) -> None:
    ana, made = invited(swarm[0], people=9)
    accused = OTHERS[: MAX_REPORTS + 1]
    for number, machine in enumerate(accused):
        ana, _ = enrolled(ana, made, f"Other {number}", machine)
    members = ana.members()
    members.learn([report(swarm[2], BOB)], NOW_S)
    for number, machine in enumerate(accused):
        later = NOW_S + 100 * (number + 1)
        assert members.learn([report(swarm[1], machine, later)], later)
    kept = [machine for person, machine in reported(members) if person == swarm[1].person_public]
    assert sorted(kept) == sorted(machine.public_key for machine in accused[1:])
    assert (swarm[2].person_public, BOB.public_key) in reported(members)


def test_many_reports_at_once_are_refused_before_their_signatures_are_checked(
    swarm: tuple[Membership, Membership, Membership],
) -> None:
    members = swarm[0].members()
    flood = [report(swarm[1], EVE, NOW_S + number) for number in range(50)]
    wanted, worthless, _ = members.sift(flood, NOW_S)
    assert (len(wanted), worthless) == (MAX_REPORTS, 50 - MAX_REPORTS)
    for number in range(20):
        members.learn([report(swarm[1], EVE, NOW_S + 100 + number)], NOW_S)
    assert members.learn([report(swarm[1], EVE, NOW_S + 500)], NOW_S) == []


def test_reports_are_forgotten_and_a_clock_ahead_does_not_prolong_them(
    swarm: tuple[Membership, Membership, Membership],
) -> None:
    members = swarm[0].members()
    assert members.sift([report(swarm[1], EVE, NOW_S + 10 * 86_400)], NOW_S) == ([], 0, False)
    record = report(swarm[1], EVE)
    members.learn([record], NOW_S)
    later = NOW_S + REPORT_LIVES_S + 1
    assert members.sift([record], later) == ([], 0, False)
    assert members.reports == []


def test_a_window_that_nobody_can_have_audited_is_worthless(swarm: tuple[Membership, Membership, Membership]) -> None:
    members = swarm[0].members()
    for tokens in ((0, WINDOW_TOKENS + 1), (8, 8), (9, 8)):
        assert members.sift([report(swarm[1], EVE, tokens=tokens)], NOW_S) == ([], 1, False)


def test_what_others_displaced_is_not_taken_again(swarm: tuple[Membership, Membership, Membership]) -> None:
    """Otherwise nodes that dropped different reports of one person would tell each other for ever."""
    ana, made = invited(swarm[0], people=9)
    accused = OTHERS[: MAX_REPORTS + 1]
    for number, machine in enumerate(accused):
        ana, _ = enrolled(ana, made, f"Other {number}", machine)
    records = [report(swarm[1], machine, NOW_S + number) for number, machine in enumerate(accused)]
    members = ana.members()
    later = NOW_S + 1000
    for record in records[1:]:
        assert members.learn([record], later)
    assert members.sift([records[0]], later) == ([], 0, False)
    assert members.learn([records[0]], later) == []


def test_reports_of_an_open_swarms_members_outlive_a_restart(swarm: tuple[Membership, Membership, Membership]) -> None:
    """Nobody is on probation while a file is read: that depends on the time."""
    ana = decided(founded(ANA), public_seats(founded(ANA), NOW_S))
    made = public_invite(ana)
    assert made is not None
    ana, bob = enrolled(ana, made, "Bob", BOB)
    ana, _ = enrolled(ana, made, "Eve", EVE)
    later = NOW_S + 30 * 86_400
    ana = ana.with_records([report(bob, EVE, later)], later)
    assert ana.reports
    assert reported(decode_membership(encode_membership(ana)).members()) == [(bob.person_public, EVE.public_key)]


def test_a_new_node_of_an_open_swarm_keeps_the_reports_of_all_who_came_before_it(
    swarm: tuple[Membership, Membership, Membership],
) -> None:
    ana = decided(founded(ANA), public_seats(founded(ANA), NOW_S))
    made = public_invite(ana)
    assert made is not None
    ana, bob = enrolled(ana, made, "Bob", BOB)
    new, later = Members(ana.members().swarm_key), NOW_S + 5 * 86_400
    new.learn(read_all(ana.records), later)
    assert new.learn([report(bob, EVE, later)], later)
    ana, cem = enrolled(ana, made, "Cem", OTHERS[0])
    later += 2 * 86_400
    new.learn(read_all(ana.records), later)
    assert new.sift([report(cem, EVE, later)], later) == ([], 0, False)


def test_reports_about_removed_people_go(swarm: tuple[Membership, Membership, Membership]) -> None:
    ana = swarm[0].with_records([report(swarm[1], EVE)], NOW_S)
    assert ana.reports
    assert not decided(ana, Remove(swarm[2].person_public)).reports


def test_a_file_keeps_reports_where_older_versions_do_not_look(
    swarm: tuple[Membership, Membership, Membership],
) -> None:
    ana = swarm[0].with_records([report(swarm[1], EVE)], NOW_S)
    read = decode_membership(encode_membership(ana))
    assert reported(read.members()) == [(swarm[1].person_public, EVE.public_key)]
    assert read.records == replace(ana, reports=()).records
    assert not set(ana.reports) & set(ana.records)
