"""How fast a game gets the memory: `yield_push_announce`, `yield_push_free`, `yield_scan_free`, `yield_likely_free`,
`yield_announced`, `yield_full_screen`.

Two real daemons serve the same blocks, each on a desktop of its own. In every round a generation runs, and a game
starts on the desktop of the daemon that serves it; the generation must end on the other one, with the local model's
tokens.
An onlooker, a further node of the swarm, tells when the announcement is out; the kernel tells when memory is free.
In `yield_announced` and `yield_full_screen` no generation runs: real games take longer to load than one lasts.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from potluck_control.states import State
from potluck_gateway.answers.completion import Completion, silence_transformers

from benchmarks.figures import Measured
from benchmarks.local_swarm import LocalSwarm
from benchmarks.loops import generate, swarm_model
from benchmarks.machine import rss_bytes
from benchmarks.models import checkpoint, local_model
from benchmarks.onlooker import Onlooker
from benchmarks.real_games import GAMES, NUM_QUICK, WINDOW_S, RealProgram, running
from benchmarks.server import weight_bytes
from benchmarks.stand_in import stand_ins
from benchmarks.windows_of import FULL_SCREEN, make_active_window
from potluck.protocol.blocks import PeerId
from tests.helpers.daemon_process import GAME, DaemonProcess, scripted_game
from tests.helpers.desktop import Desktop, desktop, ended
from tests.helpers.games import ask_gamemode, gamemoded, window

NUM_BLOCKS = 8
NUM_TOKENS = 400  # lasts longer than the slowest yield, also on a quiet machine
_STRIKE_AT = 16  # tokens
_FREED = 0.9  # of the weights' size
_LOOK_EVERY_S = 0.01
_PATIENCE_S = 60.0
_APP_ID = 504230
_SETTINGS = """
[serve]
checkpoint = "{checkpoint}"
blocks = "0:{num_blocks}"
listen = ["/ip4/127.0.0.1/tcp/0"]
threads = 1
[yield]
always = ["{game}"]
never = {never}
quiet_certain_s = 0.2
quiet_likely_s = 0.2
end_engine_after_s = 600
[when]
active_percent = 100
"""


@dataclass(frozen=True, slots=True)
class Server:
    """A daemon and its desktop; `game` is the program that only it gives way to: both see all processes."""

    screen: Desktop
    daemon: DaemonProcess
    game: str
    app_id: int  # of the Steam game that only it gives way to

    @property
    def peer_id(self) -> PeerId:
        swarm = self.daemon.status().swarm
        assert swarm is not None
        assert swarm.peer_id is not None
        return PeerId(swarm.peer_id)

    @property
    def engine_pid(self) -> int:
        pid = self.daemon.status().engine.pid
        assert pid is not None
        return pid


Game = Callable[[Server], AbstractContextManager[float]]
"""Starts a game on a server's desktop, gives the monotonic time of its sign, and ends it."""


@dataclass(slots=True)
class Times:
    """Seconds from the sign of a game, one value a round."""

    announced_s: list[float] = field(default_factory=list)
    freed_s: list[float] = field(default_factory=list)
    are_unharmed: bool = True


def push_announce(soak: bool) -> Measured:
    return _measured(_pushed(soak), lambda times: times.announced_s)


def push_free(soak: bool) -> Measured:
    return _measured(_pushed(soak), lambda times: times.freed_s)


def scan_free(soak: bool) -> Measured:
    return _measured(_play({"steam": _steam}, soak), lambda times: times.freed_s)


def likely_free(soak: bool) -> Measured:
    return _measured(_play({"full_screen": _full_screen}, soak), lambda times: times.freed_s)


def announced(soak: bool) -> Measured:
    """The 95th percentile, because a game that is found by looking may start just after a look."""
    return _alone([("gamemode", _gamemode), ("steam", _steam)] * (20 if soak else 8))


def full_screen(soak: bool) -> Measured:
    """The 95th percentile of the time from the moment that a real game fills the screen."""
    games = [(game.label, _real(game)) for game in GAMES[:NUM_QUICK] if game.is_installed]
    return _alone(games * (4 if soak else 2))


def _alone(games: Sequence[tuple[str, Game]]) -> Measured:
    """Start games on the desktop of one server on which nothing is generated."""
    folder = checkpoint(512, NUM_BLOCKS)
    freed_s: list[float] = []
    with LocalSwarm(folder, ()) as swarm, _serving(0, folder, swarm) as server:
        for _, game in games:
            pid = server.engine_pid
            before = rss_bytes(pid)
            with game(server) as signed_at:
                freed_s.append(_until_free(server, pid, before, weight_bytes(folder)) - signed_at)
            server.daemon.wait_state(State.SERVING)
    all_s = [f"{label}: {seconds:.2f}" for (label, _), seconds in zip(games, freed_s, strict=True)]
    return Measured(_percentile_95(freed_s), {"all_s": all_s})


def _percentile_95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


def _pushed(soak: bool) -> dict[str, Times]:
    return _play({"gamemode": _gamemode, "listed_program": _listed_program}, soak)


def _measured(by_sign: dict[str, Times], which: Callable[[Times], list[float]]) -> Measured:
    """The median of the slower sign."""
    medians = {sign: round(statistics.median(which(times)), 3) for sign, times in by_sign.items()}
    all_s = {sign: [round(value, 3) for value in which(times)] for sign, times in by_sign.items()}
    are_unharmed = all(times.are_unharmed for times in by_sign.values())
    detail = {"median_s": medians, "all_s": all_s, "sessions_unharmed": are_unharmed}
    return Measured(max(medians.values()), detail, holds=are_unharmed)


