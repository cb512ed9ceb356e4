"""Probes of games against their real counterparts: gamemoded on a private bus, windows on a virtual screen."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from helpers.desktop import Desktop, desktop, ended
from helpers.games import ask_gamemode, gamemoded, window
from helpers.probe_reports import WAIT_S, watching
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence.full_screen import FullScreenProbe
from potluck_daemon.presence.gamemode import GameModeProbe
from potluck_daemon.presence.probe import (
    ProbeFailedError,
    ProbeUnavailableError,
    Sighting,
    Situation,
    Surroundings,
)

pytestmark = pytest.mark.screen


@pytest.fixture
def screen() -> Iterator[Desktop]:
    with desktop(window_manager=True) as made:
        yield made


def at(screen: Desktop) -> Surroundings:
    return Surroundings(environment=screen.environment)


@contextmanager
def sleeping_game() -> Iterator[int]:
    """The process id of a program that is not our child: those are ours to ignore."""
    shell = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE)
    assert shell.stdout is not None
    pid = int(shell.stdout.readline())
    with ended(shell):
        yield pid
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.gamemode
async def test_gamemode_is_heard_from_its_start_to_the_end_of_the_game(screen: Desktop) -> None:
    with sleeping_game() as pid:
        async with watching(GameModeProbe(at(screen))) as reports:
            await reports.until_named()  # nobody owns the name yet, and asking did not start it
            assert "gamemoded" not in names_on(screen)
            with gamemoded(screen):
                ask_gamemode(screen, "RegisterGame", pid)
                (seen,) = await reports.until_named("sleep")
                assert seen == Sighting(Reason.GAME, "sleep", Certainty.CERTAIN, "sleep")
                ask_gamemode(screen, "UnregisterGame", pid)
                await reports.until_named()


@pytest.mark.gamemode
async def test_gamemode_that_dies_takes_its_games_along(screen: Desktop) -> None:
    with sleeping_game() as pid:
        async with watching(GameModeProbe(at(screen))) as reports:
            with gamemoded(screen) as service:
                ask_gamemode(screen, "RegisterGame", pid)
                await reports.until_named("sleep")
                service.kill()
                await reports.until_named()


@pytest.mark.gamemode
async def test_a_game_that_dies_without_a_word_is_forgotten(screen: Desktop) -> None:
    with sleeping_game() as pid, gamemoded(screen):
        async with watching(GameModeProbe(at(screen))) as reports:
            ask_gamemode(screen, "RegisterGame", pid)
            await reports.until_named("sleep")
            os.kill(pid, signal.SIGKILL)
            await reports.until_named()


async def test_no_session_bus_is_said(tmp_path: Path) -> None:
    nowhere = Surroundings(environment={"DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path}/none"})
    with pytest.raises(ProbeUnavailableError, match="no session bus"):
        await GameModeProbe(nowhere).watch(lambda _: None, Situation())


async def test_a_session_bus_that_goes_away_is_said() -> None:
    with desktop() as made:
        first = asyncio.Event()
        task = asyncio.create_task(GameModeProbe(at(made)).watch(lambda _: first.set(), Situation()))
        await first.wait()
    with pytest.raises(ProbeUnavailableError, match="went away"):
        await task


def full_screen_probe(
    screen: Desktop,
    *,
    interval_s: float = 0.3,
    busy_percent: float = 5.0,  # what a busy one gets of a busy machine
) -> FullScreenProbe:
    return FullScreenProbe(at(screen), busy_percent=busy_percent, interval_s=interval_s)


LIKELY = Sighting(Reason.FULL_SCREEN, "MyGame", Certainty.LIKELY, "game_window.py")
WEAK = Sighting(Reason.FULL_SCREEN, "MyGame", Certainty.WEAK, "game_window.py")


async def test_a_busy_full_screen_window_is_likely_a_game_until_it_closes(screen: Desktop) -> None:
    async with watching(full_screen_probe(screen)) as reports:
        await reports.until_seen()
        with ended(window(screen, "full", "busy")):
            await reports.until_seen(LIKELY)
        await reports.until_seen()


async def test_a_window_without_borders_over_the_whole_screen_counts_too(screen: Desktop) -> None:
    async with watching(full_screen_probe(screen)) as reports:
        with ended(window(screen, "borderless", "busy")):
            await reports.until_seen(LIKELY)


async def test_an_idle_full_screen_window_is_a_weak_sign(screen: Desktop) -> None:
    async with watching(full_screen_probe(screen, interval_s=0.1, busy_percent=25.0)) as reports:
        with ended(window(screen, "full")):
            await reports.until_seen(WEAK)
            for _ in range(10):
                assert await reports.next() == (WEAK,)


async def test_a_full_screen_window_that_wants_no_compositor_is_likely_a_game_though_idle(screen: Desktop) -> None:
    async with watching(full_screen_probe(screen, interval_s=0.1, busy_percent=100.0)) as reports:
        with ended(window(screen, "full", "bypass")):
            await reports.until_seen(replace(LIKELY, reason=Reason.GAME))


async def test_a_maximised_window_without_a_panel_is_not_full_screen(screen: Desktop) -> None:
    async with watching(full_screen_probe(screen, interval_s=0.1)) as reports:
        with ended(window(screen, "maximised", "busy")):
            for _ in range(10):
                assert await reports.next() == ()


async def test_a_game_stays_one_when_another_window_gets_the_focus(screen: Desktop) -> None:
    async with watching(full_screen_probe(screen, interval_s=0.1)) as reports:
        with ended(window(screen, "full", "busy")):
            for _ in range(3):
                await reports.until_seen(LIKELY)
            with ended(window(screen, "small")):
                for _ in range(10):
                    assert await reports.next() == (LIKELY,)
        await reports.until_seen()


SANDBOX = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")


@pytest.mark.namespaces
async def test_the_process_of_a_window_in_a_pid_namespace_is_known(screen: Desktop) -> None:
    """The window names a process id of its own namespace; the X server knows the one of ours."""
    async with watching(full_screen_probe(screen)) as reports:
        with ended(window(screen, "full", "busy", wrapper=SANDBOX)):
            await reports.until_seen(LIKELY)
        await reports.until_seen()


async def test_a_small_window_is_no_game(screen: Desktop) -> None:
    async with watching(full_screen_probe(screen, interval_s=0.1)) as reports:
        with ended(window(screen, "small", "busy")):
            for _ in range(10):
                assert await reports.next() == ()


@pytest.mark.parametrize("name", ["mpv", "Firefox", "xscreensaver"])
async def test_a_player_a_browser_or_a_screen_saver_is_no_game(screen: Desktop, name: str) -> None:
    async with watching(full_screen_probe(screen, interval_s=0.1)) as reports:
        with ended(window(screen, "full", "busy", name=name)):
            for _ in range(10):
                assert await reports.next() == ()


async def test_windows_that_come_and_go_do_not_disturb_the_probe(screen: Desktop) -> None:
    async with watching(full_screen_probe(screen, interval_s=0.01)) as reports:
        for _ in range(5):
            with ended(window(screen, "full")):
                await reports.next()
        with ended(window(screen, "full", "busy")):
            await reports.until_seen(LIKELY)


async def test_an_x_server_that_goes_away_is_said() -> None:
    with desktop() as made:
        first = asyncio.Event()
        task = asyncio.create_task(full_screen_probe(made, interval_s=0.05).watch(lambda _: first.set(), Situation()))
        await first.wait()
    with pytest.raises(ProbeUnavailableError, match="no X11 display"):
        await task


async def test_a_frozen_x_server_does_not_block_the_daemon(screen: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = (process for process in psutil.Process().children() if process.name() == "Xvfb")
    server = max(servers, key=lambda process: process.create_time())  # other tests may have one too
    first = asyncio.Event()
    task = asyncio.create_task(full_screen_probe(screen, interval_s=0.01).watch(lambda _: first.set(), Situation()))
    await first.wait()
    monkeypatch.setattr("potluck_daemon.presence.x11.LOOK_TIMEOUT_S", 0.2)
    server.suspend()
    try:
        with pytest.raises(ProbeFailedError, match="does not answer"):
            await asyncio.wait_for(task, WAIT_S)
    finally:
        server.resume()


async def test_no_display_is_said() -> None:
    probe = FullScreenProbe(Surroundings(environment={}), busy_percent=25.0, interval_s=1.0)
    with pytest.raises(ProbeUnavailableError, match="no X11 display"):
        await probe.watch(lambda _: None, Situation())


def names_on(screen: Desktop) -> set[str]:
    """Programs that run on this screen."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("DBUS_SESSION_BUS_ADDRESS") == screen.bus_address:
                found.add(process.name())
    return found
