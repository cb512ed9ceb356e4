"""The table of the policy, row by row, and the properties that no row may break."""

import itertools
from dataclasses import replace

import pytest
from msgspec import structs
from potluck_control.api.schema import ProgramQuestion
from potluck_control.processes.engine_messages import Waiting
from potluck_control.settings import Settings, WhenSettings, YieldSettings
from potluck_control.states import Certainty, Reason, State
from potluck_daemon.policy.decide import decide, is_worth_a_start, stands_by
from potluck_daemon.policy.model import (
    LONGEST_WAIT_S,
    PASSING_S,
    Decision,
    EndedEvidence,
    EngineOrder,
    EngineView,
    Evidence,
    Inputs,
    Phase,
    Presence,
    Rung,
)
from potluck_daemon.policy.questions import MAX_QUESTIONS, next_questions
from potluck_daemon.settings.state import Pause

from potluck.protocol.codes import Denial
from potluck.sentences import NOTHING, verbatim

SETTINGS = Settings(yield_=YieldSettings(quiet_certain_s=15, quiet_likely_s=90, end_engine_after_s=30))
IDLE_ONLY = Settings(when=WhenSettings(only_when_idle=True))
PAUSE = Pause(0.0)
HALF = Settings(when=WhenSettings(active_percent=50))
GAME = Evidence(Reason.GAME, "supertux2", since=100.0)
VIDEO = Evidence(Reason.FULL_SCREEN, "mystery", Certainty.LIKELY, since=100.0)
PLAYING = Presence((GAME,))
NOW = 110.0


def inputs(phase: Phase = Phase.ONLINE, **more: object) -> Inputs:
    engine = EngineView(phase, serving=verbatim("blocks 0:4 of tiny"))
    return Inputs(settings=SETTINGS, engine=engine, **more)  # type: ignore[arg-type]


def waiting(phase: Phase) -> Inputs:
    return Inputs(SETTINGS, EngineView(phase, waiting=Waiting(verbatim("nobody answers"))))


def busy(phase: Phase, sessions: int = 2, left_s: float = 60.0) -> Inputs:
    """A daemon that drains, and its engine."""
    return Inputs(SETTINGS, EngineView(phase, sessions=sessions), finish_left_s=left_s)


def changed_model(phase: Phase, sessions: int = 0) -> Inputs:
    return Inputs(
        SETTINGS, EngineView(phase, verbatim("blocks 0:4 of tiny"), is_outdated=True, sessions=sessions, drains=True)
    )


LACKING = Inputs(SETTINGS, EngineView(Phase.JOINING, lacking="model.safetensors"))


def unadmitted(denial: Denial) -> Inputs:
    return Inputs(SETTINGS, EngineView(Phase.JOINING, waiting=Waiting(denial=denial)), is_applicant=True)


ALONE, OVER, OWN = map(unadmitted, (Denial.NOBODY_ONLINE, Denial.INVITE_ENDED, Denial.UNCONFIRMED))


