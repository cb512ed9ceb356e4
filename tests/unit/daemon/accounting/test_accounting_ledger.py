"""What the ledger books, and that nothing moves twice."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from helpers.receipts import NOW, SWARM, Session
from potluck_control.methods.earnings import Period
from potluck_daemon.accounting import ledger as module
from potluck_daemon.accounting.ledger import KEEP_S, MODEL, PERSON, Ledger
from potluck_daemon.accounting.tables import LedgerError
from potluck_daemon.accounting.usage import Amounts, period_starts

from potluck.membership.identity import Identity
from potluck.protocol.blocks import PersonId
from potluck.protocol.receipts import sign_receipt

DAY_S = 86400
ME = Identity.generate()
ANA, BOB = PersonId("a" * 64), PersonId("b" * 64)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger(tmp_path / "ledger.sqlite", ME)
    assert (tmp_path / "ledger.sqlite").stat().st_mode & 0o077 == 0, "only its owner can read it"
    yield opened
    assert opened.check().problems == ()
    opened.close()


def earned(ledger: Ledger, now: float = NOW) -> int:
    return ledger.summary(now + 1).total.earned


def test_only_the_last_receipt_of_a_session_counts_and_one_that_comes_again_moves_nothing(ledger: Ledger) -> None:
    session = Session(ME)
    first, second = session.booking(3), session.booking(10)
    outcomes = ledger.book([first, second, second, first], NOW)
    assert outcomes == [True, True, False, False]
    assert earned(ledger) == 10


def test_work_never_shrinks(ledger: Ledger) -> None:
    session = Session(ME)
    assert ledger.book([session.booking(10), session.booking(9)], NOW) == [True, False]
    assert ledger.book([session.booking(10, tokens=6)], NOW) == [False]
    assert ledger.book([session.booking(10, tokens=8)], NOW) == [True]
    assert earned(ledger) == 10


def test_another_client_swarm_or_person_cannot_use_a_tab(ledger: Ledger) -> None:
    session, thief = Session(ME), Session(ME)
    elsewhere = Session(ME, client=session.client, swarm=bytes(16))
    somebody = Session(ME, client=session.client, person=ANA)
    thief.tab = elsewhere.tab = somebody.tab = session.tab
    bookings = [session.booking(1), *(other.booking(50, seq=9) for other in (thief, elsewhere, somebody))]
    assert ledger.book(bookings, NOW) == [True, *[False] * 3]
    assert earned(ledger) == 1


def test_work_at_another_time_is_refused(ledger: Ledger) -> None:
    times = NOW - KEEP_S - 1, NOW + 2 * DAY_S
    assert ledger.book([Session(ME, opened=at).booking(6) for at in times], NOW) == [False] * 2


def test_receipts_through_the_wrong_door_are_refused(ledger: Ledger) -> None:
    ours, theirs = Session(ME), Session(Identity.generate())
    assert ledger.book([theirs.booking(5)], NOW) == [False]
    assert ledger.record([ours.booking(5)], "a-model", NOW) == [False]


def test_what_others_did_is_received_and_takes_nothing_from_what_was_earned(ledger: Ledger) -> None:
    session = Session(Identity.generate(), person=ANA)
    ledger.book([Session(ME, person=ANA).booking(4), Session(ME, person=ANA).booking(5)], NOW)
    first, last = session.booking(2), session.booking(6)
    for _ in range(2):  # as a program does that doesn't know whether they arrived
        ledger.record([first, last], "a-model", NOW)
    (group,) = ledger.groups(PERSON, 0, 10, NOW).groups
    assert (group.name, group.sums.earned, group.sums.received, group.sums.people) == (ANA, 9, 6, 1)
    assert group.sums.tokens == 14
    assert [group.name for group in ledger.groups(MODEL, 0, 10, NOW).groups] == ["a-model"]


def test_a_persons_work_is_worth_what_their_computers_did_for_the_owners_programs(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    for person, points in ((ANA, 3), (BOB, 5), (ANA, 4)):
        ledger.record([Session(Identity.generate(), person=person).booking(points)], "a-model", NOW)
    ledger.book([Session(ME, person=BOB).booking(1000)], NOW)
    assert ledger.worth() == ((ANA, 7), (BOB, 5))
    monkeypatch.setattr(module, "MAX_PEOPLE", 1)
    assert ledger.worth() == ((ANA, 7),)


def test_old_entries_are_added_up_by_day_and_no_total_changes(ledger: Ledger) -> None:
    for hour in range(3):
        ledger.book([Session(ME, person=ANA, opened=NOW + 3600 * hour).booking(5)], NOW + 3600 * hour)
    ledger.record([Session(Identity.generate(), person=ANA).booking(2)], "a-model", NOW)
    going_on = Session(ME, opened=NOW)
    ledger.book([going_on.booking(1)], NOW)
    later = NOW + KEEP_S + 5 * DAY_S
    ledger.book([Session(ME, opened=later).booking(7)], later)
    before = ledger.summary(later).total
    ledger.add_up_old(later)
    after = ledger.summary(later).total
    assert (after.earned, after.received, after.tokens, after.people) == (23, 2, 35, before.people)
    found = ledger.check()
    assert found.receipts == 1
    assert found.entries < 6
    assert ledger.book([going_on.booking(2)], later) == [False]
    ledger.add_up_old(later)
    assert ledger.check().entries == found.entries


def test_history_has_no_gaps_and_adds_up(ledger: Ledger) -> None:
    session = Session(ME, opened=NOW - 3 * DAY_S)
    ledger.name_model(SWARM, "a-model")
    ledger.book([session.booking(2)], NOW - 3 * DAY_S)
    ledger.book([session.booking(7)], NOW)
    days = ledger.series(Period.DAY, 5, NOW).periods
    assert [item.earned for item in days] == [0, 2, 0, 0, 5]
    assert [later.start == earlier.end for earlier, later in pairwise(days)] == [True] * 4
    assert sum(item.earned for item in ledger.series(Period.MONTH, 2, NOW).periods) == 7
    assert sum(item.earned for item in ledger.series(Period.WEEK, 2, NOW).periods) == 7
    assert [item.earned for item in ledger.series(Period.HOUR, 2, NOW).periods] == [0, 5]
    assert [group.name for group in ledger.groups(MODEL, 0, 10, NOW).groups] == ["a-model"]


def test_what_serving_took_is_told_beside_it_with_the_cost_at_the_users_price(ledger: Ledger) -> None:
    hour = int(period_starts(Period.HOUR, 1, NOW)[0])
    ledger.write_hours({hour - 3 * DAY_S: Amounts(60.0, 500.0, 3, 4), hour: Amounts(1.0, 0.0, 9, 9)})
    ledger.write_hours({hour: Amounts(3600.0, 1000.0, 1, 2)})  # as it is now
    assert ledger.hours(hour) == {hour: Amounts(3600.0, 1000.0, 1, 2)}
    total = ledger.summary(NOW + 1, price_kwh=0.5).total
    assert (total.served_s, total.energy_wh, total.cost) == (3660.0, 1500.0, 0.75)
    assert (total.sent_bytes, total.received_bytes) == (4, 6)
    days = ledger.series(Period.DAY, 4, NOW).periods
    assert [(item.sent_bytes, item.cost) for item in days] == [(3, None), (0, None), (0, None), (1, None)]


@pytest.mark.parametrize("change", ["points = 6", "tokens = 9", "person = 'Eve'", "is_earned = 0", "swarm = x''"])
def test_check_finds_an_entry_that_no_receipt_explains(change: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite", ME)
    ledger.book([Session(ME).booking(5)], NOW)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as database, database:
        database.execute(f"UPDATE entry SET {change}")
    assert any("receipt says" in str(text) for text in ledger.check().problems)
    ledger.close()


def test_check_finds_a_receipt_that_nobody_signed(tmp_path: Path) -> None:
    ledger, session = Ledger(tmp_path / "ledger.sqlite", ME), Session(ME)
    ledger.book([session.booking(5)], NOW)
    forged = sign_receipt(session.receipt(5), ME.sign)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as database, database:
        database.execute("UPDATE tab SET receipt = ?", (forged,))
    assert any("not signed" in str(text) for text in ledger.check().problems)
    ledger.close()


def test_a_file_that_is_no_ledger_or_one_of_another_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"not a database at all, but long enough to look like one" * 20)
    with pytest.raises(LedgerError, match="is damaged"):
        Ledger(path, ME)
    for version in (1, 99):
        with closing(sqlite3.connect(tmp_path / f"{version}.sqlite")) as other:
            other.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(LedgerError, match="another version"):
            Ledger(tmp_path / f"{version}.sqlite", ME)
    assert path.read_bytes().startswith(b"not a database")
