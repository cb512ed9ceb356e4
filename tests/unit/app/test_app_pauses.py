"""Which pauses are offered, and how long they are."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pytest
from potluck_app.words.pauses import PauseChoice, offered
from potluck_control.schema import PauseParams, Status, SwarmStatus
from potluck_control.states import Reason, State

SERVING = Status(State.SERVING, Reason.NONE, "", since=0.0, version="1", swarm=SwarmStatus("friday", "demo", 4))
ALWAYS = (PauseChoice.HOUR, PauseChoice.MORNING, PauseChoice.RESUMED)


@pytest.mark.parametrize(("hour", "hours"), [(22, 10), (0, 8), (7, 1), (8, 24), (12, 20)])
def test_the_morning_is_the_next_one(hour: int, hours: int) -> None:
    assert PauseChoice.MORNING.params(datetime.datetime(2026, 1, 14, hour)) == PauseParams(hours * 3600.0)


def test_the_other_pauses_are_as_the_daemon_takes_them() -> None:
    now = datetime.datetime(2026, 1, 14, 12)
    given = [pause.params(now) for pause in (PauseChoice.HOUR, PauseChoice.GAME, PauseChoice.RESUMED)]
    assert given == [PauseParams(3600.0), PauseParams(until_game_ends=True), PauseParams()]


def test_the_end_of_a_game_is_offered_only_while_one_runs_and_by_a_daemon_that_can() -> None:
    playing = replace(SERVING, state=State.YIELDED, reason=Reason.GAME, ends="when it is over")
    assert offered(playing) == tuple(PauseChoice)
    assert offered(replace(playing, ends="")) == ALWAYS
    assert offered(SERVING) == ALWAYS


@pytest.mark.parametrize(
    "status",
    [
        None,
        replace(SERVING, swarm=None),
        replace(SERVING, state=State.PAUSED, reason=Reason.TIMER),
        replace(SERVING, state=State.DRAINING, reason=Reason.SHUTDOWN),
    ],
)
def test_no_pause_is_offered_where_it_would_do_nothing(status: Status | None) -> None:
    assert offered(status) == ()