def test_each_row_of_the_table() -> None:
    for given, state, reason, order in (
        (inputs(Phase.ENDED), State.STARTING, Reason.NONE, EngineOrder.START),
        (inputs(Phase.STARTING), State.STARTING, Reason.NONE, EngineOrder.NOTHING),
        (inputs(Phase.JOINING), State.JOINING, Reason.NONE, EngineOrder.NOTHING),
        (inputs(Phase.ONLINE), State.SERVING, Reason.NONE, EngineOrder.NOTHING),
        (waiting(Phase.STARTING), State.JOINING, Reason.NONE, EngineOrder.NOTHING),
        (waiting(Phase.JOINING), State.JOINING, Reason.NONE, EngineOrder.NOTHING),
        (LACKING, State.ERROR, Reason.FILES, EngineOrder.NOTHING),
        (replace(LACKING, presence=PLAYING), State.DRAINING, Reason.GAME, EngineOrder.STOP),
        (inputs(Phase.OFFLOADING), State.JOINING, Reason.NONE, EngineOrder.NOTHING),
        (inputs(Phase.OFFLOADED), State.JOINING, Reason.NONE, EngineOrder.RESTORE),
        (inputs(Phase.RESTORING), State.JOINING, Reason.NONE, EngineOrder.NOTHING),
        (inputs(Phase.STOPPING), State.STARTING, Reason.NONE, EngineOrder.NOTHING),
        (inputs(pause=PAUSE), State.DRAINING, Reason.USER, EngineOrder.STOP),
        (inputs(Phase.FINISHING, pause=PAUSE), State.DRAINING, Reason.USER, EngineOrder.STOP),
        (inputs(Phase.STARTING, pause=PAUSE), State.DRAINING, Reason.USER, EngineOrder.STOP),
        (inputs(Phase.ENDED, pause=PAUSE), State.PAUSED, Reason.USER, EngineOrder.NOTHING),
        (
            inputs(Phase.ENDED, pause=Pause(0.0, 60.0), pause_left_s=60.0),
            State.PAUSED,
            Reason.TIMER,
            EngineOrder.NOTHING,
        ),
        (inputs(Phase.OFFLOADED, pause=PAUSE), State.PAUSED, Reason.USER, EngineOrder.STOP),
        (inputs(Phase.ENDED, swarm=None), State.IDLE, Reason.NO_SWARM, EngineOrder.NOTHING),
        (changed_model(Phase.ONLINE, sessions=1), State.SERVING, Reason.NONE, EngineOrder.DRAIN),
        (changed_model(Phase.FINISHING, sessions=1), State.JOINING, Reason.NONE, EngineOrder.NOTHING),
        (changed_model(Phase.FINISHING), State.JOINING, Reason.NONE, EngineOrder.STOP),
        (changed_model(Phase.ONLINE), State.SERVING, Reason.NONE, EngineOrder.STOP),
        (inputs(remover="Ana"), State.DRAINING, Reason.REMOVED, EngineOrder.STOP),
        (inputs(Phase.ENDED, remover="Ana", is_applicant=True), State.IDLE, Reason.REMOVED, EngineOrder.NOTHING),
        (inputs(is_applicant=True), State.JOINING, Reason.NOT_ADMITTED, EngineOrder.NOTHING),
        (ALONE, State.JOINING, Reason.NOT_ADMITTED, EngineOrder.NOTHING),
        (OVER, State.ERROR, Reason.INVITE_OVER, EngineOrder.NOTHING),
        (replace(OWN, is_ticket_over=True), State.ERROR, Reason.INVITE_OVER, EngineOrder.NOTHING),
        (OWN, State.JOINING, Reason.NOT_ADMITTED, EngineOrder.NOTHING),
        (inputs(Phase.ENDED, has_engine=False), State.IDLE, Reason.NO_ENGINE, EngineOrder.NOTHING),
        (inputs(presence=PLAYING), State.DRAINING, Reason.GAME, EngineOrder.OFFLOAD),
        (inputs(Phase.OFFLOADING, presence=PLAYING), State.DRAINING, Reason.GAME, EngineOrder.NOTHING),
        (inputs(Phase.OFFLOADED, presence=PLAYING), State.YIELDED, Reason.GAME, EngineOrder.NOTHING),
        (inputs(Phase.RESTORING, presence=PLAYING), State.DRAINING, Reason.GAME, EngineOrder.STOP),
        (inputs(Phase.STARTING, presence=PLAYING), State.DRAINING, Reason.GAME, EngineOrder.STOP),
        (inputs(Phase.JOINING, presence=PLAYING), State.DRAINING, Reason.GAME, EngineOrder.STOP),
        (inputs(Phase.ENDED, presence=PLAYING), State.YIELDED, Reason.GAME, EngineOrder.NOTHING),
        (inputs(Phase.OFFLOADED, presence=PLAYING, is_memory_short=True), State.YIELDED, Reason.GAME, EngineOrder.STOP),
        (inputs(Phase.ONLINE, is_memory_short=True), State.SERVING, Reason.NONE, EngineOrder.NOTHING),
        (busy(Phase.ONLINE), State.DRAINING, Reason.SHUTDOWN, EngineOrder.DRAIN),
        (busy(Phase.FINISHING), State.DRAINING, Reason.SHUTDOWN, EngineOrder.NOTHING),
        (inputs(Phase.ENDED, finish_left_s=60.0), State.DRAINING, Reason.SHUTDOWN, EngineOrder.NOTHING),
        (inputs(Phase.FINISHING), State.JOINING, Reason.NONE, EngineOrder.RESTORE),  # taken back
        (inputs(Phase.FINISHING, presence=PLAYING), State.DRAINING, Reason.GAME, EngineOrder.OFFLOAD),
        (replace(busy(Phase.FINISHING), is_ending=True), State.DRAINING, Reason.SHUTDOWN, EngineOrder.STOP),
        (inputs(is_ending=True), State.DRAINING, Reason.SHUTDOWN, EngineOrder.STOP),
        (inputs(Phase.STOPPING, is_ending=True, pause=PAUSE), State.DRAINING, Reason.SHUTDOWN, EngineOrder.NOTHING),
    ):
        decision = decide(given, NOW)
        assert (decision.state, decision.reason, decision.order) == (state, reason, order)


