"""What an error means for a session and its server, how long a server is left alone, and what callers hear of waits."""

from unittest.mock import Mock

import pytest
from helpers.server_records import server_of

from potluck.client.config import ClientConfig
from potluck.client.recovery import Action, Bans, judge
from potluck.client.servers import Failures, Wait
from potluck.client.session.reports import Outages, wait_text
from potluck.errors import SwarmError
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.routing.route import RouteHop

A, B, C = map(PeerId, "abc")
BROKEN, SILENT = RemoteError(Code.INTERNAL, "broken"), RemoteError(Code.UNREACHABLE, "silent")
BUSY = RemoteError(Code.BUSY, "full")
FAULT, UNPROVEN = judge(BROKEN), judge(SILENT)
PART = RouteHop(server_of("a", 0, 2), Span(0, 2))


def bans() -> Bans:
    return Bans(ClientConfig(ban_s=10.0, max_ban_s=60.0))


@pytest.mark.parametrize(("told_s", "away_s"), [(None, 5.0), (60.0, 60.0), (0.1, 0.5), (0.0, 0.5)])
def test_a_full_server_is_left_alone_for_as_long_as_it_says(told_s: float | None, away_s: float) -> None:
    assert judge(RemoteError(Code.BUSY, "full", retry_after_s=told_s)).away_s == away_s


def test_a_faulty_server_cannot_choose_its_own_ban() -> None:
    assert judge(RemoteError(Code.INTERNAL, "broken", retry_after_s=1.0)).away_s == 0.0


def test_each_kind_of_error_has_its_consequence() -> None:
    verdicts = {code: judge(RemoteError(code, "")) for code in Code}
    assert {code for code, verdict in verdicts.items() if verdict.is_fault} == {Code.BAD_REPLY, Code.INTERNAL}
    assert [code for code, verdict in verdicts.items() if verdict.is_unproven] == [Code.UNREACHABLE]
    given_up = {code for code, verdict in verdicts.items() if verdict.action is Action.GIVE_UP}
    assert given_up == {Code.BAD_REQUEST, Code.NOT_A_MEMBER}
    reopened = {code for code, verdict in verdicts.items() if verdict.action is Action.REOPEN}
    assert reopened == {Code.ROLLBACK, Code.NO_ADAPTER}
    assert [code for code, verdict in verdicts.items() if verdict.for_this_session] == [Code.TOO_LONG, Code.REFUSED]
    assert [code for code, verdict in verdicts.items() if verdict.has_left] == [Code.DRAINING]


def test_a_ban_doubles_with_each_failure_in_a_row_up_to_the_longest() -> None:
    known, now = bans(), 100.0
    for ban_s in (10.0, 20.0, 40.0, 60.0, 60.0):
        known.record(A, FAULT, now)
        assert known.current(now + ban_s - 0.1) == {A}
        now += ban_s
        assert known.current(now) == frozenset()


def test_calls_that_were_on_their_way_together_fail_as_one() -> None:
    known = bans()
    for now in (0.0, 0.1, 9.9):
        known.record(A, FAULT, now)
    assert known.current(9.9) == {A}
    assert known.current(10.0) == frozenset()
    known.record(A, FAULT, 10.0)
    assert known.current(29.9) == {A}


def test_work_that_was_done_ends_the_row_and_forgiving_does_not() -> None:
    known = bans()
    known.record(A, FAULT, 0.0)
    known.forgive([A])
    assert known.current(1.0) == frozenset()
    known.record(A, FAULT, 1.0)
    assert known.current(20.9) == {A}
    known.clear(A)
    known.record(A, FAULT, 30.0)
    assert known.current(40.0) == frozenset()


