"""A real game of the distribution before the real probe of Wayland; the figures run many more games and programs."""

from functools import partial

import pytest
from potluck_daemon.presence.active_window import WindowObserver, WindowsProbe
from potluck_daemon.presence.probe import Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.wayland import wayland_windows

from benchmarks.games.real_games import RealProgram, running
from potluck.sentences import verbatim
from tests.helpers.probe_reports import watching
from tests.helpers.wayland import sway

FULL = 'for_window [app_id=".*"] fullscreen enable'


@pytest.mark.wayland
@pytest.mark.games
async def test_a_game_of_wayland_is_noticed_and_its_end_too() -> None:
    game = RealProgram("quadrapassel", ("quadrapassel",))
    with sway(FULL) as environment:
        at = Surroundings(environment=environment)
        table = ProcessTable(at)
        looks = WindowObserver(at, table, busy_percent=25.0, interval_s=0.2)
        async with watching(WindowsProbe(verbatim("windows"), partial(wayland_windows, at, table), looks)) as reports:
            await reports.until_seen()
            with running(game, environment | {"GDK_BACKEND": "wayland"}, runtime=environment["XDG_RUNTIME_DIR"]):
                await reports.until_named("Quadrapassel")
            await reports.until_seen()
