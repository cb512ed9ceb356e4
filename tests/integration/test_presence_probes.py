"""Probes of games against their real counterparts: gamemoded on a private bus, windows on a virtual screen."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

import psutil
import pytest
from helpers.desktop import Desktop, desktop, ended
from helpers.games import ask_gamemode, gamemoded, window
from helpers.probe_reports import WAIT_S, gives_up, watching
from potluck_control.states import Certainty, Reason
from potluck_daemon.presence import idle
from potluck_daemon.presence.active_window import ActiveWindow, WindowObserver, WindowsProbe
from potluck_daemon.presence.idle import IdleProbe, x11_idle
from potluck_daemon.presence.probe import (
    Probe,
    ProbeFailedError,
    ProbeUnavailableError,
    Sighting,
    Situation,
    Surroundings,
)
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.services import gamemode
from potluck_daemon.presence.x11 import active_window, x11_windows
from Xlib.display import Display

from potluck.sentences import verbatim

pytestmark = pytest.mark.screen

SANDBOX = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")


@pytest.fixture(scope="module")
def screen() -> Iterator[Desktop]:
    with desktop(window_manager=True) as made:
        yield made


def at(screen: Desktop) -> Surroundings:
    return Surroundings(environment=screen.environment)


def windows_probe(at: Surroundings) -> WindowsProbe:
    busy_percent = 5.0  # what a busy program gets of a busy machine
    looks = WindowObserver(at, ProcessTable(at), busy_percent=busy_percent, interval_s=0.05)
    return WindowsProbe(verbatim("windows"), partial(x11_windows, at), looks)


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
async def test_gamemode_is_heard_until_the_game_or_gamemode_itself_ends(screen: Desktop) -> None:
    with sleeping_game() as pid:
        async with watching(gamemode(at(screen))) as reports:
            await reports.until_named()
            assert not isinstance(ask_gamemode(screen, "QueryStatus", pid), int), "asking started it"
            with gamemoded(screen) as service:
                ask_gamemode(screen, "RegisterGame", pid)
                await reports.until_seen(Sighting(Reason.GAME, "sleep", Certainty.CERTAIN, "sleep"))
                ask_gamemode(screen, "UnregisterGame", pid)
                await reports.until_named()
                ask_gamemode(screen, "RegisterGame", pid)
                await reports.until_named("sleep")
                service.kill()
                await reports.until_named()


async def test_no_bus_and_no_screen_are_said() -> None:
    nowhere = Surroundings(environment={"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"})
    await gives_up(gamemode(nowhere), ProbeUnavailableError, "no session bus")
    await gives_up(windows_probe(nowhere), ProbeUnavailableError, "no X11 display")


async def looking(probe: Probe) -> asyncio.Task[None]:
    """Start a probe; return when it has looked."""
    first = asyncio.Event()
    task = asyncio.create_task(probe.watch(lambda _: first.set(), Situation()))
    await first.wait()
    return task


async def test_a_screen_that_freezes_and_what_goes_away_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with desktop() as made:
        servers = (process for process in psutil.Process().children() if process.name() == "Xvfb")
        server = max(servers, key=lambda process: process.create_time())  # other tests may have one too
        with monkeypatch.context() as patch:
            patch.setattr(idle, "LONGEST_WAIT_S", 0.1)
            task = await looking(IdleProbe(verbatim("X11"), partial(x11_idle, at(made)), 60))
            patch.setattr("potluck_daemon.presence.x11.LOOK_TIMEOUT_S", 0.2)
            server.suspend()
            try:
                with pytest.raises(ProbeFailedError, match="does not answer"):
                    await asyncio.wait_for(task, WAIT_S)
            finally:
                server.resume()
        games, windows = await looking(gamemode(at(made))), await looking(windows_probe(at(made)))
    with pytest.raises(ProbeUnavailableError, match="went away"):
        await games
    with pytest.raises(ProbeUnavailableError, match="no X11 display"):
        await windows


async def test_a_busy_full_screen_window_is_likely_a_game_until_it_closes(screen: Desktop) -> None:
    likely = Sighting(Reason.FULL_SCREEN, "MyGame", Certainty.LIKELY, "game_window.py")
    async with watching(windows_probe(at(screen))) as reports:
        for _ in range(3):  # a window may close while it is looked at
            await reports.until_seen()
            with ended(window(screen, "full", "busy")):
                await reports.until_seen(likely)
        await reports.until_seen()


def active(screen: Desktop) -> ActiveWindow | None:
    display = Display(screen.display)
    try:
        return active_window(display)
    finally:
        display.close()


@pytest.mark.parametrize(
    ("options", "is_full_screen", "wants_no_compositor"),
    [
        (("full",), True, False),
        (("full", "bypass"), True, True),
        (("borderless",), True, False),
        (("maximised",), False, False),  # which covers the screen, as there is no panel
        (("small",), False, False),
    ],
)
def test_the_active_window_tells_its_process_and_whether_it_fills_the_screen(
    screen: Desktop, options: tuple[str, ...], is_full_screen: bool, wants_no_compositor: bool
) -> None:
    with ended(window(screen, *options)) as process:
        assert active(screen) == ActiveWindow(process.pid, "MyGame", is_full_screen, wants_no_compositor)


@pytest.mark.namespaces
def test_the_process_of_a_window_in_a_pid_namespace_is_known(screen: Desktop) -> None:
    """The window names a process id of its own namespace; the X server knows the one of ours."""
    with ended(window(screen, "full", wrapper=SANDBOX)) as sandbox:
        (game,) = psutil.Process(sandbox.pid).children()
        found = active(screen)
        assert found is not None
        assert found.pid == game.pid
        sandbox.kill()  # it takes the game along, and does not listen to a request
