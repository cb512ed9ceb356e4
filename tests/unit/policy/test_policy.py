"""The table of the policy, row by row, and the properties that no row may break."""

import itertools

import pytest
from potluck_daemon.policy import (
    EngineView,
    Evidence,
    Inputs,
    Limits,
    Order,
    Over,
    Phase,
    Presence,
    decide,
    is_finished,
)
from potluck_daemon.states import Certainty, Reason, State

LIMITS = Limits(quiet_certain_s=15, quiet_likely_s=90, end_engine_after_s=30)
GAME = Evidence(Reason.GAME, "supertux2", since=100.0)
VIDEO = Evidence(Reason.FULL_SCREEN, "mystery", Certainty.LIKELY, since=100.0)
PLAYING = Presence((GAME,))
NOW = 110.0


def inputs(phase: Phase = Phase.ONLINE, **more: object) -> Inputs:
    engine = EngineView(phase, serving="blocks 0:4 of tiny")
    return Inputs(limits=LIMITS, engine=engine, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "state", "reason", "order"),
    [
        (inputs(Phase.ENDED), State.STARTING, Reason.NONE, Order.START),
        (inputs(Phase.STARTING), State.STARTING, Reason.NONE, Order.NOTHING),
        (inputs(Phase.JOINING), State.JOINING, Reason.NONE, Order.NOTHING),
        (inputs(Phase.ONLINE), State.SERVING, Reason.NONE, Order.NOTHING),
        (inputs(Phase.OFFLOADING), State.JOINING, Reason.NONE, Order.NOTHING),
        (inputs(Phase.OFFLOADED), State.JOINING, Reason.NONE, Order.RESTORE),
        (inputs(Phase.RESTORING), State.JOINING, Reason.NONE, Order.NOTHING),
        (inputs(Phase.STOPPING), State.STARTING, Reason.NONE, Order.NOTHING),
        (inputs(is_paused=True), State.DRAINING, Reason.USER, Order.STOP),
        (inputs(Phase.ENDED, is_paused=True), State.PAUSED, Reason.USER, Order.NOTHING),
        (inputs(Phase.ENDED, is_paused=True, pause_left_s=60.0), State.PAUSED, Reason.TIMER, Order.NOTHING),
        (inputs(Phase.OFFLOADED, is_paused=True), State.PAUSED, Reason.USER, Order.STOP),
        (inputs(Phase.ENDED, has_swarm=False), State.IDLE, Reason.NO_SWARM, Order.NOTHING),
        (inputs(Phase.ENDED, is_enabled=False), State.IDLE, Reason.SWITCHED_OFF, Order.NOTHING),
        (inputs(presence=PLAYING), State.DRAINING, Reason.GAME, Order.OFFLOAD),
        (inputs(Phase.OFFLOADING, presence=PLAYING), State.DRAINING, Reason.GAME, Order.NOTHING),
        (inputs(Phase.OFFLOADED, presence=PLAYING), State.YIELDED, Reason.GAME, Order.NOTHING),
        (inputs(Phase.RESTORING, presence=PLAYING), State.DRAINING, Reason.GAME, Order.STOP),
        (inputs(Phase.STARTING, presence=PLAYING), State.DRAINING, Reason.GAME, Order.STOP),
        (inputs(Phase.JOINING, presence=PLAYING), State.DRAINING, Reason.GAME, Order.STOP),
        (inputs(Phase.ENDED, presence=PLAYING), State.YIELDED, Reason.GAME, Order.NOTHING),
        (inputs(Phase.OFFLOADED, presence=PLAYING, is_memory_short=True), State.YIELDED, Reason.GAME, Order.STOP),
        (inputs(Phase.ONLINE, is_memory_short=True), State.SERVING, Reason.NONE, Order.NOTHING),
        (inputs(finish_left_s=60.0), State.DRAINING, Reason.SHUTDOWN, Order.DRAIN),
        (inputs(Phase.FINISHING, finish_left_s=60.0), State.DRAINING, Reason.SHUTDOWN, Order.NOTHING),
        (inputs(Phase.ENDED, finish_left_s=60.0), State.DRAINING, Reason.SHUTDOWN, Order.NOTHING),
        (inputs(Phase.FINISHING), State.JOINING, Reason.NONE, Order.STOP),  # taken back
        (inputs(Phase.FINISHING, presence=PLAYING), State.DRAINING, Reason.GAME, Order.OFFLOAD),
        (inputs(Phase.FINISHING, finish_left_s=60.0, is_ending=True), State.DRAINING, Reason.SHUTDOWN, Order.STOP),
        (inputs(is_ending=True), State.DRAINING, Reason.SHUTDOWN, Order.STOP),
        (inputs(Phase.STOPPING, is_ending=True, is_paused=True), State.DRAINING, Reason.SHUTDOWN, Order.NOTHING),
    ],
)
def test_each_row_of_the_table(given: Inputs, state: State, reason: Reason, order: Order) -> None:
    decision = decide(given, NOW)
    assert (decision.state, decision.reason, decision.order) == (state, reason, order)


