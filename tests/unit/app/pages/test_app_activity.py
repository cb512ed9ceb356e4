"""What happened on this computer: rows for what mattered to the person, and programs to ignore from now on."""

import pytest
from helpers.app_answers import ANSWERS, SERVING
from helpers.screen import buttons, opened_alone, press, shown
from msgspec import structs
from potluck_app.pages.home.activity import ActivitySection, worth_showing
from potluck_control.api.schema import HistoryPage, Transition
from potluck_control.methods.machine import PlacedProgram, PlaceParams, ProgramPlace
from potluck_control.states import Reason, State

from potluck.sentences import verbatim


def went(at: float, state: State, reason: Reason = Reason.NONE, app: str = "") -> Transition:
    return Transition(at, State.SERVING, state, reason, verbatim(f"{state} at {at}"), app)


PAUSE = (went(10, State.DRAINING, Reason.TIMER), went(11, State.PAUSED, Reason.TIMER))
START = (went(50, State.STARTING), went(52, State.STARTING), went(55, State.JOINING))
GAME = (went(60, State.DRAINING, Reason.GAME, "doom"), went(61, State.YIELDED, Reason.GAME, "doom"))
OVER = (went(70, State.YIELDED, Reason.QUIET_TIME, "doom"), went(85, State.JOINING))
AGAIN = went(90, State.SERVING)


def test_a_program_is_never_stepped_aside_for_and_that_can_be_undone() -> None:
    page, link = opened_alone(ActivitySection, ANSWERS)
    assert "Giving way to Doom" in shown(page)
    press(page, "Never for this app")
    assert link.named("programs.place") == [PlaceParams("doom", ProgramPlace.NEVER)]
    link.answer("programs.place", PlacedProgram("doom", ProgramPlace.NEVER, ProgramPlace.ALWAYS))
    assert "Potluck now keeps serving while doom runs." in shown(page)
    assert "Never for this app" not in buttons(page)
    press(page, "Undo")
    assert link.named("programs.place")[-1] == PlaceParams("doom", ProgramPlace.ALWAYS)
    link.answer("programs.place", PlacedProgram("doom", ProgramPlace.ALWAYS, ProgramPlace.NEVER))
    assert "Never for this app" in buttons(page)


def test_the_history_is_asked_for_again_when_the_state_changes() -> None:
    page, link = opened_alone(ActivitySection, ANSWERS | {"history": HistoryPage(())})
    assert "Nothing here yet" in shown(page)
    page.show_status(SERVING)
    page.show_status(structs.replace(SERVING, tokens_today=5))
    asked = len(link.named("history"))
    page.show_status(structs.replace(SERVING, since=6.0))
    assert len(link.named("history")) == asked + 1


def test_more_rows_and_their_filters_are_shown_on_request() -> None:
    states = (State.ERROR, State.YIELDED, State.PAUSED, State.IDLE, State.SERVING, State.DRAINING)
    history = HistoryPage(tuple(went(at, state, Reason.BATTERY) for at, state in enumerate(states)))
    page, _ = opened_alone(ActivitySection, ANSWERS | {"history": history})
    assert "Problems" not in buttons(page)
    assert "Something failed" not in shown(page)
    press(page, "Show more")
    assert "Something failed" in shown(page)
    press(page, "Problems")
    assert "Serving" not in shown(page)
    press(page, "Show less")
    assert "Serving" in shown(page)


@pytest.mark.parametrize(
    ("transitions", "rows"),
    [
        ((*PAUSE, *START, AGAIN), [11, 90]),
        ((AGAIN, *GAME, *OVER, went(95, State.SERVING)), [90, 61, 95]),
        ((*GAME, *OVER[:1], *GAME), [61]),  # it came back within the wait
        ((*PAUSE[:1], *GAME), [10, 61]),
        (START, [55]),  # as it stands
        ((went(5, State.IDLE, Reason.NO_SWARM), *START, AGAIN), [90]),
        ((went(5, State.STARTING), went(5000, State.SERVING)), [5, 5000]),  # it took long
        ((went(5, State.JOINING, Reason.NOT_ADMITTED), AGAIN), [5, 90]),
        ((went(5, State.SERVING), went(50, State.SERVING, Reason.USER_ACTIVE), went(900, State.SERVING)), [5]),
        ((went(5, State.ERROR, Reason.ENGINE_FAILED), *START, went(60, State.ERROR, Reason.ENGINE_FAILED)), [5]),
        ((), []),
    ],
)
def test_each_thing_that_happened_has_one_row(transitions: tuple[Transition, ...], rows: list[float]) -> None:
    assert [row.at for row in worth_showing(transitions)] == rows


def test_a_row_of_several_states_says_the_last() -> None:
    (row,) = worth_showing((went(5, State.SERVING), AGAIN))
    assert (row.at, str(row.text)) == (5, "serving at 90")
