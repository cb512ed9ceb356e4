"""How fast answers come here: by the last ones, else as the servers promise."""

from pathlib import Path

import pytest
from potluck_control.api.schema import SpeedForYou
from potluck_daemon.reporting.status import ANSWERS_COUNT_S, speed_for_you
from potluck_daemon.settings.state import StateFile, TimedAnswer

NOW = 1e9


def answers(*given: tuple[str, float, int, float]) -> tuple[TimedAnswer, ...]:
    file = StateFile(Path("never read"))
    for each in given:
        file.add_answer(TimedAnswer(*each))
    return file.state.answers


@pytest.mark.parametrize(
    ("given", "expected_tps", "speed"),
    [
        ([], None, None),
        ([], 9.0, SpeedForYou(9.0, is_measured=False)),
        ([("s", NOW, 30, 2.0)], 9.0, SpeedForYou(15.0, is_measured=True)),
        ([("s", NOW, 30, 2.0)], None, SpeedForYou(15.0, is_measured=True)),  # while paused
        ([("s", NOW, 30, 2.0)], 0.0, None),  # now a block has no server
        ([("s", NOW, 10, seconds) for seconds in (1.0, 2.0, 100.0)], 9.0, SpeedForYou(5.0, is_measured=True)),
        ([("other", NOW, 30, 2.0)], 9.0, SpeedForYou(9.0, is_measured=False)),
        ([("s", NOW - ANSWERS_COUNT_S, 30, 2.0)], 9.0, SpeedForYou(9.0, is_measured=False)),
        ([("s", NOW + 60, 30, 2.0)], 9.0, SpeedForYou(9.0, is_measured=False)),  # the clock was set back
        ([("s", NOW, 3, 1.0), ("s", NOW, 30, 0.0)], 9.0, SpeedForYou(9.0, is_measured=False)),  # too short to tell
    ],
)
def test_the_speed_is_the_median_of_the_last_answers_in_this_swarm_or_else_expected(
    given: list[tuple[str, float, int, float]], expected_tps: float | None, speed: SpeedForYou | None
) -> None:
    assert speed_for_you(answers(*given), "s", expected_tps, NOW) == speed


def test_the_last_twenty_answers_are_remembered() -> None:
    known = answers(*[("s", NOW, 10 + n, 1.0) for n in range(25)])
    assert [each.tokens for each in known] == [15 + n for n in range(20)]
