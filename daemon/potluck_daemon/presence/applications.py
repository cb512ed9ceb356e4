"""Games by the control group that the desktop started them in.

GNOME and KDE Plasma on Wayland tell nobody which window is full-screen, but both start each application in a group with
the name of its entry in the menu, and the kernel counts the group's CPU time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from potluck_control.states import Certainty, Reason

from potluck.sentences import sentence
from potluck_daemon.presence.app_scopes import app_id_of
from potluck_daemon.presence.desktop_programs import not_games
from potluck_daemon.presence.menu import MenuReader
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Situation, Surroundings, next_look
from potluck_daemon.presence.windows import HOLD_S

INTERVAL_S = 2.0
_PATTERNS = ("app-*", "app-*/app-*")  # a desktop's session manager may have a slice of its own


@dataclass(frozen=True, slots=True)
class GroupUse:
    """A game's group: its CPU seconds, and when it was busy last, twice in a row."""

    used_s: float
    at: float
    was_busy: bool = False
    busy_at: float | None = None


class ApplicationProbe:
    """Likely evidence for a busy game of the desktop's menu, for a while after too; weak evidence for an idle one."""

    name = sentence("Applications of the desktop")

    def __init__(
        self,
        surroundings: Surroundings,
        *,
        busy_percent: float,
        interval_s: float = INTERVAL_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        uid = os.getuid()
        self._slice = surroundings.sys / f"fs/cgroup/user.slice/user-{uid}.slice/user@{uid}.service/app.slice"
        self._menu = MenuReader(surroundings.environment)
        self._busy_percent = busy_percent
        self._interval_s = interval_s
        self._clock = clock
        self._groups: dict[Path, GroupUse] = {}

    async def watch(self, report: Report, situation: Situation) -> None:
        if not self._slice.is_dir():
            raise ProbeUnavailableError(sentence("the desktop makes no control groups for applications"))
        while True:
            report(self.look())
            await next_look(self._interval_s)

    def look(self) -> tuple[Sighting, ...]:
        menu, now = self._menu.read(), self._clock()
        groups: dict[Path, GroupUse] = {}
        found = []
        for folder in {path for pattern in _PATTERNS for path in self._slice.glob(pattern)}:
            app_id = app_id_of(folder.name)
            entry = menu.by_id.get(app_id)
            if entry is None or not entry.is_game or app_id in not_games() or entry.title.lower() in not_games():
                continue
            used_s = _used_s(folder)
            if used_s is None:
                continue
            use = use_after(self._groups.get(folder), used_s, now, busy_percent=self._busy_percent)
            groups[folder] = use
            is_likely = use.busy_at is not None and now - use.busy_at < HOLD_S
            certainty = Certainty.LIKELY if is_likely else Certainty.WEAK
            found.append(Sighting(Reason.GAME, entry.title, certainty, app_id.rpartition(".")[2]))
        self._groups = groups
        return tuple(dict.fromkeys(found))


def use_after(before: GroupUse | None, used_s: float, now: float, *, busy_percent: float) -> GroupUse:
    """Return a group's use after a look; it counts as busy when two looks in a row find it so."""
    if before is None or now <= before.at:
        return GroupUse(used_s, now)
    is_busy = 100.0 * (used_s - before.used_s) / (now - before.at) >= busy_percent
    return GroupUse(used_s, now, is_busy, now if is_busy and before.was_busy else before.busy_at)


def _used_s(folder: Path) -> float | None:
    try:
        lines = (folder / "cpu.stat").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("usage_usec"))) / 1e6
    except (OSError, StopIteration, ValueError):  # the application ended
        return None
