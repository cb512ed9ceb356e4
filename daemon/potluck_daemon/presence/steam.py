"""Steam: every game it starts runs below `reaper SteamLaunch AppId=N`, native ones and those under Proton.

(Its registry's RunningAppID has been dead on Linux since June 2023: steam-for-linux#9672.) What Steam does for itself,
compiling shaders in particular, runs without a reaper and is no game. Flatpak's Steam nests the reaper in a sandbox,
whose processes are visible from outside.
"""

from __future__ import annotations

import re

from potluck_control.states import Reason

from potluck_daemon.presence.probe import Report, Sighting, Situation
from potluck_daemon.presence.processes import ProcessTable, Program, base_name, watch_programs

INTERVAL_S = 0.5
_APP_ID = re.compile(r"AppId=(\d+)")
_FOLDER = re.compile(r"steamapps/common/([^/]+)/")
_TOOLS = re.compile(r"Proton|SteamLinuxRuntime|Steamworks")


class SteamProbe:
    """Certain evidence for every game that Steam runs."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table

    @property
    def name(self) -> str:
        return "Steam"

    async def watch(self, report: Report, situation: Situation) -> None:
        await watch_programs(self._table, self.judge, report, situation, interval_s=INTERVAL_S)

    def judge(self, program: Program) -> Sighting | None:
        arguments = program.arguments
        if "SteamLaunch" not in arguments[1:3] or "reaper" not in (program.comm, base_name(arguments[0])):
            return None
        app_id = next(filter(None, map(_APP_ID.fullmatch, arguments)), None)
        if app_id is None:
            return None
        return Sighting(Reason.GAME, _title(arguments) or f"Steam game {app_id[1]}", app=f"steam:{app_id[1]}")


def _title(arguments: tuple[str, ...]) -> str:
    """The game's folder: the one of the last path that is not a tool's."""
    folders = (match[1] for argument in reversed(arguments) for match in _FOLDER.finditer(argument.replace("\\", "/")))
    return next((folder for folder in folders if not _TOOLS.match(folder)), "")
