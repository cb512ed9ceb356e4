"""The app's texts: exact, short, and never without the reason."""

from __future__ import annotations

import pytest
from potluck_app import words
from potluck_daemon.control.schema import LoadStatus, Status, SwarmStatus
from potluck_daemon.states import Reason, State

from potluck.errors import PotluckError


def _status(state: State, text: str, **more: object) -> Status:
    return Status(state, Reason.NONE, text, since=0.0, version="1", **more)  # type: ignore[arg-type]


def test_every_state_has_a_title() -> None:
    assert set(words.TITLES) == set(State)


def test_tooltip_shows_speed_while_serving_and_always_the_reason() -> None:
    serving = _status(State.SERVING, "Serving blocks 0 to 3", tokens_per_s=41.26)
    assert words.tooltip(serving) == "Potluck: serving, 41.3 tokens/s\nServing blocks 0 to 3"
    assert words.tooltip(_status(State.YIELDED, "Hades II runs")) == "Potluck: stepped aside\nHades II runs"
    assert words.AWAY in words.tooltip(None)


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((), "coverage not known yet"),
        ((1, 2, 3), "each served at least once"),
        ((0, 1, 0, 0), "nobody serves 0:1, 2:4"),
    ],
)
def test_coverage_names_the_gaps(counts: tuple[int, ...], text: str) -> None:
    assert words.coverage(counts) == text


def test_blocks_line_says_what_is_ours() -> None:
    swarm = SwarmStatus("friday", "demo", 12, span=(4, 8), coverage=(1,) * 12)
    assert words.blocks(swarm) == "12 blocks; yours: 4:8; each served at least once"


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (2048, "2 KiB"), (5 << 20, "5 MiB"), (3 << 29, "1.5 GiB")])
def test_sizes_are_in_binary_units(count: int, text: str) -> None:
    assert words.size(count) == text


def test_memory_is_shown_against_the_limit_if_there_is_one() -> None:
    load = LoadStatus(memory_used_bytes=1 << 30, memory_limit_bytes=4 << 30, memory_total_bytes=8 << 30)
    assert words.memory(_status(State.SERVING, "", load=load)) == "1.0 GiB of 4.0 GiB"


def test_failures_read_as_sentences_with_the_hint() -> None:
    error = PotluckError("the daemon is not running", hint="start it with: potluck start")
    assert words.failure(error) == "The daemon is not running. Start it with: potluck start."
