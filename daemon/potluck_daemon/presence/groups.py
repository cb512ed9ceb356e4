"""Games by the control group that the desktop started them in.

GNOME and KDE Plasma on Wayland tell nobody which window is in front, but both start each application in a group with
the name of its entry in the menu, and the kernel counts the group's CPU time. The busiest game counts as in front.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from potluck.sentences import sentence
from potluck_daemon.presence.applications import app_id_of, not_games, read_menu
from potluck_daemon.presence.probe import Look, ProbeUnavailableError, Surroundings
from potluck_daemon.presence.windows import ActiveWindow


@contextlib.asynccontextmanager
async def game_groups(at: Surroundings) -> AsyncIterator[Look[ActiveWindow | None]]:
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
