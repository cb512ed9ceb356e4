"""Other people at this computer: one who took over the screen, and ones who are logged in elsewhere.

After a switch of users the games of the other one are invisible to us, and the machine is theirs: certain evidence.
Somebody logged in by network or on a text console just uses the machine.
"""

from __future__ import annotations

import os

from potluck_control.states import Certainty, Reason

from potluck_daemon.presence.bus import bus
from potluck_daemon.presence.idle import use
from potluck_daemon.presence.logind import SESSION_RULES, LoginSession, login_sessions
from potluck_daemon.presence.probe import Report, Sighting, Situation, Surroundings


class SessionSwitchProbe:
    """Certain evidence while another user's session has a screen."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    @property
    def name(self) -> str:
        return "User switch"

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self._surroundings.system_bus, "system") as system:
            async for _ in system.changes(*SESSION_RULES):
                report(_at_the_screen(await login_sessions(system)))


def _at_the_screen(sessions: tuple[LoginSession, ...]) -> tuple[Sighting, ...]:
    others = {item.user for item in sessions if item.uid != os.getuid() and item.is_graphical and item.is_active}
    return tuple(Sighting(Reason.OTHER_USER, user) for user in sorted(others))


class OtherUsersProbe:
    """Use by others who are logged in without the screen, for as long as logind does not call them idle."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    @property
    def name(self) -> str:
        return "Other users"

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self._surroundings.system_bus, "system") as system:
            async for _ in system.changes(*SESSION_RULES):
                sessions = await login_sessions(system)
                others = (item for item in sessions if item.uid != os.getuid() and not item.is_graphical)
                is_busy = any(item.is_active and not item.is_idle for item in others)
                report((use(True, Certainty.LIKELY),) if is_busy else ())