def test_the_engine_is_ended_when_a_game_lasts() -> None:
    given = inputs(Phase.OFFLOADED, presence=PLAYING)
    assert decide(given, 129.9).order is Order.NOTHING
    assert decide(given, 129.9).wake_in_s == pytest.approx(0.1)
    assert decide(given, 130.0).order is Order.STOP


@pytest.mark.parametrize(("evidence", "quiet_s"), [(GAME, 15), (VIDEO, 90)])
def test_serving_resumes_only_after_the_quiet_time(evidence: Evidence, quiet_s: float) -> None:
    given = inputs(Phase.OFFLOADED, presence=Presence(over=(Over(evidence, 200.0),)))
    before = decide(given, 200.0 + quiet_s - 1)
    assert (before.state, before.reason, before.order) == (State.YIELDED, Reason.QUIET_TIME, Order.NOTHING)
    assert before.left_s == pytest.approx(1)
    assert decide(given, 200.0 + quiet_s).order is Order.RESTORE


def test_an_ended_engine_stays_ended_through_the_quiet_time_and_starts_after() -> None:
    given = inputs(Phase.ENDED, presence=Presence(over=(Over(GAME, 200.0),)))
    assert decide(given, 201.0).order is Order.NOTHING
    assert decide(given, 216.0).order is Order.START


def test_a_failed_engine_waits_for_its_retry_and_says_why() -> None:
    engine = EngineView(Phase.ENDED, failure="The engine ran out of memory", retry_at=NOW + 8)
    decision = decide(Inputs(limits=LIMITS, engine=engine), NOW)
    assert (decision.state, decision.order, decision.left_s) == (State.ERROR, Order.NOTHING, 8)
    assert decision.text == "The engine ran out of memory"
    assert decide(Inputs(limits=LIMITS, engine=engine), NOW + 8).order is Order.START


ALL = [
    inputs(phase, is_ending=ending, is_paused=paused, has_swarm=swarm, is_enabled=enabled, presence=presence,
           is_memory_short=short)
    for phase, ending, paused, swarm, enabled, presence, short in itertools.product(
        Phase, (False, True), (False, True), (False, True), (False, True),
        (Presence(), PLAYING, Presence((VIDEO,)), Presence(over=(Over(VIDEO, NOW - 1),))), (False, True),
    )
]  # fmt: skip


def test_nothing_is_started_or_restored_while_anything_speaks_against_it() -> None:
    for given in ALL:
        free = not given.is_ending and not given.is_paused and given.has_swarm and given.is_enabled
        calm = not given.presence.evidence and not given.presence.over
        if decide(given, NOW).order in (Order.START, Order.RESTORE):
            assert free
            assert calm


def test_every_situation_leads_to_rest() -> None:
    """Obeying the orders, whatever the situation, ends in a state that asks for nothing more."""
    after = {
        Order.START: Phase.ONLINE,
        Order.RESTORE: Phase.ONLINE,
        Order.OFFLOAD: Phase.OFFLOADED,
        Order.STOP: Phase.ENDED,
    }
    for given in ALL:
        for _ in range(3):
            order = decide(given, NOW).order
            if order is Order.NOTHING:
                break
            given = Inputs(
                **{name: getattr(given, name) for name in Inputs.__slots__} | {"engine": EngineView(after[order])}
            )
        assert decide(given, NOW).order is Order.NOTHING


def test_every_decision_has_a_sentence_for_people() -> None:
    assert all(decide(given, NOW).text for given in ALL)


@pytest.mark.parametrize(
    ("phase", "sessions", "left_s", "presence", "ends"),
    [
        (Phase.FINISHING, 2, 10.0, Presence(), False),
        (Phase.ONLINE, 2, 10.0, Presence(), False),
        (Phase.FINISHING, 0, 10.0, Presence(), True),  # nothing is open any more
        (Phase.FINISHING, 2, 0.0, Presence(), True),  # time is up
        (Phase.FINISHING, 2, 10.0, PLAYING, True),  # a game does not wait
        (Phase.OFFLOADED, 2, 10.0, Presence(), True),
        (Phase.ENDED, 0, 10.0, Presence(), True),
        (Phase.JOINING, 0, 10.0, Presence(), True),
    ],
)
def test_who_was_told_to_finish_ends_as_soon_as_nothing_is_left_to_wait_for(
    phase: Phase, sessions: int, left_s: float, presence: Presence, ends: bool
) -> None:
    engine = EngineView(phase, sessions=sessions)
    assert is_finished(Inputs(LIMITS, engine, presence, finish_left_s=left_s)) is ends


def test_a_pause_of_the_game_says_so() -> None:
    assert "until the game ends" in decide(inputs(Phase.ENDED, is_paused=True, is_pause_of_game=True), NOW).text
