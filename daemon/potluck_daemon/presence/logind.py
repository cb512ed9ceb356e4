"""What several probes ask of systemd's logind on the system bus. Interface: org.freedesktop.login1(5)."""

from __future__ import annotations

import os
from dataclasses import dataclass

from jeepney import DBusAddress

from potluck_daemon.presence.bus import Bus
from potluck_daemon.presence.probe import ProbeUnavailableError

NAME = "org.freedesktop.login1"
MANAGER = DBusAddress("/org/freedesktop/login1", NAME, f"{NAME}.Manager")
SESSION_RULES = (
    f"type='signal',sender='{NAME}',path='{MANAGER.object_path}',interface='{MANAGER.interface}'",
    f"type='signal',sender='{NAME}',member='PropertiesChanged',path_namespace='{MANAGER.object_path}/session'",
    f"type='signal',sender='{NAME}',member='PropertiesChanged',path_namespace='{MANAGER.object_path}/seat'",
)
_FLAGS = ("Active", "LockedHint", "IdleHint")


@dataclass(frozen=True, slots=True)
class LoginSession:
    """One login. Only those of people are listed, not those of services or display managers."""

    uid: int
    user: str
    seat: str  # empty: by network
    is_active: bool  # it has its seat's screen and keyboard
    is_locked: bool
    is_idle: bool
    is_graphical: bool


async def login_sessions(system: Bus) -> tuple[LoginSession, ...]:
    """Raises ProbeUnavailableError without logind."""
    await system.require(NAME, "logind")
    answer = await system.ask(MANAGER, "ListSessions")
    found = []
    for _, uid, user, seat, path in answer[0] if answer else ():
        at = DBusAddress(path, NAME, f"{NAME}.Session")
        if await system.get(at, "Class") != "user":
            continue
        is_graphical = await system.get(at, "Type") in ("x11", "wayland", "mir")
        is_active, is_locked, is_idle = [bool(await system.get(at, name)) for name in _FLAGS]
        found.append(LoginSession(uid, user, seat, is_active, is_locked, is_idle, is_graphical))
    return tuple(found)


async def own_screens(system: Bus) -> tuple[LoginSession, ...]:
    """This user's graphical logins, at least one. Raises ProbeUnavailableError without logind or without any."""
    ours = tuple(item for item in await login_sessions(system) if item.uid == os.getuid() and item.is_graphical)
    if not ours:
        raise ProbeUnavailableError("logind knows of no graphical session of yours")
    return ours
