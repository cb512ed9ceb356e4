"""logind's idle hint. When it says "idle" it can be believed; KDE and others never set it, so "not idle" is weak."""

from __future__ import annotations

from potluck_control.states import Certainty

from potluck_daemon.presence.bus import bus
from potluck_daemon.presence.idle import use
from potluck_daemon.presence.logind import SESSION_RULES, own_screens
from potluck_daemon.presence.probe import Report, Situation, Surroundings


class LogindIdleProbe:
    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    @property
    def name(self) -> str:
        return "Idle hint (logind)"

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self._surroundings.system_bus, "system") as system:
            async for _ in system.changes(*SESSION_RULES):
                is_active = any(not item.is_idle and item.is_active for item in await own_screens(system))
                report((use(is_active, Certainty.WEAK if is_active else Certainty.LIKELY),))
