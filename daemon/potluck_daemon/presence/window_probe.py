"""Looks at the active window and gathers what `windows.judge` needs to know about its program.

A full-screen window alone may be a film or a presentation. Its program's place in the desktop's menu, a hint to the
compositor, an open game controller and the CPU time of its processes make the difference.

The kernel's `joydev` makes a `jsN` for everything with sticks and game buttons. The same device has an `eventN`, and
the common controllers a `hidrawN`; games read those today.
Source: https://docs.kernel.org/input/joydev/joystick.html
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from potluck.sentences import Sentence
from potluck_daemon.presence.applications import MenuEntry, app_of_process, read_menu
from potluck_daemon.presence.probe import Report, Sighting, Situation, Source, Surroundings, next_look
from potluck_daemon.presence.processes import ProcessTable, Program, read_program
from potluck_daemon.presence.windows import (
    ActiveWindow,
    Judgement,
    Play,
    Signs,
    is_other,
    judge,
    remember,
    sightings,
)

_NOTHING = (-1, False)
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class WindowLooks:
    """Judges the active window at each look, and remembers the games that go on after they were left."""

    def __init__(
        self,
        surroundings: Surroundings,
        table: ProcessTable,
        *,
        busy_percent: float,
        interval_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._proc, self._sys = surroundings.proc, surroundings.sys
        self._table = table
        self._busy_percent = busy_percent
        self.interval_s = interval_s
        self._clock = clock
        self._environment = surroundings.environment
        self._last_use = (_NOTHING, 0.0, 0.0)  # of a process, or of its whole tree; its CPU seconds; the time
        self._busy_since = math.inf
        self._plays: dict[int, Play] = {}

    def look(self, window: ActiveWindow | None) -> tuple[Sighting, ...]:
        """Return what there is to report when this window is the active one."""
        seen = self._judge(window) if window is not None else None
        if window is None:
            self._last_use = (_NOTHING, 0.0, 0.0)
        self._plays = remember(self._plays, seen, self._clock(), interval_s=self.interval_s, is_alive=self._is_alive)
        return sightings(self._plays, seen)

    def _judge(self, window: ActiveWindow) -> tuple[Program, Judgement] | None:
        named = Program(0, 0, window.name, (window.name,))  # all that is known of a window without a process id
        program = read_program(self._proc, window.pid) if window.pid else named
        if program is None:
            return None
        entry = self._entry(program)
        if is_other(Signs(program, entry)):
            return None
        needs_use = program.pid > 0 and (window.is_full_screen or (entry is not None and entry.is_game))
        self._table.look()
        tree = self._table.tree(program.pid) if needs_use else {program.pid}
        has_controller = needs_use and has_open(self._proc, tree, controllers(self._sys))
        used_s = sum(used_seconds(self._proc, pid) for pid in tree)
        percent, busy_for_s = self._busy((program.pid, needs_use), used_s)
        signs = Signs(program, entry, has_controller, percent, busy_for_s)
        judged = judge(window, signs, busy_percent=self._busy_percent)
        return (program, judged) if judged is not None else None

    def _entry(self, program: Program) -> MenuEntry | None:
        """Return the menu's entry of a program; one by its control group only if that says game.

        A terminal's group holds all that was started in it, so the group alone does not make a program no game.
        """
        menu = read_menu(self._environment)
        entry = menu.entry(program.own_names)
        if entry is not None:
            return entry
        by_group = menu.by_id.get(app_of_process(self._proc, program.pid))
        return by_group if by_group is not None and by_group.is_game else None

    def _busy(self, what: tuple[int, bool], used_s: float) -> tuple[float, float]:
        """Return the percentage of a core used since the last look, 0 at the first; and for how long it was busy."""
        now = self._clock()
        (what_before, used_before_s, then), self._last_use = self._last_use, (what, used_s, now)
        if what_before != what or now <= then:
            self._busy_since = math.inf
            return 0.0, 0.0
        percent = 100.0 * (used_s - used_before_s) / (now - then)
        self._busy_since = min(self._busy_since, then) if percent >= self._busy_percent else math.inf
        return percent, max(now - self._busy_since, 0.0)

    def _is_alive(self, program: Program) -> bool:
        now = read_program(self._proc, program.pid)
        return now is not None and now.comm == program.comm


@dataclass(frozen=True, slots=True)
class WindowsProbe:
    """Evidence for games by the active window, from a weak sign up to certain."""

    name: Sentence
    source: Source[ActiveWindow | None]
    looks: WindowLooks

    async def watch(self, report: Report, situation: Situation) -> None:
        async with self.source() as active_window:
            while True:
                report(self.looks.look(await active_window()))
                await next_look(self.looks.interval_s)


def used_seconds(proc: Path, pid: int) -> float:
    """Return the CPU seconds of a process with its ended children; 0 if it is gone or not known."""
    try:
        fields = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS_PER_S  # utime, stime, cutime, cstime: proc(5)


def controllers(sys: Path) -> frozenset[str]:
    """Return the device files of all game controllers; empty without one."""
    found = set()
    for stick in (sys / "class/input").glob("js*"):
        device = stick / "device"
        found |= {f"/dev/input/{item.name}" for item in (*device.glob("js*"), *device.glob("event*"))}
        found |= {f"/dev/{item.name}" for item in device.glob("device/hidraw/hidraw*")}
    return frozenset(found)


def has_open(proc: Path, pids: Iterable[int], devices: frozenset[str]) -> bool:
    """Return whether one of these processes has one of `devices` open, as far as we may see."""
    for pid in pids if devices else ():
        with suppress(OSError):  # another user's, or gone
            if any(os.readlink(f"{proc}/{pid}/fd/{handle}") in devices for handle in os.listdir(f"{proc}/{pid}/fd")):
                return True
    return False
