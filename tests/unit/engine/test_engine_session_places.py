"""The choice of the session that ends when all places are taken and another person asks for one."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from potluck_engine.sessions import QUIET_S, SessionTable, session_to_end

from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.codes import Code, RemoteError

ANA, BEN, CAT = PersonId("ana"), PersonId("ben"), PersonId("cat")
NOW = 10_000.0


@dataclass(eq=False)
class Session:
    person: PersonId
    quiet_since: float = NOW - 1.0
    span: Span = field(default_factory=lambda: Span(0, 1))
    ended: RemoteError | None = None
    is_spare: bool = False

    def end(self, error: RemoteError) -> None:
        self.ended = error


def test_who_holds_most_loses_the_session_that_was_quiet_longest() -> None:
    oldest = Session(ANA, NOW - 5)
    sessions = [Session(ANA), oldest, Session(ANA), Session(BEN, NOW - 9), Session(BEN)]
    assert session_to_end(sessions, CAT, NOW) is oldest


def test_two_who_have_one_each_do_not_take_each_others_place() -> None:
    assert session_to_end([Session(ANA), Session(BEN)], CAT, NOW) is None


def test_a_session_that_rests_makes_room_even_if_it_is_the_only_one() -> None:
    resting = Session(ANA, NOW - QUIET_S)
    assert session_to_end([resting, Session(BEN)], CAT, NOW) is resting


def test_nobody_gets_a_place_from_one_who_has_no_more() -> None:
    resting = [Session(ANA, NOW - 2 * QUIET_S), Session(BEN, NOW - 2 * QUIET_S)]
    assert session_to_end(resting, ANA, NOW) is None


def test_a_running_session_goes_only_if_its_person_has_no_quiet_one() -> None:
    running, quiet = Session(ANA, float("inf")), Session(ANA)
    assert session_to_end([running, quiet, Session(ANA, float("inf"))], BEN, NOW) is quiet


def test_a_full_table_tells_the_other_to_come_back_and_gives_its_place_away_at_once() -> None:
    table = SessionTable(max_sessions=2)
    first, second, third = Session(ANA, NOW - 2), Session(ANA), Session(BEN)
    for session in (first, second, third):
        table.add(session, NOW)
    assert first.ended is not None
    assert (first.ended.code, first.ended.retry_after_s) == (Code.BUSY, 5.0)
    assert second.ended is None
    with pytest.raises(RemoteError):
        table.add(Session(BEN), NOW)


def test_a_spare_session_makes_room_first_and_takes_nobodys_place() -> None:
    spare = Session(BEN, is_spare=True)
    assert session_to_end([Session(ANA, NOW - 2 * QUIET_S), spare, Session(ANA)], BEN, NOW) is spare
    table = SessionTable(max_sessions=1)
    table.add(Session(ANA, NOW - 2 * QUIET_S), NOW)
    with pytest.raises(RemoteError) as refused:
        table.add(Session(CAT, is_spare=True), NOW)
    assert refused.value.code is Code.BUSY
