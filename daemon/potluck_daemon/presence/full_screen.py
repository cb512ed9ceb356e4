"""Looks at the active window and gathers what `windows.judge` needs to know about its program.

A full-screen window alone may be a film or a presentation. Its program's place in the desktop's menu, a hint to the
compositor, an open game controller and the CPU time of its processes make the difference.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from potluck.sentences import sentence
from potluck_daemon.presence.app_scopes import app_id_of
from potluck_daemon.presence.controllers import controllers, has_open
from potluck_daemon.presence.menu import MenuEntry, MenuReader
from potluck_daemon.presence.probe import Report, Sighting, Situation, Surroundings, next_look
from potluck_daemon.presence.processes import Program, is_below, program_of
from potluck_daemon.presence.windows import ActiveWindow, Judgement, Play, Signs, is_other, judge, remember, sightings
from potluck_daemon.presence.x11 import XScreen
from potluck_daemon.presence.x11_windows import active_window

RELAXED_FACTOR = 2.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SHELLS = ("sh", "bash", "dash", "zsh", "python", "python3", "perl")
_MAX_SCRIPTS = 3  # scripts that start each other before the game runs


@dataclass(frozen=True, slots=True)
class _Use:
    """CPU time of a process, or of its whole tree, up to a moment."""

    pid: int
    is_tree: bool
    used_s: float
    at: float


class WindowLooks:
    """Judges the active window at each look, and remembers the games that go on after they were left."""

    def __init__(
        self,
        surroundings: Surroundings,
        *,
        busy_percent: float,
        interval_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._surroundings = surroundings
        self._busy_percent = busy_percent
        self._interval_s = interval_s
        self._clock = clock
        self._menu = MenuReader(surroundings.environment)
        self._last_use: _Use | None = None
        self._busy_since: float | None = None
        self._plays: dict[int, Play] = {}

    def look(self, window: ActiveWindow | None) -> tuple[Sighting, ...]:
        """Return what there is to report when this window is the active one."""
        seen = self._judge(window) if window is not None else None
        if window is None:
            self._last_use = self._busy_since = None
        self._plays = remember(self._plays, seen, self._clock(), interval_s=self._interval_s, is_alive=self._is_alive)
        return sightings(self._plays, seen)

    def _judge(self, window: ActiveWindow) -> tuple[Program, Judgement] | None:
        named = Program(0, 0, window.name, (window.name,))  # all that is known of a window without a process id
        program = program_of(self._surroundings.proc, window.pid) if window.pid else named
        if program is None:
            return None
        entry = self._entry(window, program)
        if is_other(window, Signs(program, entry)):
            return None
        needs_use = program.pid > 0 and (window.is_full_screen or (entry is not None and entry.is_game))
        tree = tree_of(program.pid, self._surroundings.proc) if needs_use else {}
        devices = controllers(self._surroundings.sys) if tree else frozenset[str]()
        has_controller = has_open(self._surroundings.proc, tree, devices)
        used_s = sum(tree.values()) if tree else _used_s(self._surroundings.proc, program.pid)
        percent, busy_for_s = self._busy(_Use(program.pid, needs_use, used_s, self._clock()))
        signs = Signs(program, entry, has_controller, percent, busy_for_s)
        judged = judge(window, signs, busy_percent=self._busy_percent)
        return (program, judged) if judged is not None else None

    def _entry(self, window: ActiveWindow, program: Program) -> MenuEntry | None:
        """Return the menu's entry of a program; one by its control group only if that says game.

        A terminal's group holds all that was started in it, so the group alone does not make a program no game.
        """
        menu = self._menu.read()
        names = dict.fromkeys((*_family_names(self._surroundings.proc, program), window.name.lower()))
        entry = menu.entry(names)
        if entry is not None:
            return entry
        by_group = menu.by_id.get(_app_id(self._surroundings.proc, program.pid))
        return by_group if by_group is not None and by_group.is_game else None

    def _busy(self, use: _Use) -> tuple[float, float]:
        """Return the percentage of a core used since the last look, 0 at the first; and for how long it was busy."""
        before, self._last_use = self._last_use, use
        is_same = before is not None and (before.pid, before.is_tree) == (use.pid, use.is_tree)
        if before is None or not is_same or use.at <= before.at:
            self._busy_since = None
            return 0.0, 0.0
        percent = 100.0 * (use.used_s - before.used_s) / (use.at - before.at)
        since = self._busy_since if self._busy_since is not None else before.at
        self._busy_since = since if percent >= self._busy_percent else None
        return percent, use.at - since if self._busy_since is not None else 0.0

    def _is_alive(self, program: Program) -> bool:
        now = program_of(self._surroundings.proc, program.pid)
        return now is not None and now.comm == program.comm


class FullScreenProbe:
    """Evidence for games by the active window of an X server, from a weak sign up to certain."""

    name = sentence("Full-screen windows")

    def __init__(self, surroundings: Surroundings, *, busy_percent: float, interval_s: float) -> None:
        self._surroundings = surroundings
        self._interval_s = interval_s
        self._looks = WindowLooks(surroundings, busy_percent=busy_percent, interval_s=interval_s)

    async def watch(self, report: Report, situation: Situation) -> None:
        with closing(XScreen(self._surroundings, active_window)) as screen:
            while True:
                report(self._looks.look(await screen.look()))
                await next_look(self._interval_s * (RELAXED_FACTOR if situation.is_relaxed else 1.0))


def tree_of(root: int, proc: Path = Path("/proc")) -> dict[int, float]:
    """Return the CPU seconds of a process and of each below it, with their ended children; empty if it is gone."""
    roots, ticks = {root}, dict[int, int]()
    parents: dict[int, int] = {}
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                fields = _stat(entry)
            except OSError:  # it ended while we looked
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime: proc(5)
    return {pid: used / _TICKS_PER_S for pid, used in ticks.items() if is_below(pid, roots, parents)}


def _used_s(proc: Path, pid: int) -> float:
    """Return the CPU seconds of one process; 0 if it is gone or not known."""
    try:
        return sum(map(int, _stat(proc / str(pid))[11:13])) / _TICKS_PER_S
    except OSError:
        return 0.0


def _stat(folder: Path) -> list[bytes]:
    """Return the fields of a process after its name. Raises OSError if it is gone."""
    return (folder / "stat").read_bytes().rpartition(b")")[2].split()


def _family_names(proc: Path, program: Program) -> Iterator[str]:
    """Yield the names of a program and of the scripts that started it."""
    yield from program.own_names
    for _ in range(_MAX_SCRIPTS):
        parent = program_of(proc, program.parent)
        if parent is None or parent.comm not in _SHELLS or parent.app in _SHELLS:
            return
        yield parent.app
        program = parent


def _app_id(proc: Path, pid: int) -> str:
    try:
        return app_id_of((proc / str(pid) / "cgroup").read_text())
    except OSError:
        return ""