def test_people_read_why_an_engine_is_not_online_yet() -> None:
    for phase, denial, text in (
        (Phase.STARTING, None, "Can't join the swarm yet: nobody answers"),
        (Phase.JOINING, None, "Can't join the swarm yet: nobody answers"),
        (Phase.RESTORING, None, "Can't join the swarm yet: nobody answers"),
        (Phase.JOINING, Denial.UNCONFIRMED, "Waiting for you to confirm this computer on your other one"),
    ):
        engine = EngineView(phase, waiting=Waiting(verbatim("nobody answers"), denial))
        decision = decide(Inputs(SETTINGS, engine, is_applicant=True), NOW)
        assert (decision.state, decision.order, str(decision.text)) == (State.JOINING, EngineOrder.NOTHING, text)


def test_the_engine_is_ended_when_a_game_lasts() -> None:
    given = inputs(Phase.OFFLOADED, presence=PLAYING)
    assert decide(given, 129.9).order is EngineOrder.NOTHING
    assert decide(given, 129.9).wait_s == PASSING_S
    assert decide(given, 130.0).order is EngineOrder.STOP


def test_serving_resumes_only_after_the_longest_quiet_time() -> None:
    for ended, quiet_s in (((GAME,), 15), ((VIDEO,), 90), ((VIDEO, GAME), 90)):
        given = inputs(
            Phase.OFFLOADED, presence=Presence(over=tuple(EndedEvidence(evidence, 200.0) for evidence in ended))
        )
        before = decide(given, 200.0 + quiet_s - 1)
        assert (before.state, before.reason, before.order) == (State.YIELDED, Reason.QUIET_TIME, EngineOrder.NOTHING)
        assert before.left_s == pytest.approx(1)
        assert decide(given, 200.0 + quiet_s).order is EngineOrder.RESTORE


def test_what_has_ended_is_named_while_it_may_come_back() -> None:
    for evidence, text in (
        (GAME, f"{GAME.who} has ended; waiting a moment"),  # game
        (Evidence(Reason.HEAT, "it", level=1.0), "Nothing is in the way any more; waiting a moment"),  # too hot
        (Evidence(Reason.HEAT, "it", level=0.9), "Loading layers"),  # warm
    ):
        assert (
            str(decide(inputs(Phase.OFFLOADED, presence=Presence(over=(EndedEvidence(evidence, 200.0),))), 201.0).text)
            == text
        )