@contextmanager
def _gamemode(server: Server) -> Iterator[float]:
    with ended(subprocess.Popen(["sleep", "600"])) as game:
        signed_at = time.monotonic()
        ask_gamemode(server.screen, "RegisterGame", game.pid)
        yield signed_at
        ask_gamemode(server.screen, "UnregisterGame", game.pid)


@contextmanager
def _listed_program(server: Server) -> Iterator[float]:
    with tempfile.TemporaryDirectory() as folder:
        signed_at = time.monotonic()
        with scripted_game(Path(folder), server.game):
            yield signed_at


@contextmanager
def _steam(server: Server) -> Iterator[float]:
    """A game with its reaper, as Steam starts it."""
    with stand_ins() as programs:
        signed_at = time.monotonic()
        command = ("reaper", "SteamLaunch", f"AppId={server.app_id}", "--", "/steamapps/common/Celeste/Celeste")
        with programs.running("reaper", *command):
            yield signed_at


@contextmanager
def _full_screen(server: Server) -> Iterator[float]:
    with ended(window(server.screen, "full", "busy")):
        yield time.monotonic()


def _real(game: RealProgram) -> Game:
    """Return a real game whose sign is that it fills the screen."""

    @contextmanager
    def play(server: Server) -> Iterator[float]:
        with running(game, server.screen.environment) as process:
            if not make_active_window(server.screen.display, process.pid, FULL_SCREEN, WINDOW_S):
                raise TimeoutError(f"{game.label} has no window")
            yield time.monotonic()

    return play


def _play(games: Mapping[str, Game], soak: bool) -> dict[str, Times]:
    silence_transformers()
    folder = checkpoint(512, NUM_BLOCKS)
    expected = generate(local_model(folder), NUM_TOKENS).tokens
    result = {sign: Times() for sign in games}
    with ExitStack() as stack:
        swarm = stack.enter_context(LocalSwarm(folder, ()))
        servers = [stack.enter_context(_serving(number, folder, swarm)) for number in range(2)]
        onlooker = stack.enter_context(Onlooker(swarm.membership))
        for sign in list(games) * (20 if soak else 3):
            times = result[sign]
            with swarm_model(swarm, folder) as model, Generation(model) as generation:
                server = next(item for item in servers if item.peer_id in generation.peers_in_use())
                _strike(games[sign], server, onlooker, weight_bytes(folder), times)
                times.are_unharmed &= generation.tokens() == expected and generation.was_replaced()
            server.daemon.wait_state(State.SERVING)
            onlooker.sees(server.peer_id, is_there=True, within_s=_PATIENCE_S).result()
    return result


@contextmanager
def _serving(number: int, folder: Path, swarm: LocalSwarm) -> Iterator[Server]:
    game, app_id = f"{GAME}-{number}", _APP_ID + number
    never = json.dumps([f"steam:{other}" for other in (_APP_ID, _APP_ID + 1) if other != app_id])
    settings = _SETTINGS.format(checkpoint=folder, num_blocks=NUM_BLOCKS, game=game, never=never)
    with (
        desktop(window_manager=True) as screen,
        gamemoded(screen),
        DaemonProcess(settings, environment=screen.environment) as daemon,
    ):
        daemon.become_founder(swarm)
        daemon.wait_state(State.SERVING)
        yield Server(screen, daemon, game, app_id)


def _strike(game: Game, server: Server, onlooker: Onlooker, num_bytes: int, times: Times) -> None:
    """Start the game and wait for the announcement and the memory, then end it."""
    pid = server.engine_pid
    before = rss_bytes(pid)
    left = onlooker.sees(server.peer_id, is_there=False, within_s=_PATIENCE_S)
    with game(server) as signed_at:
        times.freed_s.append(_until_free(server, pid, before, num_bytes) - signed_at)
        times.announced_s.append(left.result() - signed_at)
        server.daemon.wait_state(State.YIELDED)


def _until_free(server: Server, pid: int, before: int, num_bytes: int) -> float:
    """Wait until the engine has freed most of its weights; return the time."""
    deadline = time.monotonic() + _PATIENCE_S
    while before - rss_bytes(pid) < _FREED * num_bytes:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the memory is not freed\n{server.daemon.log()}")
        time.sleep(_LOOK_EVERY_S)
    return time.monotonic()


class Generation:
    """Generates in a thread; inside the context some tokens have come and many are still to come."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._is_running = threading.Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Generation:
        self._done = self._pool.submit(lambda: generate(self._model, NUM_TOKENS, self._note))
        self._done.add_done_callback(lambda _: self._is_running.set())
        self._is_running.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown()

    def peers_in_use(self) -> set[PeerId]:
        return {hop.peer_id for report in self._model.last_route() for hop in report.hops}

    def was_replaced(self) -> bool:
        return any(report.replaced for report in self._model.last_route())

    def tokens(self) -> list[int]:
        """Waits for the last one."""
        tokens: list[int] = self._done.result().tokens
        return tokens

    def _note(self, completion: Completion) -> None:
        if len(completion.tokens) == _STRIKE_AT:
            self._is_running.set()
