"""The app's texts: exact, short, and never without the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_app.words import daemon_texts, detectors, layers, numbers, sentences, states
from potluck_app.words.daemon_failures import FAILURES
from potluck_app.words.daemon_texts import translated
from potluck_control.schema import LoadStatus, ProbeState, ProbeStatus, Status, SwarmStatus, UseStatus
from potluck_control.states import Reason, State
from potluck_daemon.policy import decide as policy
from PySide6.QtCore import QCoreApplication, QTranslator

from potluck.errors import PotluckError


def _status(state: State, text: str, **more: object) -> Status:
    return Status(state, Reason.NONE, text, since=0.0, version="1", **more)  # type: ignore[arg-type]


@contextmanager
def in_german() -> Iterator[None]:
    translator = QTranslator()
    assert translator.load("potluck_de", str(Path(__file__).parents[3] / "resources" / "translations"))
    QCoreApplication.installTranslator(translator)
    try:
        yield
    finally:
        QCoreApplication.removeTranslator(translator)


def test_every_state_has_a_title() -> None:
    assert set(states.TITLES) == set(State)


@pytest.mark.parametrize(
    ("given", "title", "ending"),
    [
        ({"state": State.SERVING}, "Serving", ""),
        (
            {"state": State.SERVING, "duty": 0.5, "ends": "when it has cooled down"},
            "Serving at 50 %",
            "Full speed again",
        ),
        ({"state": State.YIELDED, "ends": "15 s after Hades II has ended"}, "Stepped aside", "Serves again 15 s after"),
        ({"state": State.PAUSED, "ends": "when you resume", "until": 4e9}, "Paused", "Serves again at "),
        ({"state": State.ERROR, "until": 4e9}, "Something failed", "Tries again at "),
        ({"state": State.DRAINING, "reason": Reason.GAME}, "Stepping aside", ""),
        ({"state": State.DRAINING, "reason": Reason.SHUTDOWN}, "Shutting down", "0 sessions left."),
        (
            {"state": State.DRAINING, "reason": Reason.SHUTDOWN, "until": 4e9, "sessions": 1},
            "Finishing",
            "1 session left; shuts down at ",
        ),
        ({"state": State.UNKNOWN, "reason": Reason.UNKNOWN}, "Running", ""),
    ],
)
def test_a_state_is_named_with_what_would_end_it(given: dict[str, object], title: str, ending: str) -> None:
    status = replace(_status(State.IDLE, "x"), **given)  # type: ignore[arg-type]
    assert states.title(status) == title
    assert states.ending(status).startswith(ending)
    assert bool(states.ending(status)) is bool(ending)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"state": State.SERVING}, ""),
        ({"state": State.YIELDED, "reason": Reason.GAME}, ""),
        ({"state": State.PAUSED}, "Resume"),
        ({"state": State.YIELDED, "reason": Reason.QUIET_TIME}, "Serve now"),
        ({"state": State.ERROR, "reason": Reason.ENGINE_FAILED}, "Try again now"),
        ({"state": State.DRAINING, "reason": Reason.SHUTDOWN, "until": 4e9}, "Keep serving"),
        ({"state": State.DRAINING, "reason": Reason.SHUTDOWN}, ""),
    ],
)
def test_resume_is_offered_where_it_does_something(given: dict[str, object], text: str) -> None:
    assert states.resume(replace(_status(State.IDLE, "x"), **given)) == text  # type: ignore[arg-type]


def test_a_long_name_of_a_program_is_cut_and_a_nameless_one_is_called_as_its_file() -> None:
    game = _status(State.YIELDED, "x", app="hades2")
    assert states.never(game) == "Never step aside for hades2…"
    assert len(states.never(replace(game, app_title="x" * 200))) < 70


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ([], ""),
        ([ProbeState.ASLEEP, ProbeState.OFF], "Watches nothing just now"),
        ([ProbeState.WATCHING, ProbeState.UNAVAILABLE], "1 way to notice that you need the computer"),
        (
            [ProbeState.WATCHING, ProbeState.SEEN, ProbeState.FAILED, ProbeState.FAILED],
            "2 ways to notice that you need the computer; 2 do not work",
        ),
    ],
)
def test_what_is_watched_fits_in_a_line(states: list[ProbeState], text: str) -> None:
    assert detectors.watching([ProbeStatus("x", state) for state in states]) == text


def test_every_probe_is_in_a_group_whatever_its_state() -> None:
    groups = detectors.probe_groups([ProbeStatus(state.name, state, "why") for state in ProbeState])
    assert {name for group in groups for name, _ in group.probes} == set(ProbeState.__members__)
    assert [group.heading for group in groups if group.is_problem] == ["Does not work"]


def test_use_of_the_day_names_its_cost_if_a_price_is_set() -> None:
    assert states.use(UseStatus()) == ""
    assert states.use(UseStatus(energy_wh=120.0, cost=0.04)).endswith("120 Wh for 0.04 of electricity")


def test_tooltip_shows_speed_while_serving_and_always_the_reason() -> None:
    serving = _status(State.SERVING, "Serving blocks 0 to 3", tokens_per_s=41.26)
    assert states.tooltip(serving) == "Potluck: serving, 41.3 tokens/s\nServing blocks 0 to 3"
    assert states.tooltip(_status(State.YIELDED, "Hades II runs")) == "Potluck: stepped aside\nHades II runs"
    assert states.away() in states.tooltip(None)


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((), "coverage not known yet"),
        ((1, 2, 3), "each served at least once"),
        ((0, 1, 0, 0), "nobody serves 0:1, 2:4"),
    ],
)
def test_coverage_names_the_gaps(counts: tuple[int, ...], text: str) -> None:
    assert layers.coverage(counts) == text


def test_blocks_line_says_what_is_ours() -> None:
    swarm = SwarmStatus("friday", "demo", 12, span=(4, 8), coverage=(1,) * 12)
    assert layers.blocks(swarm) == "12 blocks; yours: 4:8; each served at least once"


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (2048, "2 KiB"), (5 << 20, "5 MiB"), (3 << 29, "1.5 GiB")])
def test_sizes_are_in_binary_units(count: int, text: str) -> None:
    assert numbers.size(count) == text


def test_memory_is_shown_against_the_limit_if_there_is_one() -> None:
    load = LoadStatus(memory_used_bytes=1 << 30, memory_limit_bytes=4 << 30, memory_total_bytes=8 << 30)
    assert states.memory(_status(State.SERVING, "", load=load)) == "1.0 GiB of 4.0 GiB"


def test_failures_read_as_sentences_with_the_hint() -> None:
    error = PotluckError("the daemon is not running", hint="start it with: potluck start")
    assert sentences.failure(error) == "The daemon is not running. Start it with: potluck start."


@pytest.mark.parametrize(
    ("said", "german"),
    [
        ("Giving way to Hades II", "Macht Platz für Hades II"),
        ("Giving way to Hades II, which fills the screen", "Macht Platz für Hades II im Vollbild"),
        ("15 s after Hades II has ended", "15 s nach dem Ende von Hades II"),
        ("Serving blocks 0:4 of demo", "Stellt die Blöcke 0:4 von demo bereit"),
        ("the publisher did not answer within 25 s", "der Herausgeber hat nicht innerhalb von 25 s geantwortet"),
        ("cannot read /x: no such file", "cannot read /x: no such file"),
    ],
)
def test_what_the_daemon_says_is_translated_if_it_follows_a_pattern(said: str, german: str) -> None:
    assert translated(said) == said
    with in_german():
        assert translated(said) == german


def test_what_failed_is_translated_with_its_hint() -> None:
    error = PotluckError("no swarm is joined", hint="try again later")
    with in_german():
        assert sentences.failure(error) == "Keinem Schwarm beigetreten. Versuche es später noch einmal."


def test_every_reason_of_the_policy_follows_a_pattern() -> None:
    sentences = [
        *policy._NEEDS_DEVICE.values(),
        *(part for pair in policy._NOT_NOW.values() for part in pair),
        *(f"Serving blocks {{blocks}} of {{model}} {how}" for how, _ in policy._SPARED.values()),
        *(f"{said}; waiting a moment" for said in policy._OVER.values()),
    ]
    assert set(sentences) <= {template for _, template in daemon_texts._patterns()}


def test_every_failure_that_is_translated_is_one_that_the_daemon_tells_of() -> None:
    """What was reworded there would be shown in English again."""
    root = Path(__file__).parents[3]
    files = (*(root / "daemon").rglob("*.py"), *(root / "potluck" / "protocol").rglob("*.py"))
    sources = re.sub(r'"\s*\n\s*f?"', "", "\n".join(path.read_text() for path in files))
    for template in FAILURES:
        for part in re.split(r"\{\w+\}|[;:] ", template):
            assert part.strip(" ;:?") in sources, template
