"""Real games and real other programs of the distribution, before the real probes; `make soak` runs many more."""

from __future__ import annotations

import shutil

import pytest
from potluck_daemon.presence.probe import Surroundings
from potluck_daemon.presence.toplevels import WaylandWindowsProbe

from benchmarks.real_games import GAMES, NUM_QUICK, OTHERS, RealProgram, false_yields, missed, running
from tests.helpers.probe_reports import watching
from tests.helpers.wayland import HAS_SWAY, sway

FULL = 'for_window [app_id=".*"] fullscreen enable'


def installed(programs: tuple[RealProgram, ...]) -> bool:
    return all(program.is_installed for program in programs)


@pytest.mark.skipif(not installed(GAMES[:NUM_QUICK]), reason="needs the games of .ci/debian-packages.txt")
def test_games_of_the_distribution_are_noticed() -> None:
    measured = missed(soak=False)
    assert measured.detail["missed"] == []


@pytest.mark.skipif(not installed(OTHERS[:NUM_QUICK]), reason="needs the programs of .ci/debian-packages.txt")
def test_other_programs_that_fill_the_screen_and_are_busy_are_no_games() -> None:
    measured = false_yields(soak=False)
    assert measured.detail["yields"] == {}
    assert len(measured.detail["programs"]) == NUM_QUICK


@pytest.mark.skipif(not (HAS_SWAY and shutil.which("quadrapassel", path="/usr/games")), reason="needs sway and a game")
async def test_a_game_of_wayland_is_noticed_and_its_end_too() -> None:
    game = RealProgram("quadrapassel", ("quadrapassel",))
    with sway(FULL) as environment:
        at = Surroundings(environment=environment)
        async with watching(WaylandWindowsProbe(at, busy_percent=25.0, interval_s=0.2)) as reports:
            await reports.until_seen()
            with running(game, environment | {"GDK_BACKEND": "wayland"}, runtime=environment["XDG_RUNTIME_DIR"]):
                await reports.until_named("Quadrapassel")
            await reports.until_seen()