def test_the_process_is_prepared_before_the_quiet_time_is_over_and_ended_when_the_game_is_back() -> None:
    over = Presence(over=(EndedEvidence(GAME, 200.0),))
    ended = inputs(Phase.ENDED, presence=over)
    orders = [decide(ended, now).order for now in (202.9, 203.0, 216.0)]
    assert orders == [EngineOrder.NOTHING, EngineOrder.PREPARE, EngineOrder.START]
    assert [decide(ended, now).wait_s for now in (200.0, 202.0, 214.0)] == [PASSING_S, 1.0, 1.0]
    assert decide(inputs(Phase.PREPARING, presence=over), 204.0).order is EngineOrder.NOTHING
    assert decide(inputs(Phase.PREPARING, presence=over), 216.0).order is EngineOrder.START
    assert decide(inputs(Phase.PREPARING, presence=PLAYING), 204.0).order is EngineOrder.STOP
    assert decide(inputs(Phase.PREPARING, pause=PAUSE), 204.0).order is EngineOrder.STOP
    assert decide(replace(ended, is_memory_short=True), 204.0).order is EngineOrder.NOTHING


def test_a_failed_engine_waits_for_its_retry_and_says_why() -> None:
    engine = EngineView(Phase.ENDED, failure=verbatim("The engine ran out of memory"), retry_at=NOW + 8)
    decision = decide(Inputs(settings=SETTINGS, engine=engine), NOW)
    assert (decision.state, decision.order, decision.left_s) == (State.ERROR, EngineOrder.NOTHING, 8)
    assert str(decision.text) == "The engine ran out of memory"
    assert decide(Inputs(settings=SETTINGS, engine=engine), NOW + 8).order is EngineOrder.START


FLAGS = {"is_ending": (False, True), "pause": (None, PAUSE), "swarm": (None, "home"), "is_memory_short": (False, True)}
ALL = [
    inputs(phase, presence=presence, **dict(zip(FLAGS, flags, strict=True)))
    for phase in Phase
    for presence in (Presence(), PLAYING, Presence((VIDEO,)), Presence(over=(EndedEvidence(VIDEO, NOW - 1),)))
    for flags in itertools.product(*FLAGS.values())
]


def test_nothing_is_started_or_restored_while_anything_speaks_against_it() -> None:
    for given in ALL:
        free = not given.is_ending and given.pause is None and given.swarm is not None
        calm = not given.presence.evidence and not given.presence.over
        if decide(given, NOW).order in (EngineOrder.START, EngineOrder.RESTORE):
            assert free
            assert calm


def test_every_situation_leads_to_rest() -> None:
    """Obeying the orders, whatever the situation, ends in a state that asks for nothing more."""
    after = {
        EngineOrder.PREPARE: Phase.PREPARING,
        EngineOrder.START: Phase.ONLINE,
        EngineOrder.RESTORE: Phase.ONLINE,
        EngineOrder.OFFLOAD: Phase.OFFLOADED,
        EngineOrder.STOP: Phase.ENDED,
    }
    for given in ALL:
        for _ in range(3):
            order = decide(given, NOW).order
            if order is EngineOrder.NOTHING:
                break
            given = replace(given, engine=EngineView(after[order]))
        assert decide(given, NOW).order is EngineOrder.NOTHING


def test_who_was_told_to_finish_ends_as_soon_as_nothing_is_left_to_wait_for() -> None:
    for phase, sessions, left_s, presence, ends in (
        (Phase.FINISHING, 2, 10.0, Presence(), False),
        (Phase.ONLINE, 2, 10.0, Presence(), False),
        (Phase.FINISHING, 0, 10.0, Presence(), True),  # nothing is open any more
        (Phase.FINISHING, 2, 0.0, Presence(), True),  # time is up
        (Phase.FINISHING, 2, 10.0, PLAYING, True),  # a game does not wait
        (Phase.FINISHING, 2, 10.0, seen(Reason.SLEEP), True),  # nor does sleep
        (Phase.OFFLOADED, 2, 10.0, Presence(), True),
        (Phase.ENDED, 0, 10.0, Presence(), True),
        (Phase.JOINING, 0, 10.0, Presence(), True),
    ):
        decision = decide(replace(busy(phase, sessions, left_s), presence=presence), NOW)
        assert (decision.rung is Rung.ENDED) is ends


