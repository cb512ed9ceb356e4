"""Judges the active window: is it a game that nothing announced?

    not a game       the list of other programs, or the menu gives it categories without Game
    certain          full-screen, and the menu says that it is a game
    likely           full-screen, and it asks for no compositor, has a game controller open, or is busy;
                     in a window, the menu says that it is a game, and it does something
    weak             everything else that is full-screen, or that the menu calls a game
    unsure           in a window, and nothing shows that it is a game, but it is busy without a break: the user is asked

A film fills the screen, too, and a paused game is idle, so each fact alone says little. A game that was confirmed stays
one while its process lives, also minimised; a window that only was busy counts for ten minutes after it was last seen.
`judge` and `plays_after_look` are pure; `WindowObserver` gathers their signs.

The kernel's `joydev` makes a `jsN` for everything with sticks and game buttons. The same device has an `eventN`, and
the common controllers a `hidrawN`; games read those today.

GNOME and KDE Plasma on Wayland show nobody which window is in front, but both start each application in a control group
with the name of its entry in the menu, and the kernel counts the group's CPU time. The busiest game counts as in front.

Sources: https://specifications.freedesktop.org/wm-spec/latest (_NET_WM_BYPASS_COMPOSITOR);
https://docs.kernel.org/input/joydev/joystick.html
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from potluck_control.states import Certainty, Reason

from potluck.sentences import Sentence, sentence
from potluck_daemon.presence.applications import (
    MenuEntry,
    app_id_of,
    app_of_process,
    is_desktop_program,
    not_games,
    read_menu,
)
from potluck_daemon.presence.probe import (
    WEAK_SHARE,
    ProbeUnavailableError,
    Reading,
    Report,
    Sighting,
    Situation,
    Source,
    Surroundings,
    next_poll,
)
from potluck_daemon.presence.processes import ProcessTable, Program, read_program

HOLD_S = 600.0  # a game that nothing but its looks gave away counts for so long after it was left
ASK_AFTER_S = 20.0  # time of being busy; most programs that load or compute something are done by then
_CONFIRM_SHARE = 0.8  # share of the interval that is enough: a timer may fire a little early
_QUIET_LOOKS = 2.5  # intervals for which a game that is not confirmed yet may be idle
_RUNTIMES = ("perl", "python", "java", "ruby", "mono", "love", "electron", "sdl", "process ")  # no names of games
_NOTHING = (-1, False)
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ActiveWindow:
    """The window that has the focus, as the X server or the compositor describes it."""

    pid: int | None
    name: str  # its class or application id
    is_full_screen: bool
    wants_no_compositor: bool = False


@dataclass(frozen=True, slots=True)
class Signs:
    """What else is known about the program of a window."""

    program: Program
    entry: MenuEntry | None = None  # its entry in the desktop's menu
    has_controller: bool = False  # looked for when it is full-screen
    cpu_percent: float = 0.0  # use of one core since the last look; 0 at the first look
    busy_for_s: float = 0.0  # time of being busy without a break, in front


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a window is taken for."""

    sighting: Sighting
    is_known: bool = False  # full-screen, and more than its CPU time shows that it is a game


@dataclass(frozen=True, slots=True)
class Play:
    """A game, from the first look that took its window for one."""

    judgement: Judgement
    program: Program
    first: float
    last: float
    is_confirmed: bool = False


def is_no_game(signs: Signs) -> bool:
    """Return whether the program is certainly no game."""
    return is_desktop_program(signs.program) or (signs.entry is not None and signs.entry.is_other)


def judge(window: ActiveWindow, signs: Signs, *, busy_percent: float) -> Judgement | None:
    """Return what the active window is taken for; None: no game."""
    if is_no_game(signs):
        return None
    is_menu_game = signs.entry is not None and signs.entry.is_game
    if window.is_full_screen:
        has_trait = is_menu_game or signs.has_controller or window.wants_no_compositor
        is_busy = signs.cpu_percent >= busy_percent
        certainty = Certainty.LIKELY if has_trait or is_busy else Certainty.WEAK
        certainty = Certainty.CERTAIN if is_menu_game else certainty
        reason = Reason.GAME if has_trait else Reason.FULL_SCREEN
        return Judgement(_sighting(reason, certainty, window, signs), is_known=has_trait)
    if not is_menu_game:
        unsure = replace(_sighting(Reason.FULL_SCREEN, Certainty.WEAK, window, signs), is_unsure=True)
        return Judgement(unsure) if signs.busy_for_s >= ASK_AFTER_S else None
    is_active = signs.cpu_percent >= busy_percent * WEAK_SHARE
    certainty = Certainty.LIKELY if is_active else Certainty.WEAK
    return Judgement(_sighting(Reason.GAME, certainty, window, signs))


