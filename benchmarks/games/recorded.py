"""Real programs of the distribution, recorded: what the kernel and the X server say about them, second by second."""

from __future__ import annotations

import time
from pathlib import Path

from potluck_daemon.presence.active_window import used_seconds
from potluck_daemon.presence.probe import Surroundings
from potluck_daemon.presence.processes import ProcessTable, Program
from potluck_daemon.presence.x11 import active_window
from Xlib.display import Display

from benchmarks.games.real_games import GAMES, OTHERS, WINDOW_S, running
from benchmarks.games.situations import Moment, Process, Scene, Window
from benchmarks.games.window_form import make_active_window
from tests.helpers.desktop import desktop

_PROC = Path("/proc")
_NOBODY = 1 << 30
_LOOKS = 5


def recorded(num: int | None) -> list[Scene]:
    """Return the first `num` games and as many others that are installed (None: all), each as a scene of its own."""
    table = ProcessTable(Surroundings(own_pid=_NOBODY))
    with desktop(window_manager=True) as screen:
        scenes = []
        for is_game, programs in ((True, GAMES), (False, OTHERS)):
            for program in [item for item in programs if item.is_installed][:num]:
                with running(program, screen.environment) as process:
                    if make_active_window(screen.display, process.pid, program.form, WINDOW_S):
                        moments = tuple(_watch(table, process.pid, screen.display) for _ in range(_LOOKS))
                        scenes.append(Scene(f"real: {program.label}", moments, is_game, has_own_menu=False))
    return scenes


def _watch(table: ProcessTable, root: int, display_name: str) -> Moment:
    """Return what happens within a second."""
    before, began = {pid: used_seconds(_PROC, pid) for pid in table.refresh()}, time.monotonic()
    time.sleep(1.0)
    programs = table.refresh()
    pids = sorted(table.tree(root) & programs.keys())
    used_s = {pid: used_seconds(_PROC, pid) - before.get(pid, 0.0) for pid in pids}
    took_s = time.monotonic() - began
    processes = tuple(_process(table, programs[pid], pids, 100 * used_s[pid] / took_s) for pid in pids)
    display = Display(display_name)
    display.set_error_handler(lambda *_: None)
    try:
        found = active_window(display)
    finally:
        display.close()
    if found is None or found.pid not in pids:
        return Moment(1, processes)
    window = Window(pids.index(found.pid), found.name, found.is_full_screen, found.wants_no_compositor)
    return Moment(1, processes, window)


def _process(table: ProcessTable, program: Program, pids: list[int], percent: float) -> Process:
    parent = pids.index(program.parent) if program.parent in pids else None
    return Process(program.comm, program.arguments, table.variables(program), percent, parent)
