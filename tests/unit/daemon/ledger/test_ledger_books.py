"""What the ledger books, and that nothing moves twice."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from helpers.receipts import NOW, SWARM, Session
from potluck_control.methods.periods import Period
from potluck_control.outbox import Booking
from potluck_daemon.ledger.bookkeeping import KEEP_S, Outcome
from potluck_daemon.ledger.ledger import Ledger
from potluck_daemon.ledger.tables import LedgerError, connect

from potluck.membership.identity import Identity

DAY_S = 86400
ME = Identity.generate()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger(tmp_path / "ledger.sqlite", ME)
    assert (tmp_path / "ledger.sqlite").stat().st_mode & 0o077 == 0, "only its owner can read it"
    yield opened
    found = opened.check()
    assert found.problems == ()
    assert found.sum_points == 0
    opened.close()


def earned(ledger: Ledger, now: float = NOW) -> int:
    return ledger.history.summary(now + 1).total.earned


def test_only_the_last_receipt_of_a_session_counts_and_one_that_comes_again_moves_nothing(ledger: Ledger) -> None:
    session = Session(ME)
    first, second = session.booking(3), session.booking(10)
    outcomes = ledger.book([first, second, second, first], NOW)
    assert outcomes == [Outcome.BOOKED, Outcome.BOOKED, Outcome.KNOWN, Outcome.KNOWN]
    assert earned(ledger) == 10


def test_work_never_shrinks(ledger: Ledger) -> None:
    session = Session(ME)
    assert ledger.book([session.booking(10), session.booking(9)], NOW) == [Outcome.BOOKED, Outcome.REFUSED]
    assert ledger.book([session.booking(10, tokens=6)], NOW) == [Outcome.REFUSED]
    assert ledger.book([session.booking(10, tokens=8)], NOW) == [Outcome.BOOKED]
    assert earned(ledger) == 10


def test_another_client_or_swarm_cannot_use_a_tab(ledger: Ledger) -> None:
    session = Session(ME)
    thief = Session(ME)
    elsewhere = Session(ME, client=session.client, swarm=bytes(16))
    thief.tab = elsewhere.tab = session.tab
    outcomes = ledger.book([session.booking(1), thief.booking(50, seq=9), elsewhere.booking(50, seq=9)], NOW)
    assert outcomes == [Outcome.BOOKED, Outcome.REFUSED, Outcome.REFUSED]
    assert earned(ledger) == 1


def test_work_of_others_for_oneself_or_at_another_time_is_refused(ledger: Ledger) -> None:
    own = Session(ME, owner=ME)
    bookings = [
        Session(Identity.generate()).booking(5),
        own.booking(6),
        own.booking(8, is_countersigned=True),
        Session(ME, opened=NOW - KEEP_S - 1).booking(6),
        Session(ME, opened=NOW + 2 * DAY_S).booking(8),
    ]
    assert ledger.book(bookings, NOW) == [Outcome.REFUSED] * 5


def test_a_delegated_client_pays_from_its_donors_account(ledger: Ledger) -> None:
    donor = Identity.generate()
    ledger.book([Session(ME, owner=donor).booking(4), Session(ME, owner=donor).booking(5)], NOW)
    (group,) = ledger.history.by_peer(0, 10, NOW).groups
    assert (group.name, group.sums.earned, group.sums.people) == (donor.peer_id, 9, 1)


def test_a_delegation_that_had_expired_or_is_another_clients_is_refused(ledger: Ledger) -> None:
    old = Session(ME, owner=Identity.generate(), opened=NOW - 2000)
    late = Session(ME, client=old.client)
    assert ledger.book([Booking(late.booking(4).data, old.delegation)], NOW) == [Outcome.REFUSED]
    assert ledger.book([Booking(Session(ME).booking(4).data, old.delegation)], NOW) == [Outcome.REFUSED]


def test_what_others_did_for_this_donor_is_spent_only_when_they_agree(ledger: Ledger) -> None:
    session = Session(Identity.generate(), owner=ME)
    assert ledger.book([session.booking(6)], NOW) == [Outcome.REFUSED]
    assert ledger.book([session.booking(6, is_countersigned=True)], NOW) == [Outcome.BOOKED]
    assert ledger.history.summary(NOW + 1).balance == -6


def test_old_entries_are_added_up_by_day_and_no_total_changes(ledger: Ledger) -> None:
    donor = Identity.generate()
    for hour in range(3):
        ledger.book([Session(ME, owner=donor, opened=NOW + 3600 * hour).booking(5)], NOW + 3600 * hour)
    going_on = Session(ME, opened=NOW)
    ledger.book([going_on.booking(1)], NOW)
    later = NOW + KEEP_S + 5 * DAY_S
    ledger.book([Session(ME, opened=later).booking(7)], later)
    before = ledger.history.summary(later)
    ledger.add_up_old(later)
    after = ledger.history.summary(later)
    assert (after.total.earned, after.total.tokens, after.total.people) == (23, 35, before.total.people)
    found = ledger.check()
    assert found.receipts == 1
    assert found.entries < 5
    assert ledger.book([going_on.booking(2)], later) == [Outcome.REFUSED]
    ledger.add_up_old(later)
    assert ledger.check().entries == found.entries


def test_history_has_no_gaps_and_adds_up(ledger: Ledger) -> None:
    session = Session(ME, opened=NOW - 3 * DAY_S)
    ledger.name_model(SWARM, "a-model")
    ledger.book([session.booking(2)], NOW - 3 * DAY_S)
    ledger.book([session.booking(7)], NOW)
    days = ledger.history.series(Period.DAY, 5, NOW).periods
    assert [item.earned for item in days] == [0, 2, 0, 0, 5]
    assert [later.start == earlier.end for earlier, later in pairwise(days)] == [True] * 4
    assert sum(item.earned for item in ledger.history.series(Period.MONTH, 2, NOW).periods) == 7
    assert sum(item.earned for item in ledger.history.series(Period.WEEK, 2, NOW).periods) == 7
    assert [item.earned for item in ledger.history.series(Period.HOUR, 2, NOW).periods] == [0, 5]
    assert [group.name for group in ledger.history.by_model(0, 10, NOW).groups] == ["a-model"]


def test_entries_are_read_page_by_page(ledger: Ledger) -> None:
    ledger.book([Session(ME).booking(amount) for amount in range(1, 6)], NOW)
    first = ledger.history.entries(0, 3)
    assert first.next is not None
    rest = ledger.history.entries(first.next, 3)
    assert [item.points for item in (*first.entries, *rest.entries)] == [1, 2, 3, 4, 5]
    assert rest.next is None
    assert {item.payee for item in first.entries} == {ME.peer_id}


def test_vouchers_of_donors_whose_word_is_worth_nothing_are_not_kept(ledger: Ledger) -> None:
    helper, friend, stranger = (Identity.generate() for _ in range(3))
    by_helper, by_friend = Session(friend, owner=helper), Session(stranger, owner=friend)
    chain = [by_friend.voucher(5), by_helper.voucher(5), by_friend.voucher(6)]
    assert ledger.keep_vouchers(chain, NOW) == 0
    ledger.book([Session(helper, owner=ME).booking(10, is_countersigned=True)], NOW)
    assert ledger.keep_vouchers(chain, NOW) == 2  # in this order: the helper's word makes the friend's worth something
    assert ledger.keep_vouchers(chain, NOW) == 0
    assert ledger.worths([stranger.peer_id]) == {stranger.peer_id: 5}


def test_vouchers_about_ourselves_and_for_oneself_are_not_kept(ledger: Ledger) -> None:
    helper = Identity.generate()
    ledger.book([Session(helper, owner=ME).booking(10, is_countersigned=True)], NOW)
    pairs = ((ME, helper), (helper, ME), (helper, helper))
    assert ledger.keep_vouchers([Session(server, owner=owner).voucher(5) for server, owner in pairs], NOW) == 0


def test_check_finds_credit_that_no_receipt_explains(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite", ME)
    ledger.book([Session(ME).booking(5)], NOW)
    database = connect(tmp_path / "ledger.sqlite")
    database.execute("UPDATE entry SET points = 6")
    problems = ledger.check().problems
    assert any("receipt says" in text for text in problems)
    assert any("sum of its entries" in text for text in problems)
    database.execute("UPDATE account SET credits = credits + 1 WHERE credits > 0")
    assert ledger.check().sum_points == 1
    database.close()
    ledger.close()


def test_a_file_that_is_no_ledger_or_a_newer_one_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"not a database at all, but long enough to look like one" * 20)
    with pytest.raises(LedgerError, match="cannot be used"):
        connect(path)
    newer = connect(tmp_path / "newer.sqlite")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(LedgerError, match="newer version"):
        connect(tmp_path / "newer.sqlite")
    assert path.read_bytes().startswith(b"not a database")
