"""Full-screen windows on X11 whose program keeps the computer busy: likely games that no list knows.

A full-screen window alone may be a film or a presentation, so it is a weak sign. It becomes a likely one if its process
and those below it used CPU time between two looks. (A machine that serves from its CPU contends for exactly that.)
Borderless games set no window state; they are recognised because they cover the whole screen.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from potluck_control.states import Certainty, Reason

from potluck_daemon.presence.desktop_programs import NOT_GAMES, is_desktop_program
from potluck_daemon.presence.probe import Report, Sighting, Situation, Surroundings
from potluck_daemon.presence.processes import is_below, program_of
from potluck_daemon.presence.x11 import XScreen

if TYPE_CHECKING:
    from Xlib.display import Display
    from Xlib.xobject.drawable import Window

RELAXED_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class FullScreenWindow:
    pid: int | None  # the window names it; None: it does not
    program: str


class FullScreenProbe:
    """Weak evidence for a full-screen window, likely evidence for a busy one."""

    name = "Full-screen windows"

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
        self._last_use: tuple[int, float, float] | None = None  # pid, CPU seconds, when

    async def watch(self, report: Report, situation: Situation) -> None:
        screen = XScreen(self._surroundings, _look)
        try:
            while True:
                report(self._judge(await screen.look()))
                await asyncio.sleep(self._interval_s * (RELAXED_FACTOR if situation.is_relaxed else 1.0))
        finally:
            screen.close()

    def _judge(self, window: FullScreenWindow | None) -> tuple[Sighting, ...]:
        program = program_of(self._surroundings.proc, window.pid) if window is not None and window.pid else None
        if window is None or program is None or is_desktop_program(program) or window.program.lower() in NOT_GAMES:
            self._last_use = None
            return ()
        percent = self._busy(program.pid)
        certainty = Certainty.LIKELY if percent >= self._busy_percent else Certainty.WEAK
        return (Sighting(Reason.FULL_SCREEN, window.program, certainty, program.app),)

    def _busy(self, pid: int) -> float:
        """Return the percentage of a core used since the last look; 0 at the first look."""
        now, used_s = self._clock(), cpu_seconds_of_tree(pid, self._surroundings.proc)
        before, self._last_use = self._last_use, (pid, used_s, now)
        if before is None or before[0] != pid or now <= before[2]:
            return 0.0
        return 100.0 * (used_s - before[1]) / (now - before[2])


def _look(display: Display) -> FullScreenWindow | None:
    """Return the active window if it fills the screen."""
    from Xlib.error import XError

    try:
        return _full_screen_window(display)
    except XError:  # BadWindow: the window was closed while we asked
        return None


def cpu_seconds_of_tree(root: int, proc: Path = Path("/proc")) -> float:
    """Return the CPU time of a process, those below it and their ended children; 0 if the process is gone."""
    roots, ticks = {root}, dict[int, int]()
    parents: dict[int, int] = {}
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:  # it ended while we looked
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime: proc(5)
    return sum(used for pid, used in ticks.items() if is_below(pid, roots, parents)) / os.sysconf("SC_CLK_TCK")


def _full_screen_window(display: Display) -> FullScreenWindow | None:
    from Xlib import X

    root = display.screen().root
    active = _property(display, root, "_NET_ACTIVE_WINDOW")
    if not active or active[0] == X.NONE:
        return None
    window = display.create_resource_object("window", active[0])
    states = _property(display, window, "_NET_WM_STATE")
    is_full = display.intern_atom("_NET_WM_STATE_FULLSCREEN") in states
    is_full = is_full or covers_screen(root, window, _monitors(display))
    if not is_full or _is_desktop(display, window):
        return None
    pids = _property(display, window, "_NET_WM_PID")
    names = window.get_wm_class() or ("", "")
    pid = int(pids[0]) if pids else None
    return FullScreenWindow(pid, names[1] or names[0] or f"process {pid}")


def covers_screen(root: Window, window: Window, monitors: Collection[tuple[int, int, int, int]]) -> bool:
    """Return whether the window has exactly the place of the whole screen or of one monitor."""
    geometry = window.get_geometry()
    corner = root.translate_coords(window, 0, 0)
    return (corner.x, corner.y, geometry.width, geometry.height) in monitors


def _monitors(display: Display) -> list[tuple[int, int, int, int]]:
    from Xlib.ext import xinerama

    screen = display.screen()
    found = [(0, 0, screen.width_in_pixels, screen.height_in_pixels)]
    if display.has_extension(xinerama.extname):
        found += [(item.x, item.y, item.width, item.height) for item in xinerama.query_screens(screen.root).screens]
    return found


def _is_desktop(display: Display, window: Window) -> bool:
    kinds = _property(display, window, "_NET_WM_WINDOW_TYPE")
    return any(display.intern_atom(f"_NET_WM_WINDOW_TYPE_{kind}") in kinds for kind in ("DESKTOP", "DOCK"))


def _property(display: Display, window: Window, name: str) -> Any:
    from Xlib import X

    found = window.get_full_property(display.intern_atom(name), X.AnyPropertyType)
    return found.value if found is not None else ()