def test_a_pause_says_how_long_it_lasts() -> None:
    decision = decide(inputs(pause=Pause(0.0, 60.0), pause_left_s=60.0), NOW)
    assert (decision.reason, str(decision.text), decision.left_s) == (Reason.TIMER, "Paused by you", 60.0)
    assert str(decide(inputs(pause=PAUSE), NOW).text) == "Paused by you until you resume"
    assert "until the game ends" in str(decide(inputs(Phase.ENDED, pause=Pause(0.0, until_game_ends=True)), NOW).text)


# --- evidence of every kind ------------------------------------------------------------------------------------------


def seen(reason: Reason, **more: object) -> Presence:
    return Presence((Evidence(reason, "that", since=100.0, **more),))  # type: ignore[arg-type]


NEEDS = (
    *(Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN, Reason.GPU_BUSY),
    *(Reason.VRAM_PRESSURE, Reason.RAM_PRESSURE, Reason.OTHER_USER),
)


def test_whoever_needs_the_device_gets_it_and_is_named() -> None:
    for reason in NEEDS:
        decision = decide(inputs(Phase.OFFLOADED, presence=seen(reason)), NOW)
        assert (decision.state, decision.reason) == (State.YIELDED, reason)
        ends = {
            Reason.VRAM_PRESSURE: "there is enough memory again",
            Reason.RAM_PRESSURE: "there is enough memory again",
            Reason.OTHER_USER: "you are back at the computer",
        }
        assert str(decision.ends) == f"15 s after {ends.get(reason, 'that is done')}"
        assert decide(inputs(presence=seen(reason)), NOW).order is EngineOrder.OFFLOAD


def test_supply_and_network_stop_serving_without_being_a_game() -> None:
    for reason in (Reason.BATTERY, Reason.METERED):
        decision = decide(inputs(Phase.OFFLOADED, presence=seen(reason)), NOW)
        assert (decision.state, decision.reason) == (State.IDLE, reason)


def test_the_engine_ends_at_once_before_sleep() -> None:
    both = Presence((*seen(Reason.SLEEP).evidence, GAME))
    assert decide(inputs(presence=both), NOW).order is EngineOrder.STOP
    assert decide(inputs(Phase.ENDED, presence=both), NOW).reason is Reason.SLEEP
    woken = Presence(over=(EndedEvidence(Evidence(Reason.SLEEP, "the computer"), NOW),))
    assert decide(inputs(Phase.ENDED, presence=woken), NOW).order is EngineOrder.START


HOT = Evidence(Reason.HEAT, "NVIDIA A", level=0.3)


def test_heat_slows_down_before_it_stops() -> None:
    warm = decide(inputs(presence=Presence((HOT,))), NOW)
    assert (warm.state, warm.reason, warm.order, warm.duty) == (State.SERVING, Reason.HEAT, EngineOrder.NOTHING, 0.7)
    assert "slowly" in str(warm.text)
    assert "NVIDIA A" in str(warm.text)
    far_too_hot = decide(inputs(presence=seen(Reason.HEAT, level=1.0)), NOW)
    assert (far_too_hot.reason, far_too_hot.order) == (Reason.HEAT, EngineOrder.OFFLOAD)


def test_the_strictest_who_ask_to_be_spared_decides_and_is_named_and_it_never_rests_all_the_time() -> None:
    for level, duty in ((0.6, 0.4), (0.99, 0.1)):
        presence = Presence((HOT, Evidence(Reason.POWER, "NVIDIA A", level=level)), is_away=False)
        decision = decide(Inputs(HALF, EngineView(Phase.ONLINE), presence), NOW)
        assert (decision.reason, decision.duty) == (Reason.POWER, pytest.approx(duty))


def test_somebody_at_the_keyboard_is_spared() -> None:
    for is_away, duty in ((False, 0.5), (True, 1.0), (None, 1.0)):
        decision = decide(Inputs(HALF, EngineView(Phase.ONLINE), Presence(is_away=is_away)), NOW)
        assert (decision.state, decision.duty) == (State.SERVING, duty)


