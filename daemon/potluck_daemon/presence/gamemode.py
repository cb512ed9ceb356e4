"""Feral GameMode on the session bus: the surest sign of a game, signalled the moment it starts.

Interface: https://github.com/FeralInteractive/gamemode (daemon/gamemode-dbus.c).
"""

from __future__ import annotations

from jeepney import DBusAddress
from potluck_control.states import Reason

from potluck.sentences import verbatim
from potluck_daemon.presence.bus import Bus, bus, owner_rule, signal_rule
from potluck_daemon.presence.probe import Report, Sighting, Situation, Surroundings
from potluck_daemon.presence.processes import program_of

_NAME = "com.feralinteractive.GameMode"
_GAMEMODE = DBusAddress("/com/feralinteractive/GameMode", _NAME, _NAME)


class GameModeProbe:
    """Certain evidence for every game registered with gamemoded."""

    name = verbatim("GameMode")

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self._surroundings.session_bus, "session") as session:
            async for _ in session.changes(signal_rule(_GAMEMODE), owner_rule(_NAME)):
                report(await self._games(session))

    async def _games(self, session: Bus) -> tuple[Sighting, ...]:
        if not await session.has_owner(_NAME):
            return ()
        answer = await session.ask(_GAMEMODE, "ListGames")
        games = answer[0] if answer and isinstance(answer[0], list) else []
        return tuple(self._sighting(pid) for pid, _ in games)

    def _sighting(self, pid: int) -> Sighting:
        program = program_of(self._surroundings.proc, pid)
        app = program.app if program is not None else ""
        return Sighting(Reason.GAME, app or f"process {pid}", app=app)
