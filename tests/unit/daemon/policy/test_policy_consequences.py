"""What follows from decisions: questions whether a program is a game, and who stays in the swarm without an engine."""

from dataclasses import replace

from potluck_control.schema import ProgramQuestion
from potluck_control.states import Reason, State
from potluck_daemon.policy.decide import Decision, Evidence, Rung
from potluck_daemon.policy.questions import MAX_QUESTIONS, follow
from potluck_daemon.policy.standing_by import is_short, stands_by

UNSURE = Decision(State.YIELDED, Reason.FULL_SCREEN, "Giving way", Rung.ENDED, app="hedgewars", app_title="Hedgewars")
OPEN = ProgramQuestion("hedgewars", "Hedgewars")
CLOSED = replace(OPEN, is_open=False)


def test_a_program_that_only_looks_like_a_game_is_asked_about_once() -> None:
    assert follow((), UNSURE, ()) == follow((OPEN,), UNSURE, ()) == (OPEN,)


def test_nothing_is_asked_about_what_is_known_or_cannot_stand_on_a_list() -> None:
    for decision in (
        replace(UNSURE, reason=Reason.GAME),
        replace(UNSURE, state=State.SERVING),
        replace(UNSURE, app=""),
        replace(UNSURE, app="a,b"),
    ):
        assert follow((), decision, ()) == ()


def test_a_listed_program_is_answered_for_and_not_asked_about_again() -> None:
    assert follow((), UNSURE, ("Hedgewars",)) == ()
    assert follow((OPEN,), UNSURE, ("Hedgewars",)) == (CLOSED,)
    assert follow((CLOSED,), UNSURE, ()) == (CLOSED,)  # the answer was taken back


def test_the_questions_are_bounded_in_number_and_length() -> None:
    many = tuple(ProgramQuestion(f"app{number}", "App") for number in range(MAX_QUESTIONS))
    assert follow(many, UNSURE, ()) == many
    (question,) = follow((), replace(UNSURE, app_title="x" * 1000), ())
    assert len(question.title) == 80


def test_a_busy_program_in_a_window_is_asked_about_while_potluck_serves() -> None:
    serving = replace(UNSURE, state=State.SERVING, reason=Reason.NONE, app="", app_title="")
    busy = Evidence(Reason.FULL_SCREEN, "Hedgewars", app="hedgewars")
    assert follow((), serving, (), (busy, busy)) == (OPEN,)
    assert follow((), serving, ("Hedgewars",), (busy,)) == ()
    assert follow((CLOSED,), UNSURE, (), (busy,)) == (CLOSED,)


def decided(reason: Reason, rung: Rung = Rung.ENDED) -> Decision:
    return Decision(State.PAUSED, reason, "", rung)


def test_a_member_who_pauses_or_plays_stays_in_the_swarm() -> None:
    for reason in (Reason.USER, Reason.TIMER, Reason.GAME, Reason.SCHEDULE, Reason.ENGINE_FAILED):
        assert stands_by(decided(reason), is_memory_short=False)
        assert not stands_by(decided(reason), is_memory_short=True)


def test_nobody_stays_whose_computer_leaves_or_whose_bytes_cost_something() -> None:
    for reason in (Reason.SHUTDOWN, Reason.SLEEP, Reason.SWITCHED_OFF, Reason.METERED, Reason.BATTERY):
        assert not stands_by(decided(reason), is_memory_short=False)


def test_an_engine_keeps_its_own_node_while_it_gives_back_the_device() -> None:
    assert not stands_by(decided(Reason.GAME, Rung.OFFLOADED), is_memory_short=False)
    assert stands_by(decided(Reason.NONE, Rung.ONLINE), is_memory_short=False)  # until the engine takes over


def test_memory_that_was_short_must_be_plenty_before_it_counts() -> None:
    assert is_short(99, 100, was_short=False)
    assert not is_short(101, 100, was_short=False)
    assert is_short(199, 100, was_short=True)
    assert not is_short(201, 100, was_short=True)
