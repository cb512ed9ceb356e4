"""How fast a game gets the memory, and how soon a machine serves again after it.

A real daemon serves on a desktop of its own; the kernel says when the memory is free.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from potluck_control.api import schema
from potluck_control.states import State

from benchmarks.figures import Measured, figure
from benchmarks.games.real_games import GAMES, NUM_QUICK, WINDOW_S, RealProgram, running
from benchmarks.games.stand_in import stand_ins
from benchmarks.games.window_form import FULL_SCREEN, make_active_window
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.machine import rss_bytes
from benchmarks.setup.models import checkpoint, weight_bytes
from tests.helpers.daemon_process import GAME, LOOPBACK, DaemonProcess, scripted_game
from tests.helpers.desktop import Desktop, desktop, ended
from tests.helpers.games import ask_gamemode, gamemoded

NUM_BLOCKS = 8
_FREED = 0.9  # share of the weights' size
_LOOK_EVERY_S = 0.01
_PATIENCE_S = 60.0
_APP_ID = 504230
_QUIET_S = 15.0  # the default
_END_AFTER_S = 5.0  # until the engine of a yielded machine ends, in `return_time`
_SETTINGS = """
[serve]
checkpoint = "{checkpoint}"
blocks = "0:{num_blocks}"
listen = ["/ip4/127.0.0.1/tcp/0"]
threads = 1
[yield]
quiet_certain_s = 0.2
quiet_likely_s = 0.2
end_engine_after_s = 600
[when]
active_percent = 100
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A daemon and its desktop."""

    screen: Desktop
    daemon: DaemonProcess

    @property
    def engine_pid(self) -> int:
        pid = self.daemon.status().engine.pid
        assert pid is not None
        return pid


Game = Callable[[Server], AbstractContextManager[float]]
"""Starts a game on a server's desktop, gives the monotonic time of its sign, and ends it."""


@figure("yield_announced", unit="s", reach=0.5)
def announced(soak: bool) -> Measured:
    """Seconds from the start of a game that GameMode or Steam announces until the memory is free, 95th percentile.

    Not the median, because a game that is found by looking may start just after a look.
    """
    return _freed([("gamemode", _gamemode), ("steam", _steam)] * (20 if soak else 8))


@figure("yield_full_screen", unit="s", reach=3, shown=True)
def full_screen(soak: bool) -> Measured:
    """Seconds from the moment a real, unannounced game fills the screen until the memory is free, 95th percentile."""
    games = [(game.label, _real(game)) for game in GAMES[:NUM_QUICK] if game.is_installed]
    return _freed(games * (4 if soak else 2))


@figure("return_time", unit="s", reach=5, shown=True)
def over_quiet_time(soak: bool) -> Measured:
    """Seconds from the end of a game to serving again, over the quiet time; the engine offloaded, and ended.

    Two games: a short one, after which the engine still waits with its weights freed, and a long one, after which its
    process has ended and has to be started anew. The slower one counts.
    """
    rounds = 10 if soak else 2
    settings = f'{LOOPBACK}[yield]\nalways = ["{GAME}"]\nquiet_certain_s = {_QUIET_S}\n'
    settings += f"end_engine_after_s = {_END_AFTER_S}\n"
    with (
        desktop() as screen,
        DaemonProcess(settings, environment=screen.environment) as daemon,
        tempfile.TemporaryDirectory() as folder,
    ):
        daemon.client.call(schema.CREATE)
        daemon.wait_state(State.SERVING)
        times = {
            name: [_return_s(daemon, Path(folder), is_long=name == "long") for _ in range(rounds)]
            for name in ("short", "long")
        }
    medians = {name: round(statistics.median(values), 2) for name, values in times.items()}
    return Measured(max(medians.values()), {"median_s": medians, "quiet_s": _QUIET_S})


def _freed(games: Sequence[tuple[str, Game]]) -> Measured:
    """Start games on the desktop of a server, one after the other."""
    folder = checkpoint(512, NUM_BLOCKS)
    freed_s: list[float] = []
    with LocalSwarm(folder, ()) as swarm, _serving(folder, swarm) as server:
        for _, game in games:
            pid = server.engine_pid
            before = rss_bytes(pid)
            with game(server) as signed_at:
                freed_s.append(_until_free(server, pid, before, weight_bytes(folder)) - signed_at)
            server.daemon.wait_state(State.SERVING)
    all_s = [f"{label}: {seconds:.2f}" for (label, _), seconds in zip(games, freed_s, strict=True)]
    return Measured(statistics.quantiles(freed_s, n=20, method="inclusive")[-1], {"all_s": all_s})


@contextmanager
def _gamemode(server: Server) -> Iterator[float]:
    with ended(subprocess.Popen(["sleep", "600"])) as game:
        signed_at = time.monotonic()
        ask_gamemode(server.screen, "RegisterGame", game.pid)
        yield signed_at
        ask_gamemode(server.screen, "UnregisterGame", game.pid)


@contextmanager
def _steam(server: Server) -> Iterator[float]:
    """A game with its reaper, as Steam starts it."""
    with stand_ins() as programs:
        signed_at = time.monotonic()
        command = ("reaper", "SteamLaunch", f"AppId={_APP_ID}", "--", "/steamapps/common/Celeste/Celeste")
        with programs.running("reaper", *command):
            yield signed_at


def _real(game: RealProgram) -> Game:
    """Return a real game whose sign is that it fills the screen."""

    @contextmanager
    def play(server: Server) -> Iterator[float]:
        with running(game, server.screen.environment) as process:
            if not make_active_window(server.screen.display, process.pid, FULL_SCREEN, WINDOW_S):
                raise TimeoutError(f"{game.label} has no window")
            yield time.monotonic()

    return play


@contextmanager
def _serving(folder: Path, swarm: LocalSwarm) -> Iterator[Server]:
    settings = _SETTINGS.format(checkpoint=folder, num_blocks=NUM_BLOCKS)
    with (
        desktop(window_manager=True) as screen,
        gamemoded(screen),
        DaemonProcess(settings, environment=screen.environment) as daemon,
    ):
        daemon.become_founder(swarm)
        daemon.wait_state(State.SERVING)
        yield Server(screen, daemon)


def _until_free(server: Server, pid: int, before: int, num_bytes: int) -> float:
    """Wait until the engine has freed most of its weights; return the time."""
    deadline = time.monotonic() + _PATIENCE_S
    while before - rss_bytes(pid) < _FREED * num_bytes:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the memory is not freed\n{server.daemon.log()}")
        time.sleep(_LOOK_EVERY_S)
    return time.monotonic()


def _return_s(daemon: DaemonProcess, folder: Path, *, is_long: bool) -> float:
    """Seconds from the end of a game to serving, without the quiet time."""
    with scripted_game(folder):
        daemon.wait_for(lambda status: status.state is State.YIELDED and (status.engine.pid is None or not is_long))
    began = time.monotonic()
    daemon.wait_for(lambda status: status.state is State.YIELDED and status.until is not None)
    daemon.wait_state(State.SERVING)
    return time.monotonic() - began - _QUIET_S