def test_only_when_idle() -> None:
    for phase, is_away, use_since, order in (
        (Phase.ONLINE, False, 100.0, EngineOrder.OFFLOAD),
        (Phase.OFFLOADED, False, 100.0, EngineOrder.NOTHING),
        (Phase.OFFLOADED, False, 80.5, EngineOrder.NOTHING),
        (Phase.OFFLOADED, False, 80.0, EngineOrder.STOP),  # in use for longer than the engine is kept
        (Phase.OFFLOADED, True, 100.0, EngineOrder.RESTORE),
        (Phase.ENDED, True, 100.0, EngineOrder.START),
        (Phase.ENDED, False, 100.0, EngineOrder.NOTHING),
        (Phase.ENDED, None, 100.0, EngineOrder.NOTHING),  # nobody knows: taken for use
    ):
        given = Inputs(IDLE_ONLY, EngineView(phase), Presence(is_away=is_away, use_since=use_since))
        decision = decide(given, NOW)
        assert decision.order is order
        if is_away:
            playing = replace(given, presence=Presence((GAME,), is_away=True))
            assert decide(playing, NOW).reason is Reason.GAME, "a player with a game pad looks away"
        else:
            assert decision.reason is Reason.USER_ACTIVE
            assert ("Can't tell" in str(decision.text)) is (is_away is None)


def test_a_game_on_another_gpu_is_left_alone_if_the_user_wants_it_and_both_are_known() -> None:
    for game_gpu, own_gpu, only_same, yields in (
        ("0000:01:00.0", "0000:02:00.0", True, False),
        ("0000:01:00.0", "0000:01:00.0", True, True),
        ("0000:01:00.0", "0000:02:00.0", False, True),
        ("", "0000:02:00.0", True, True),  # where the game runs is not known
        ("0000:01:00.0", "", True, True),  # we compute on the processor, which the game needs as well
    ):
        given = Inputs(
            Settings(yield_=YieldSettings(same_gpu_only=only_same)),
            EngineView(Phase.ONLINE, gpu=own_gpu),
            seen(Reason.GPU_BUSY, gpu=game_gpu),
        )
        assert (decide(given, NOW).order is EngineOrder.OFFLOAD) is yields


BAR = Decision(
    State.IDLE, Reason.SCHEDULE, verbatim("Outside of the hours"), Rung.ENDED, verbatim("at ten"), left_s=600.0
)


def test_hours_and_caps_end_the_engine_and_say_for_how_long() -> None:
    decision = decide(inputs(Phase.ENDED, obstacles=(BAR,)), NOW)
    assert (decision.state, decision.reason, decision.left_s) == (State.IDLE, Reason.SCHEDULE, 600.0)
    assert (decision.wait_s, replace(decision, left_s=6.0).wait_s) == (LONGEST_WAIT_S, 6.0)
    assert decide(inputs(obstacles=(BAR,)), NOW).order is EngineOrder.STOP
    assert decide(inputs(obstacles=(BAR,), presence=PLAYING), NOW).reason is Reason.GAME, "named before the hours"


def test_nothing_is_begun_or_ended_before_the_probes_have_looked() -> None:
    for phase, wait_s in ((Phase.ENDED, PASSING_S), (Phase.OFFLOADED, PASSING_S), (Phase.ONLINE, LONGEST_WAIT_S)):
        decision = decide(inputs(phase, is_settled=False), NOW)
        assert (decision.order, decision.wait_s) == (EngineOrder.NOTHING, wait_s)


def test_every_decision_has_a_sentence_and_every_state_that_is_not_serving_says_what_ends_it() -> None:
    for given in ALL:
        decision = decide(given, NOW)
        assert decision.text
        assert decision.state.is_working or decision.ends, decision


def test_the_program_that_could_be_ignored_is_named() -> None:
    decision = decide(inputs(presence=Presence((Evidence(Reason.GAME, "Hades II", app="hades2.exe"),))), NOW)
    assert (decision.app, decision.app_title) == ("hades2.exe", "Hades II")


def test_a_program_of_the_always_list_is_not_offered_to_be_ignored() -> None:
    """The list outranks the other one, so the offer would do nothing."""
    listed = Evidence(Reason.EXCLUSIVE_APP, "blender", app="blender")
    assert decide(inputs(presence=Presence((listed,))), NOW).app == ""
    assert decide(inputs(presence=Presence(over=(EndedEvidence(listed, NOW),))), NOW).app == ""


