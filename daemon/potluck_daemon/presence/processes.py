"""The user's own list: yields while one of the named programs runs.

Looks often and cheaply: the kernel's last process id in /proc/loadavg changes when anything starts, so a look that
finds it unchanged costs one small read. A fresh process is looked at again for a while, because its name changes when
it executes the program. Windows programs under Wine or Proton are known by the .exe in their arguments.
Linux only; the /proc folder is a parameter so that tests can make one.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Vigilance
from potluck_daemon.states import Reason

URGENT_INTERVAL_S = 0.1  # a look at a quiet machine costs 20 us
RELAXED_INTERVAL_S = 1.0
YOUNG_S = 1.5  # a process this young may still execute another program


class ProcessListProbe:
    """Certain evidence for every running program of `names`."""

    def __init__(
        self, names: Iterable[str], *, proc: Path = Path("/proc"), clock: Callable[[], float] = time.monotonic
    ):
        self._names = {name.lower(): name for name in names}
        self._proc = proc
        self._clock = clock
        self._known: dict[int, tuple[float, str | None]] = {}  # pid -> first seen, listed name it goes by
        self._last_pid = b""

    @property
    def name(self) -> str:
        return "Listed programs"

    async def watch(self, report: Report, vigilance: Vigilance) -> None:
        if not (self._proc / "loadavg").exists():
            raise ProbeUnavailableError(f"there is no {self._proc} to look at")
        while True:
            report(self.look())
            await asyncio.sleep(RELAXED_INTERVAL_S if vigilance.is_relaxed else URGENT_INTERVAL_S)

    def look(self) -> tuple[Sighting, ...]:
        """The listed programs that run now."""
        now = self._clock()
        if self._something_changed(now):
            self._scan(now)
        found = sorted({name for _, name in self._known.values() if name is not None})
        return tuple(Sighting(Reason.EXCLUSIVE_APP, name, is_certain=True) for name in found)

    def _something_changed(self, now: float) -> bool:
        last_pid = (self._proc / "loadavg").read_bytes().rsplit(b" ", 1)[-1]
        if last_pid != self._last_pid:
            self._last_pid = last_pid
            return True
        return any(now - first < YOUNG_S or name is not None for first, name in self._known.values())

    def _scan(self, now: float) -> None:
        known: dict[int, tuple[float, str | None]] = {}
        for entry in self._proc.iterdir():
            if not entry.name.isdigit():
                continue
            pid = int(entry.name)
            first, name = self._known.get(pid, (now, None))
            if now - first < YOUNG_S or name is not None:
                name = self._listed_name(entry)
            known[pid] = (first, name)
        self._known = known

    def _listed_name(self, process: Path) -> str | None:
        for name in program_names(process):
            if name in self._names:
                return self._names[name]
        return None


def program_names(process: Path) -> list[str]:
    """Names a process goes by, in lower case: its executable, its first argument, a .exe among its arguments."""
    try:
        arguments = (process / "cmdline").read_bytes()[:4096].decode(errors="replace").split("\0")
        comm = (process / "comm").read_text(errors="replace").strip()
        state, parent = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
    except (OSError, ValueError):  # it ended while we looked
        return []
    if state in "ZX" or os.getpid() in (int(process.name), int(parent)):  # dead, or ourselves
        return []
    candidates = [comm, *arguments[:2], *(item for item in arguments if item.lower().endswith(".exe"))]
    return [item.replace("\\", "/").rsplit("/", 1)[-1].lower() for item in candidates if item]