def plays_after_look(
    plays: Mapping[int, Play],
    seen: tuple[Program, Judgement] | None,
    now: float,
    *,
    interval_s: float,
    is_alive: Callable[[Program], bool],
) -> dict[int, Play]:
    """Return the games that go on after a look: those that still run, and the one that was just seen. Pure."""
    kept = {
        pid: play
        for pid, play in plays.items()
        if is_alive(play.program) and (play.judgement.is_known or now - play.last < HOLD_S)
    }
    recent = now - interval_s * _QUIET_LOOKS
    kept = {pid: play for pid, play in kept.items() if play.is_confirmed or play.last >= recent}
    if seen is None or seen[1].sighting.certainty is Certainty.WEAK:
        return kept
    program, judgement = seen
    before = kept.get(program.pid)
    if before is None or before.program.comm != program.comm:
        before = Play(judgement, program, now, now)
    is_certain = judgement.sighting.certainty is Certainty.CERTAIN
    is_confirmed = before.is_confirmed or is_certain or now - before.first >= interval_s * _CONFIRM_SHARE
    is_known = judgement.is_known or before.judgement.is_known
    if before.is_confirmed and not is_certain:  # one thing keeps one name, in a window or full-screen
        judgement = before.judgement
    play = Play(replace(judgement, is_known=is_known), program, before.first, now, is_confirmed)
    return kept | {program.pid: play}


def sightings_of(plays: Mapping[int, Play], seen: tuple[Program, Judgement] | None) -> tuple[Sighting, ...]:
    """Return what to report: games that go on, and what was just seen, however weak."""
    found = {pid: play.judgement.sighting for pid, play in plays.items() if play.is_confirmed}
    if seen is not None:
        found.setdefault(seen[0].pid, seen[1].sighting)
    return tuple(dict.fromkeys(found.values()))


class WindowObserver:
    """Judges the active window at each look, and remembers games that go on after their window was left."""

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
        self._last_use = (_NOTHING, 0.0, 0.0)  # (process id, whether its tree counts), CPU seconds, time
        self._busy_since = math.inf
        self._plays: dict[int, Play] = {}

    def observe(self, window: ActiveWindow | None) -> tuple[Sighting, ...]:
        """Return the sightings when this window is the active one."""
        seen = self._judge(window) if window is not None else None
        if window is None:
            self._last_use = (_NOTHING, 0.0, 0.0)
        self._plays = plays_after_look(
            self._plays, seen, self._clock(), interval_s=self.interval_s, is_alive=self._is_alive
        )
        return sightings_of(self._plays, seen)

    def _judge(self, window: ActiveWindow) -> tuple[Program, Judgement] | None:
        named = Program(0, 0, window.name, (window.name,))  # all that is known of a window without a process id
        program = read_program(self._proc, window.pid) if window.pid else named
        if program is None:
            return None
        entry = self._entry(program)
        if is_no_game(Signs(program, entry)):
            return None
        needs_use = program.pid > 0 and (window.is_full_screen or (entry is not None and entry.is_game))
        self._table.refresh()
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
        """Return the percentage of a core used since the last look (0 at the first), and how long it has been busy."""
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
    """The probe for games by the active window, with evidence from a weak sign up to certain."""

    name: Sentence
    source: Source[ActiveWindow | None]
    observer: WindowObserver

    async def watch(self, report: Report, situation: Situation) -> None:
        async with self.source() as active_window:
            while True:
                report(self.observer.observe(await active_window()))
                await next_poll(self.observer.interval_s)


def used_seconds(proc: Path, pid: int) -> float:
    """Return the CPU seconds of a process with its ended children; 0 if it is gone."""
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


@contextlib.asynccontextmanager
async def game_groups(at: Surroundings) -> AsyncIterator[Reading[ActiveWindow | None]]:
    """Yield a function that returns the busiest game of the menu, as a window."""
    uid = os.getuid()
    folder = at.sys / f"fs/cgroup/user.slice/user-{uid}.slice/user@{uid}.service/app.slice"
    if not folder.is_dir():
        raise ProbeUnavailableError(sentence("the desktop makes no control groups for applications"))
    used_us: dict[Path, int] = {}

    async def busiest_game() -> ActiveWindow | None:
        menu, before = read_menu(at.environment), used_us.copy()
        used_us.clear()
        for group in folder.glob("app-*"):
            entry = menu.by_id.get(app_id_of(group.name))
            if entry is not None and entry.is_game and entry.title.lower() not in not_games():
                with contextlib.suppress(OSError, ValueError, IndexError):  # it ended
                    used_us[group] = int((group / "cpu.stat").read_text().split()[1])  # usage_usec comes first
        busiest = max(used_us, key=lambda group: used_us[group] - before.get(group, used_us[group]), default=None)
        pids: list[str] = []
        with contextlib.suppress(OSError):  # it ended
            pids = (busiest / "cgroup.procs").read_text().split() if busiest is not None else []
        if busiest is None or not pids:
            return None
        return ActiveWindow(int(pids[0]), app_id_of(busiest.name), is_full_screen=False)

    yield busiest_game


def _sighting(reason: Reason, certainty: Certainty, window: ActiveWindow, signs: Signs) -> Sighting:
    return Sighting(reason, _title(window, signs), certainty, signs.program.app)


def _title(window: ActiveWindow, signs: Signs) -> str:
    """Return the name that people know."""
    if signs.entry is not None and signs.entry.is_game:
        return signs.entry.title
    is_runtime = window.name.lower().startswith(_RUNTIMES)
    return signs.program.app if is_runtime or not window.name else window.name