def test_a_server_that_could_not_be_reached_is_avoided_but_its_ban_does_not_grow() -> None:
    known = bans()
    known.record(A, UNPROVEN, 0.0)
    assert known.recovering(1.0) == known.current(1.0) == {A}
    known.forgive([A])
    assert known.recovering(2.0) == known.current(2.0) == frozenset()
    known.record(A, UNPROVEN, 3.0)
    known.record(A, FAULT, 3.0)
    assert known.current(12.9) == {A}
    assert known.current(13.0) == frozenset()


def test_a_shorter_time_never_shortens_a_longer_one() -> None:
    known = bans()
    for away_s in (50.0, 5.0):
        known.record(A, judge(RemoteError(Code.BUSY, "full", retry_after_s=away_s)), 0.0)
    assert known.current(49.0) == {A}
    known.record(B, judge(RemoteError(Code.BAD_REQUEST, "wrong")), 0.0)
    assert B not in known.current(0.0)


def test_who_failed_or_left_may_be_back_early_and_who_is_busy_is_left_alone() -> None:
    known = bans()
    known.record(A, judge(RemoteError(Code.DRAINING, "bye")), 0.0)
    known.record(B, FAULT, 0.0)
    known.record(C, judge(RemoteError(Code.BUSY, "full", retry_after_s=50.0)), 0.0)
    assert (known.recovering(1.0), known.recovering(10.0)) == ({A, B}, {A})
    assert known.current(29.0) == {A, C}
    for forget in (lambda: known.forgive([A]), lambda: known.clear(A)):
        known.record(A, judge(RemoteError(Code.DRAINING, "bye")), 0.0)
        forget()
        assert (known.recovering(1.0), known.current(1.0)) == ({B}, {B, C})


def test_only_servers_that_fail_with_the_request_end_the_attempts_early() -> None:
    failures = Failures(Mock(), ClientConfig(max_recoveries=2))
    for error, was_given in ((BUSY, True), (BROKEN, False), (BUSY, True), (SILENT, True), (BROKEN, True)):
        failures.record(PART, error, was_given=was_given)
    failures.record(PART, BROKEN, may_end=False)
    with pytest.raises(SwarmError):
        failures.record(PART, BROKEN)


def test_being_refused_ends_the_attempts_with_the_patience_which_begins_anew_after_an_answer() -> None:
    failures = Failures(Mock(), ClientConfig(max_wait_s=60.0))
    for _ in range(50):
        failures.record(PART, BUSY)
    failures.wait.since_s -= 60.0
    failures.record_success(PART)
    failures.record(PART, BUSY)
    failures.wait.since_s -= 60.0
    with pytest.raises(SwarmError):
        failures.record(PART, BUSY)


def test_layers_are_counted_from_one() -> None:
    assert str(wait_text((Span(4, 5),))) == "Layer 5 is gone. Waiting for a server."
    assert str(wait_text((Span(0, 2), Span(4, 5)))) == "Layers 1-2 and 5 are gone. Waiting for a server."


def test_sessions_that_miss_the_same_blocks_are_told_once_and_the_end_when_none_waits() -> None:
    told: list[tuple[Span, ...]] = []
    outages = Outages()
    outages.on_wait = told.append
    outages.update("one", (Span(4, 6),))
    outages.update("other", (Span(4, 6),))
    outages.update("other", (Span(6, 8),))
    outages.update("one", ())
    outages.update("other", ())
    outages.update("other", ())
    assert told == [(Span(4, 6),), (Span(4, 8),), (Span(6, 8),), ()]


def test_a_wait_lasts_from_its_first_failure_without_the_time_of_a_suspended_client() -> None:
    wait = Wait(120.0, since_s=0.0)
    for now in (100.0, 130.0):
        wait.record_failure(RemoteError(Code.UNREACHABLE, "gone"), now)
    assert wait.left_s(150.0) == 70.0
    wait.exclude_pause(took_s=15.0, longest_s=16.0)
    assert wait.left_s(150.0) == 70.0
    wait.exclude_pause(took_s=78.0, longest_s=16.0)
    assert wait.left_s(150.0) == 130.0
