"""A locked screen: nobody uses the computer, however short a time ago somebody did.

Told by the desktop's screen saver service on the session bus, and by logind for those that tell it.
"""

from __future__ import annotations

from jeepney import DBusAddress
from potluck_control.states import Reason

from potluck_daemon.presence.bus import Bus, bus, owner_rule, signal_rule
from potluck_daemon.presence.logind import SESSION_RULES, own_screens
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Situation, Surroundings

_SAVERS = tuple(
    DBusAddress(f"/{name.replace('.', '/')}", name, name)
    for name in ("org.gnome.ScreenSaver", "org.freedesktop.ScreenSaver", "org.cinnamon.ScreenSaver")
)
_LOCKED = (Sighting(Reason.AWAY, "the screen is locked"),)


class ScreenSaverProbe:
    """The desktop's own service, pushed."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    @property
    def name(self) -> str:
        return "Screen lock (desktop)"

    async def watch(self, report: Report, situation: Situation) -> None:
        rules = [rule for saver in _SAVERS for rule in (signal_rule(saver), owner_rule(saver.bus_name))]
        async with bus(self._surroundings.session_bus, "session") as session:
            async for _ in session.changes(*rules):
                report(await _state(session))


async def _state(session: Bus) -> tuple[Sighting, ...]:
    is_there = False
    for saver in _SAVERS:
        if await session.has_owner(saver.bus_name):
            is_there = True
            if await session.ask(saver, "GetActive") == (True,):
                return _LOCKED
    if not is_there:
        raise ProbeUnavailableError("no screen saver service runs")
    return ()


class LogindLockProbe:
    """logind's hint, pushed. All sessions of this user must be locked."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    @property
    def name(self) -> str:
        return "Screen lock (logind)"

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self._surroundings.system_bus, "system") as system:
            async for _ in system.changes(*SESSION_RULES):
                report(_LOCKED if all(item.is_locked for item in await own_screens(system)) else ())
