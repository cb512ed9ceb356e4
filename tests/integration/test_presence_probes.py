"""Each probe against its real counterpart: gamemoded on a private bus, windows on a virtual screen."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from helpers.desktop import Desktop, desktop, ended
from helpers.games import ask_gamemode, gamemoded, window
from potluck_daemon.presence.full_screen import FullScreenProbe
from potluck_daemon.presence.gamemode import GameModeProbe
from potluck_daemon.presence.probe import Probe, ProbeUnavailableError, Sighting, Vigilance
from potluck_daemon.states import Reason

WAIT_S = 30.0


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desktop]:
    with desktop(window_manager=True) as made:
        monkeypatch.setenv("DISPLAY", made.display)
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", made.bus_address)
        yield made


class Reports:
    def __init__(self) -> None:
        self.queue: asyncio.Queue[tuple[Sighting, ...]] = asyncio.Queue()

    async def next(self) -> tuple[Sighting, ...]:
        async with asyncio.timeout(WAIT_S):
            return await self.queue.get()

    async def until(self, *who: str) -> tuple[Sighting, ...]:
        """The first report that names exactly these programs."""
        async with asyncio.timeout(WAIT_S):
            while True:
                report = await self.queue.get()
                if tuple(sighting.who for sighting in report) == who:
                    return report


@asynccontextmanager
async def watching(probe: Probe) -> AsyncIterator[Reports]:
    reports = Reports()
    task = asyncio.create_task(probe.watch(reports.queue.put_nowait, Vigilance()))
    try:
        yield reports
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


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


async def test_gamemode_is_heard_from_its_start_to_the_end_of_the_game(screen: Desktop) -> None:
    with sleeping_game() as pid:
        async with watching(GameModeProbe()) as reports:
            await reports.until()  # nobody owns the name yet, and asking did not start it
            assert "gamemoded" not in names_on(screen)
            with gamemoded(screen):
                ask_gamemode(screen, "RegisterGame", pid)
                (seen,) = await reports.until("sleep")
                assert seen == Sighting(Reason.GAME, "sleep", is_certain=True)
                ask_gamemode(screen, "UnregisterGame", pid)
                await reports.until()


async def test_gamemode_that_dies_takes_its_games_along(screen: Desktop) -> None:
    with sleeping_game() as pid:
        async with watching(GameModeProbe()) as reports:
            with gamemoded(screen) as service:
                ask_gamemode(screen, "RegisterGame", pid)
                await reports.until("sleep")
                service.kill()
                await reports.until()


async def test_a_game_that_dies_without_a_word_is_forgotten(screen: Desktop) -> None:
    with sleeping_game() as pid, gamemoded(screen):
        async with watching(GameModeProbe()) as reports:
            ask_gamemode(screen, "RegisterGame", pid)
            await reports.until("sleep")
            os.kill(pid, signal.SIGKILL)
            await reports.until()


async def test_no_session_bus_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    with pytest.raises(ProbeUnavailableError, match="no session bus"):
        await GameModeProbe().watch(lambda _: None, Vigilance())


async def test_a_session_bus_that_goes_away_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with desktop() as made:
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", made.bus_address)
        first = asyncio.Event()
        task = asyncio.create_task(GameModeProbe().watch(lambda _: first.set(), Vigilance()))
        await first.wait()
    with pytest.raises(ProbeUnavailableError, match="went away"):
        await task


def full_screen_probe(**more: object) -> FullScreenProbe:
    options: dict[str, object] = {"never": (), "busy_percent": 25.0, "interval_s": 0.3}
    return FullScreenProbe(**(options | more))  # type: ignore[arg-type]


async def test_a_busy_full_screen_window_is_likely_a_game_until_it_closes(screen: Desktop) -> None:
    async with watching(full_screen_probe()) as reports:
        await reports.until()
        with ended(window(screen, "full", "busy")):
            (seen,) = await reports.until("MyGame")
            assert seen == Sighting(Reason.FULL_SCREEN, "MyGame", is_certain=False)
        await reports.until()


async def test_a_window_without_borders_over_the_whole_screen_counts_too(screen: Desktop) -> None:
    async with watching(full_screen_probe()) as reports:
        with ended(window(screen, "borderless", "busy")):
            await reports.until("MyGame")


@pytest.mark.parametrize("options", [("full",), ("small", "busy")])
async def test_an_idle_or_a_small_window_is_no_game(screen: Desktop, options: tuple[str, ...]) -> None:
    async with watching(full_screen_probe(interval_s=0.1)) as reports:
        with ended(window(screen, *options)):
            for _ in range(10):
                assert await reports.next() == ()


async def test_a_program_of_the_never_list_is_no_game(screen: Desktop) -> None:
    async with watching(full_screen_probe(never=("mygame",), interval_s=0.1)) as reports:
        with ended(window(screen, "full", "busy")):
            for _ in range(10):
                assert await reports.next() == ()


async def test_windows_that_come_and_go_do_not_disturb_the_probe(screen: Desktop) -> None:
    async with watching(full_screen_probe(interval_s=0.01)) as reports:
        for _ in range(5):
            with ended(window(screen, "full")):
                await reports.next()
        with ended(window(screen, "full", "busy")):
            await reports.until("MyGame")


async def test_an_x_server_that_goes_away_or_hangs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with desktop() as made:
        monkeypatch.setenv("DISPLAY", made.display)
        first = asyncio.Event()
        task = asyncio.create_task(full_screen_probe(interval_s=0.05).watch(lambda _: first.set(), Vigilance()))
        await first.wait()
    with pytest.raises(ProbeUnavailableError, match="no X11 display"):
        await task


async def test_a_frozen_x_server_does_not_block_the_daemon(screen: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck_daemon.presence.full_screen.LOOK_TIMEOUT_S", 0.2)
    server = next(process for process in psutil.Process().children() if process.name() == "Xvfb")
    first = asyncio.Event()
    task = asyncio.create_task(full_screen_probe(interval_s=0.01).watch(lambda _: first.set(), Vigilance()))
    await first.wait()
    server.suspend()
    try:
        with pytest.raises(ProbeUnavailableError, match="does not answer"):
            await asyncio.wait_for(task, WAIT_S)
    finally:
        server.resume()


async def test_no_display_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(ProbeUnavailableError, match="no X11 display"):
        await full_screen_probe().watch(lambda _: None, Vigilance())


def names_on(screen: Desktop) -> set[str]:
    """Programs that run on this screen."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("DBUS_SESSION_BUS_ADDRESS") == screen.bus_address:
                found.add(process.name())
    return found