# -- what follows: questions whether a program is a game, and who stays in the swarm -----------------------------------

UNSURE = Decision(
    State.YIELDED, Reason.FULL_SCREEN, verbatim("Giving way"), Rung.ENDED, app="hedgewars", app_title="Hedgewars"
)
OPEN = ProgramQuestion("hedgewars", "Hedgewars")
CLOSED = structs.replace(OPEN, is_open=False)


def test_a_program_that_only_looks_like_a_game_is_asked_about_once() -> None:
    assert next_questions((), UNSURE, ()) == next_questions((OPEN,), UNSURE, ()) == (OPEN,)


def test_nothing_is_asked_about_what_is_known_or_cannot_stand_on_a_list() -> None:
    for decision in (
        replace(UNSURE, reason=Reason.GAME),
        replace(UNSURE, state=State.SERVING),
        replace(UNSURE, app=""),
        replace(UNSURE, app="a,b"),
    ):
        assert next_questions((), decision, ()) == ()


def test_a_listed_program_is_answered_for_and_not_asked_about_again() -> None:
    assert next_questions((), UNSURE, ("Hedgewars",)) == ()
    assert next_questions((OPEN,), UNSURE, ("Hedgewars",)) == (CLOSED,)
    assert next_questions((CLOSED,), UNSURE, ()) == (CLOSED,)  # the answer was taken back


def test_the_questions_are_bounded_in_number_and_length() -> None:
    many = tuple(ProgramQuestion(f"app{number}", "App") for number in range(MAX_QUESTIONS))
    assert next_questions(many, UNSURE, ()) == many
    (question,) = next_questions((), replace(UNSURE, app_title="x" * 1000), ())
    assert len(question.title) == 80


def test_a_busy_program_in_a_window_is_asked_about_while_potluck_serves() -> None:
    serving = replace(UNSURE, state=State.SERVING, reason=Reason.NONE, app="", app_title="")
    busy = Evidence(Reason.FULL_SCREEN, "Hedgewars", app="hedgewars")
    assert next_questions((), serving, (), (busy, busy)) == (OPEN,)
    assert next_questions((), serving, ("Hedgewars",), (busy,)) == ()
    assert next_questions((CLOSED,), UNSURE, (), (busy,)) == (CLOSED,)


def decided(reason: Reason, rung: Rung = Rung.ENDED) -> Decision:
    return Decision(State.PAUSED, reason, NOTHING, rung)


def test_a_member_who_pauses_or_plays_stays_in_the_swarm() -> None:
    for reason in (Reason.USER, Reason.TIMER, Reason.GAME, Reason.SCHEDULE, Reason.ENGINE_FAILED):
        assert stands_by(decided(reason), is_memory_short=False)
        assert not stands_by(decided(reason), is_memory_short=True)


def test_nobody_stays_whose_computer_leaves_or_whose_bytes_cost_something() -> None:
    for reason in (Reason.SHUTDOWN, Reason.SLEEP, Reason.METERED, Reason.BATTERY):
        assert not stands_by(decided(reason), is_memory_short=False)


def test_an_engine_keeps_its_own_node_while_it_gives_back_the_device() -> None:
    assert not stands_by(decided(Reason.GAME, Rung.OFFLOADED), is_memory_short=False)
    assert stands_by(decided(Reason.NONE, Rung.ONLINE), is_memory_short=False)  # until the engine takes over


def test_no_node_begins_before_an_engine_that_starts_in_a_moment() -> None:
    retry = EngineView(Phase.ENDED, failure=verbatim("killed"), retry_at=NOW + 1)
    assert not is_worth_a_start(decide(Inputs(SETTINGS, retry), NOW))
    assert is_worth_a_start(decide(Inputs(SETTINGS, replace(retry, retry_at=NOW + 30)), NOW))
    assert not is_worth_a_start(decide(inputs(Phase.ENDED), NOW))
    assert is_worth_a_start(decide(inputs(Phase.ENDED, pause=PAUSE), NOW))
