"""Valve's gamescope: a compositor around one game.

On a Steam Deck and other consoles the whole session runs in it, game or not; there Steam's reaper tells.
"""

from __future__ import annotations

from potluck_control.states import Reason

from potluck_daemon.presence.probe import Report, Sighting, Situation
from potluck_daemon.presence.processes import ProcessTable, Program, base_name, watch_programs

INTERVAL_S = 0.5
_SESSION_OPTIONS = frozenset(("-e", "--steam", "--xwayland-count"))


class GamescopeProbe:
    """Certain evidence for a program that runs in a gamescope of its own."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table

    @property
    def name(self) -> str:
        return "gamescope"

    async def watch(self, report: Report, situation: Situation) -> None:
        await watch_programs(self._table, self.judge, report, situation, interval_s=INTERVAL_S)

    def judge(self, program: Program) -> Sighting | None:
        if not program.comm.startswith("gamescope") or "--" not in program.arguments:
            return None
        if any(item.comm.startswith("gamescope") for item in self._table.ancestors(program)):
            return None  # its own helpers: gamescope-wl, gamescopereaper
        end = program.arguments.index("--")
        inner = program.arguments[end + 1 : end + 2]
        if not inner or not _SESSION_OPTIONS.isdisjoint(program.arguments[:end]):
            return None
        return Sighting(Reason.GAME, base_name(inner[0]), app=base_name(inner[0]))
