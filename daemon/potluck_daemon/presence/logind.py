"""Evidence from systemd's logind on the system bus: other people at this computer, its idle hint, its lock hint.

A judge says what the logins of people mean; a probe asks its judge whenever one of them changes.
Interface: org.freedesktop.login1(5).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from jeepney import DBusAddress
from potluck_control.states import Certainty, Reason

from potluck.sentences import Sentence, sentence
from potluck_daemon.presence.bus import Bus, bus
from potluck_daemon.presence.idle import LOCKED, use
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Situation, Surroundings

NAME = "org.freedesktop.login1"
MANAGER = DBusAddress("/org/freedesktop/login1", NAME, f"{NAME}.Manager")
_RULES = (
    f"type='signal',sender='{NAME}',path='{MANAGER.object_path}',interface='{MANAGER.interface}'",
    f"type='signal',sender='{NAME}',member='PropertiesChanged',path_namespace='{MANAGER.object_path}/session'",
    f"type='signal',sender='{NAME}',member='PropertiesChanged',path_namespace='{MANAGER.object_path}/seat'",
)
_FLAGS = ("Active", "LockedHint", "IdleHint")


@dataclass(frozen=True, slots=True)
class LoginSession:
    """One person's login; those of services and display managers are left out."""

    uid: int
    user: str
    is_active: bool  # it has its seat's screen and keyboard
    is_locked: bool
    is_idle: bool
    is_graphical: bool


Logins = tuple[LoginSession, ...]
LoginJudge = Callable[[Logins], tuple[Sighting, ...]]


class LogindProbe:
    """Reports what `judge` says of all logins, now and after each change."""

    def __init__(self, name: Sentence, surroundings: Surroundings, judge: LoginJudge) -> None:
        self.name = name
        self._surroundings = surroundings
        self._judge = judge

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self._surroundings.system_bus, "system") as system:
            async for _ in system.changes(*_RULES):
                report(self._judge(await _logins(system)))


def other_screens(logins: Logins) -> tuple[Sighting, ...]:
    """Certain evidence while another user has the screen: it is their machine now, and we cannot see their games."""
    others = {item.user for item in logins if item.uid != os.getuid() and item.is_graphical and item.is_active}
    return tuple(Sighting(Reason.OTHER_USER, user) for user in sorted(others))


def other_users(logins: Logins) -> tuple[Sighting, ...]:
    """Use by people logged in by network or on a text console, for as long as logind does not call them idle."""
    others = (item for item in logins if item.uid != os.getuid() and not item.is_graphical)
    return (use(True),) if any(item.is_active and not item.is_idle for item in others) else ()


def idle_hint(logins: Logins) -> tuple[Sighting, ...]:
    """Believe "idle"; "not idle" is a weak sign, because KDE and others never set the hint."""
    is_active = any(not item.is_idle and item.is_active for item in _own_screens(logins))
    return (use(is_active, Certainty.WEAK if is_active else Certainty.LIKELY),)


def lock_hint(logins: Logins) -> tuple[Sighting, ...]:
    """Nobody is there once all of this user's screens are locked."""
    return (LOCKED,) if all(item.is_locked for item in _own_screens(logins)) else ()


def _own_screens(logins: Logins) -> Logins:
    """Return this user's graphical logins, at least one. Raises ProbeUnavailableError without any."""
    ours = tuple(item for item in logins if item.uid == os.getuid() and item.is_graphical)
    if not ours:
        raise ProbeUnavailableError(sentence("logind knows of no graphical session of yours"))
    return ours


async def _logins(system: Bus) -> Logins:
    """Ask logind for all logins of people. Raises ProbeUnavailableError without logind."""
    await system.require(NAME, "logind")
    answer = await system.ask(MANAGER, "ListSessions")
    found = []
    for _, uid, user, _, path in answer[0] if answer else ():
        at = DBusAddress(path, NAME, f"{NAME}.Session")
        if await system.get(at, "Class") != "user":
            continue
        is_graphical = await system.get(at, "Type") in ("x11", "wayland", "mir")
        is_active, is_locked, is_idle = [bool(await system.get(at, name)) for name in _FLAGS]
        found.append(LoginSession(uid, user, is_active, is_locked, is_idle, is_graphical))
    return tuple(found)
