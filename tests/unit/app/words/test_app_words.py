"""The app's texts: exact, short, and never without the reason."""

import datetime

from msgspec import structs
from potluck_app.words import layers, states
from potluck_app.words.states import PauseChoice
from potluck_control.api.schema import (
    LoadStatus,
    PauseParams,
    ProbeState,
    ProbeStatus,
    SpeedForYou,
    Status,
    SwarmStatus,
)
from potluck_control.states import Reason, State

from potluck.sentences import Blocks, sentence, verbatim


def _status(state: State, text: str, **more: object) -> Status:
    return Status(state, Reason.NONE, verbatim(text), since=0.0, version="1", **more)  # type: ignore[arg-type]


def test_every_state_has_a_title() -> None:
    assert set(states.TITLES) == set(State)


def test_a_state_is_named_with_what_would_end_it() -> None:
    for given, title, ending in (
        ({"state": State.SERVING}, "Serving", ""),
        ({"state": State.IDLE, "reason": Reason.REMOVED}, "Removed from the swarm", ""),
        ({"state": State.JOINING, "reason": Reason.NOT_ADMITTED}, "Waiting to be let in", ""),
        (
            {"state": State.SERVING, "duty": 0.5, "ends": sentence("when it has cooled down")},
            "Serving at 50 %",
            "Full speed again",
        ),
        (
            {"state": State.YIELDED, "ends": sentence("{time} s after {who} is done", time=15, who="Hades II")},
            "Stepped aside",
            "Serves again 15 s after",
        ),
        ({"state": State.PAUSED, "ends": sentence("when you resume"), "until": 4e9}, "Paused", "The pause ends at "),
        ({"state": State.DRAINING, "reason": Reason.TIMER, "until": 4e9}, "Stepping aside", "The pause ends at "),
        ({"state": State.PAUSED, "reason": Reason.USER, "ends": sentence("when you resume")}, "Paused", ""),
        ({"state": State.ERROR, "until": 4e9}, "Something failed", "Tries again at "),
        ({"state": State.DRAINING, "reason": Reason.GAME}, "Stepping aside", ""),
        ({"state": State.DRAINING, "reason": Reason.SHUTDOWN}, "Shutting down", "0 sessions left."),
        (
            {"state": State.DRAINING, "reason": Reason.SHUTDOWN, "until": 4e9, "sessions": 1},
            "Finishing",
            "1 session left. Shuts down by ",
        ),
        ({"state": State.UNKNOWN, "reason": Reason.UNKNOWN}, "Running", ""),
    ):
        status = structs.replace(_status(State.IDLE, "x"), **given)  # type: ignore[arg-type]
        assert states.title(status) == title
        assert states.ending(status).startswith(ending)
        assert bool(states.ending(status)) is bool(ending)


def test_resume_is_offered_where_it_does_something() -> None:
    for given, text in (
        ({"state": State.SERVING}, ""),
        ({"state": State.YIELDED, "reason": Reason.GAME}, ""),
        ({"state": State.PAUSED}, "Resume"),
        ({"state": State.DRAINING, "reason": Reason.USER}, "Resume"),
        ({"state": State.YIELDED, "reason": Reason.QUIET_TIME}, "Serve now"),
        ({"state": State.ERROR, "reason": Reason.ENGINE_FAILED}, "Try again now"),
        ({"state": State.DRAINING, "reason": Reason.SHUTDOWN, "until": 4e9}, "Keep serving"),
        ({"state": State.DRAINING, "reason": Reason.SHUTDOWN}, ""),
    ):
        assert states.resume(structs.replace(_status(State.IDLE, "x"), **given)) == text  # type: ignore[arg-type]


def test_a_long_name_of_a_program_is_cut_and_a_nameless_one_is_called_as_its_file() -> None:
    game = _status(State.YIELDED, "x", app="hades2")
    assert states.ignore_program(game) == "Never step aside for hades2"
    assert len(states.ignore_program(structs.replace(game, app_title="x" * 200))) < 70


def test_what_is_watched_fits_in_a_line() -> None:
    for found, text in (
        ([], ""),
        ([ProbeState.ASLEEP, ProbeState.OFF], "Detectors are resting"),
        ([ProbeState.WATCHING, ProbeState.UNAVAILABLE], "Watching for games and activity"),
        (
            [ProbeState.WATCHING, ProbeState.SEEN, ProbeState.FAILED, ProbeState.FAILED],
            "Watching for games and activity (2 detectors not working)",
        ),
    ):
        assert states.detector_summary([ProbeStatus(sentence("x"), state) for state in found]) == text


def test_a_pause_until_tomorrow_ends_in_the_morning_of_the_next_day() -> None:
    for hour, hours in ((22, 10), (0, 32), (7, 25), (8, 24), (12, 20)):
        assert PauseChoice.MORNING.params(datetime.datetime(2026, 1, 14, hour)) == PauseParams(hours * 3600.0)


def test_tooltip_shows_speed_while_serving_and_always_the_reason() -> None:
    blocks = sentence("layers {blocks} of {model}", blocks=Blocks(0, 3), model="demo")
    serving = structs.replace(
        _status(State.SERVING, "", tokens_per_s=41.26), text=sentence("Serving {what}", what=blocks)
    )
    assert states.tooltip(serving) == "Potluck: serving, 41.3 tokens/s\nServing layers 1–3 of demo"
    assert states.tooltip(_status(State.YIELDED, "Hades II runs")) == "Potluck: stepped aside\nHades II runs"
    assert states.away() in states.tooltip(None)


def test_a_line_says_which_layers_are_ours_and_which_have_a_single_server() -> None:
    for counts, own, text in (
        ((1,) * 12, (4, 8), "All 12 layers online. You serve 5–8."),
        ((2,) * 11 + (1,), None, "All 12 layers online. You serve none. Only one computer serves layer 12."),
        ((1,) * 4 + (2,) * 8, (0, 1), "All 12 layers online. You serve 1. Only one computer serves layers 1–4."),
        ((2,) * 11 + (0,), None, "Nobody serves layer 12. You serve none."),
        ((0, 1, *(2,) * 9, 0), None, "Nobody serves layers 1, 12. You serve none."),
        ((), None, "12 layers, status unknown. You serve none."),
    ):
        assert layers.summary(counts, 12, own) == text


def test_how_fast_answers_come_is_said_once_it_is_known() -> None:
    swarm = SwarmStatus("friday", "demo", 12)
    assert layers.speed_for_you(swarm) == ""
    known = structs.replace(swarm, speed_for_you=SpeedForYou(14.24, is_measured=False))
    assert layers.speed_for_you(known) == "About 14.2 tokens/s for you."


def test_memory_is_shown_against_the_limit_if_there_is_one() -> None:
    load = LoadStatus(memory_used_bytes=1 << 30, memory_limit_bytes=4 << 30, memory_total_bytes=8 << 30)
    assert states.memory(_status(State.SERVING, "", load=load)) == "1.1 GB of 4.3 GB"
