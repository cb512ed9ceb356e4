"""Full-screen windows on X11 whose program keeps the device busy: a likely game that no list knows.

A full-screen window alone is a film or a presentation, so the program must also compute: CPU time of its process and
the processes below it, between two looks. (On a machine that serves from its CPU that *is* the contended device.)
Borderless games set no state and are known by covering the whole screen.

Xlib calls block, and a call to a hung X server blocks for ever, so they run in a thread of their own.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Vigilance
from potluck_daemon.presence.processes import program_names
from potluck_daemon.states import Reason

if TYPE_CHECKING:
    from Xlib.display import Display
    from Xlib.xobject.drawable import Window

LOOK_TIMEOUT_S = 5.0
RELAXED_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class FullScreenWindow:
    pid: int | None  # as the window says; None: it does not
    program: str


class FullScreenProbe:
    """Likely evidence for a busy full-screen window; the program's name is matched against `never`."""

    def __init__(
        self,
        *,
        never: Iterable[str],
        busy_percent: float,
        interval_s: float,
        proc: Path = Path("/proc"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._never = {name.lower() for name in never}
        self._busy_percent = busy_percent
        self._interval_s = interval_s
        self._proc = proc
        self._clock = clock
        self._last_use: tuple[int, float, float] | None = None  # pid, CPU seconds, when

    @property
    def name(self) -> str:
        return "Full-screen windows"

    async def watch(self, report: Report, vigilance: Vigilance) -> None:
        if not os.environ.get("DISPLAY"):
            raise ProbeUnavailableError("no X11 display")
        screen = _Screen()
        try:
            while True:
                report(self._judge(await screen.look()))
                await asyncio.sleep(self._interval_s * (RELAXED_FACTOR if vigilance.is_relaxed else 1.0))
        finally:
            screen.close()

    def _judge(self, window: FullScreenWindow | None) -> tuple[Sighting, ...]:
        if window is None or window.pid is None or self._is_excluded(window):
            self._last_use = None
            return ()
        now, used_s = self._clock(), cpu_seconds_of_tree(window.pid, self._proc)
        before, self._last_use = self._last_use, (window.pid, used_s, now)
        if before is None or before[0] != window.pid or now <= before[2]:
            return ()
        percent = 100.0 * (used_s - before[1]) / (now - before[2])
        if percent < self._busy_percent:
            return ()
        return (Sighting(Reason.FULL_SCREEN, window.program, is_certain=False),)

    def _is_excluded(self, window: FullScreenWindow) -> bool:
        names = {window.program.lower(), *program_names(self._proc / str(window.pid))}
        return bool(names & self._never)


def cpu_seconds_of_tree(root: int, proc: Path = Path("/proc")) -> float:
    """CPU time of a process, of those below it, and of their ended children; 0 for a process that is gone."""
    ticks: dict[int, int] = {}
    parents: dict[int, int] = {}
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:  # it ended while we looked
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime: proc(5)
    return sum(used for pid, used in ticks.items() if _is_below(pid, root, parents)) / os.sysconf("SC_CLK_TCK")


def _is_below(pid: int, root: int, parents: dict[int, int]) -> bool:
    for _ in range(len(parents)):
        if pid == root:
            return True
        if pid not in parents:
            return False
        pid = parents[pid]
    return False


class _Screen:
    """The X connection and the thread that speaks over it."""

    def __init__(self) -> None:
        self._display: Display | None = None
        self._wanted = threading.Semaphore(0)
        self._answer: Future[FullScreenWindow | None] | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name="x11", daemon=True)  # it may hang for ever
        self._thread.start()

    async def look(self) -> FullScreenWindow | None:
        """The active window, if it fills the screen. Raises ProbeUnavailableError."""
        self._answer = Future()
        self._wanted.release()
        try:
            async with asyncio.timeout(LOOK_TIMEOUT_S):
                return await asyncio.wrap_future(self._answer)
        except TimeoutError:
            raise ProbeUnavailableError("the X server does not answer") from None

    def close(self) -> None:
        self._is_closed = True
        self._wanted.release()

    def _work(self) -> None:
        while True:
            self._wanted.acquire()
            if self._is_closed:
                break
            answer = self._answer
            assert answer is not None
            try:
                window = self._look()
            except Exception as error:  # the edge of this thread; Xlib raises many kinds
                _settle(answer, error=ProbeUnavailableError(f"no X11 display ({_sentence(error)})"))
                self._disconnect()
            else:
                _settle(answer, window)
        self._disconnect()

    def _look(self) -> FullScreenWindow | None:
        from Xlib.error import XError

        if self._display is None:
            self._display = _connect()
        try:
            return _full_screen_window(self._display)
        except XError:  # BadWindow: the window was closed while we asked
            return None

    def _disconnect(self) -> None:
        display, self._display = self._display, None
        if display is not None:
            try:
                display.close()
            except Exception:  # the connection was broken already, and Xlib says so in many ways
                return


def _settle(
    answer: Future[FullScreenWindow | None], window: FullScreenWindow | None = None, error: Exception | None = None
) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(window)


def _connect() -> Display:
    from Xlib.display import Display

    display = Display()
    display.set_error_handler(lambda *_: None)  # errors of requests without an answer: nothing to do about them
    return display


def _full_screen_window(display: Display) -> FullScreenWindow | None:
    from Xlib import X

    root = display.screen().root
    active = _property(display, root, "_NET_ACTIVE_WINDOW")
    if not active or active[0] == X.NONE:
        return None
    window = display.create_resource_object("window", active[0])
    states = _property(display, window, "_NET_WM_STATE")
    is_full = display.intern_atom("_NET_WM_STATE_FULLSCREEN") in states or _covers_screen(display, window)
    if not is_full or _is_desktop(display, window):
        return None
    pids = _property(display, window, "_NET_WM_PID")
    names = window.get_wm_class() or ("", "")
    pid = int(pids[0]) if pids else None
    return FullScreenWindow(pid, names[1] or names[0] or f"process {pid}")


def _covers_screen(display: Display, window: Window) -> bool:
    screen, geometry = display.screen(), window.get_geometry()
    corner = window.translate_coords(screen.root, 0, 0)
    size = (geometry.width, geometry.height)
    return size == (screen.width_in_pixels, screen.height_in_pixels) and (corner.x, corner.y) == (0, 0)


def _is_desktop(display: Display, window: Window) -> bool:
    kinds = _property(display, window, "_NET_WM_WINDOW_TYPE")
    return any(display.intern_atom(f"_NET_WM_WINDOW_TYPE_{kind}") in kinds for kind in ("DESKTOP", "DOCK"))


def _property(display: Display, window: Window, name: str) -> Any:
    from Xlib import X

    found = window.get_full_property(display.intern_atom(name), X.AnyPropertyType)
    return found.value if found is not None else ()


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
