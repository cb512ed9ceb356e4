"""Windows of a Wayland compositor that tells programs about them, by `wlr-foreign-toplevel-management`.

Sway, Hyprland, labwc, Wayfire, niri and river do. GNOME and KDE Plasma do not; there, `applications` looks at control
groups.

The compositor names a window's application, not its process, which is looked for among the running programs.
Source: https://wayland.app/protocols/wlr-foreign-toplevel-management-unstable-v1
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from potluck.sentences import sentence
from potluck_daemon.presence.app_scopes import app_id_of
from potluck_daemon.presence.full_screen import RELAXED_FACTOR, WindowLooks
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Situation, Surroundings
from potluck_daemon.presence.processes import program_of
from potluck_daemon.presence.wayland import (
    CALL_TIMEOUT_S,
    FIRST_FREE,
    bind,
    compositor,
    read_globals,
    receive,
    send,
    text_at,
)
from potluck_daemon.presence.windows import ActiveWindow

_MANAGER, _INTERFACE = FIRST_FREE, "zwlr_foreign_toplevel_manager_v1"
_APP_ID, _STATE, _CLOSED, _DESTROY = 1, 4, 6, 7
_ACTIVATED, _FULL_SCREEN = 2, 3
MAX_WINDOWS = 1000


@dataclass(slots=True)
class Toplevel:
    app_id: str = ""
    states: frozenset[int] = frozenset()


@dataclass(slots=True)
class Toplevels:
    """All windows by their object id, as the compositor tells them."""

    windows: dict[int, Toplevel] = field(default_factory=dict)

    def apply(self, sender: int, opcode: int, body: bytes) -> int | None:
        """Take in one event and return the id of a window that was closed, else None.

        Raises:
            struct.error, ValueError: this is not what the protocol says.
        """
        if sender == _MANAGER:
            if opcode != 0:
                raise ValueError("the compositor tells no more windows")
            if len(self.windows) < MAX_WINDOWS:
                self.windows[struct.unpack("=I", body)[0]] = Toplevel()
        window = self.windows.get(sender)
        if window is None:
            return None
        if opcode == _APP_ID:
            window.app_id = text_at(body, 0)
        elif opcode == _STATE:
            (size,) = struct.unpack_from("=I", body)
            window.states = frozenset(struct.unpack_from(f"={size // 4}I", body, 4))
        elif opcode == _CLOSED:
            del self.windows[sender]
            return sender
        return None

    @property
    def active(self) -> Toplevel | None:
        return next((window for window in self.windows.values() if _ACTIVATED in window.states), None)


class WaylandWindowsProbe:
    """Evidence for games by the active window of a Wayland compositor, from a weak sign up to certain."""

    name = sentence("Full-screen windows (Wayland)")

    def __init__(self, surroundings: Surroundings, *, busy_percent: float, interval_s: float) -> None:
        self._surroundings = surroundings
        self._interval_s = interval_s
        self._looks = WindowLooks(surroundings, busy_percent=busy_percent, interval_s=interval_s)
        self._pids: dict[str, int] = {}

    async def watch(self, report: Report, situation: Situation) -> None:
        async with compositor(self._surroundings.environment) as (reader, writer):
            async with asyncio.timeout(CALL_TIMEOUT_S):
                numbers = await read_globals(reader, writer)
            if _INTERFACE not in numbers:
                raise ProbeUnavailableError(sentence("this desktop tells no program about its windows"))
            bind(writer, numbers[_INTERFACE], _INTERFACE, _MANAGER)
            await self._follow(reader, writer, report, situation)

    async def _follow(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, report: Report, situation: Situation
    ) -> None:
        """Take in what the compositor tells, and look at the active window at each interval."""
        windows = Toplevels()
        event = asyncio.create_task(receive(reader))
        look_at = time.monotonic()
        try:
            while True:
                await asyncio.wait((event,), timeout=max(0.0, look_at - time.monotonic()))
                if event.done():
                    closed = windows.apply(*event.result())
                    event = asyncio.create_task(receive(reader))
                    if closed is not None:
                        send(writer, closed, _DESTROY, b"")
                if time.monotonic() >= look_at:
                    report(self._looks.look(self._window(windows.active)))
                    look_at = time.monotonic() + self._interval_s * (RELAXED_FACTOR if situation.is_relaxed else 1.0)
        finally:
            event.cancel()
            await asyncio.gather(event, return_exceptions=True)

    def _window(self, active: Toplevel | None) -> ActiveWindow | None:
        if active is None or not active.app_id:
            return None
        pid = self._pids.get(active.app_id)
        if pid is None or program_of(self._surroundings.proc, pid) is None:
            pid = process_of(self._surroundings.proc, active.app_id)
            self._pids = {} if pid is None else {active.app_id: pid}
        return ActiveWindow(pid, active.app_id, _FULL_SCREEN in active.states)


def process_of(proc: Path, app_id: str) -> int | None:
    """Return the first process of an application: by its control group, else by its name; None: not found."""
    wanted = app_id.lower()
    names = {wanted, wanted.rpartition(".")[2]}
    by_name = None
    for pid in _pids(proc):
        try:
            if app_id_of((proc / str(pid) / "cgroup").read_text()) == wanted:
                return pid
        except OSError:  # it ended while we looked
            continue
        program = program_of(proc, pid) if by_name is None else None
        if program is not None and not names.isdisjoint(program.own_names):
            by_name = pid
    return by_name


def _pids(proc: Path) -> Iterator[int]:
    return iter(sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()))
