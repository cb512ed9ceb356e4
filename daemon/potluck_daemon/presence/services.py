"""Probes of services on the D-Bus: GameMode's games, NetworkManager's metered networks, logind's logins and sleep.

The engine must end before the computer sleeps, because a device context doesn't survive that. A delay inhibitor makes
logind wait (5 s by default) until the probe closes its descriptor, which it does as soon as the engine has ended.
jeepney's asyncio connection can't pass descriptors, so a thread gets the inhibitor over a connection of its own.

Interfaces: https://github.com/FeralInteractive/gamemode (daemon/gamemode-dbus.c), NetworkManager's D-Bus API, and
org.freedesktop.login1(5).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import cast

from jeepney import DBusAddress, FileDescriptor, MessageFlag, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection
from potluck_control.states import Reason

from potluck.sentences import sentence, verbatim
from potluck_daemon.presence.bus import CALL_TIMEOUT_S, PROPERTIES, Bus, ServiceProbe, bus, signal_rule
from potluck_daemon.presence.idle import LOCKED, use_sighting
from potluck_daemon.presence.probe import ProbeFailedError, Report, Sighting, Situation, Surroundings
from potluck_daemon.presence.processes import read_program

_LOGIND = "org.freedesktop.login1"
_LOGIN_MANAGER = DBusAddress("/org/freedesktop/login1", _LOGIND, f"{_LOGIND}.Manager")
_GAMEMODE_NAME, _NETWORK_NAME = "com.feralinteractive.GameMode", "org.freedesktop.NetworkManager"
_GAMEMODE = DBusAddress("/com/feralinteractive/GameMode", _GAMEMODE_NAME, _GAMEMODE_NAME)
_NETWORK = DBusAddress("/org/freedesktop/NetworkManager", _NETWORK_NAME, _NETWORK_NAME)
_METERED = (1, 3)  # NM_METERED_YES, NM_METERED_GUESS_YES
_LOGIN_RULES = (
    signal_rule(_LOGIN_MANAGER),
    f"type='signal',sender='{_LOGIND}',member='PropertiesChanged',path_namespace='{_LOGIN_MANAGER.object_path}/session'",
    f"type='signal',sender='{_LOGIND}',member='PropertiesChanged',path_namespace='{_LOGIN_MANAGER.object_path}/seat'",
)
_SLEEP_RULE = signal_rule(_LOGIN_MANAGER) + ",member='PrepareForSleep'"
LONGEST_DELAY_S = 4.5  # logind's own limit, InhibitDelayMaxSec, is 5 s
_LOOK_S = 0.05
_FLAGS = ("Active", "LockedHint", "IdleHint")


def gamemode(at: Surroundings) -> ServiceProbe:
    """Return the probe with certain evidence for every game that has registered with gamemoded: the surest sign."""

    async def games(session: Bus) -> tuple[Sighting, ...]:
        if not await session.has_owner(_GAMEMODE_NAME):
            return ()
        answer = await session.call(_GAMEMODE, "ListGames")
        return tuple(game(pid) for pid, _ in answer[0]) if answer and isinstance(answer[0], list) else ()

    def game(pid: int) -> Sighting:
        program = read_program(at.proc, pid)
        app = program.app if program is not None else ""
        return Sighting(Reason.GAME, app or f"process {pid}", app=app)

    comes_or_goes = f"type='signal',member='NameOwnerChanged',arg0='{_GAMEMODE_NAME}'"
    return ServiceProbe(verbatim("GameMode"), at, "session", (signal_rule(_GAMEMODE), comes_or_goes), games)


def metered_network(at: Surroundings) -> ServiceProbe:
    """Return the probe with certain evidence while the network of the default route is metered, as a hotspot is."""

    async def metered(system: Bus) -> tuple[Sighting, ...]:
        await system.require(_NETWORK_NAME, "NetworkManager")
        is_metered = await system.get(_NETWORK, "Metered") in _METERED
        return (Sighting(Reason.METERED, sentence("this network")),) if is_metered else ()

    return ServiceProbe(sentence("Metered network"), at, "system", (signal_rule(_NETWORK, PROPERTIES),), metered)


@dataclass(frozen=True, slots=True)
class LoginSession:
    """One person's login; those of services and display managers are left out."""

    uid: int
    user: str
    is_active: bool  # it has its seat's screen and keyboard
    is_locked: bool
    is_idle: bool
    is_graphical: bool


LoginJudge = Callable[[Collection[LoginSession]], tuple[Sighting, ...]]


def logins(at: Surroundings, *judges: LoginJudge) -> ServiceProbe:
    """Return the probe of logind, which reports what all `judges` find in the logins."""

    async def judged(system: Bus) -> tuple[Sighting, ...]:
        now = await _logins(system)
        return tuple(sighting for judge in judges for sighting in judge(now))

    return ServiceProbe(sentence("Logins and screen lock"), at, "system", _LOGIN_RULES, judged)


def other_screens(logins: Collection[LoginSession]) -> tuple[Sighting, ...]:
    """Return certain evidence while another user has the screen: we cannot see their games."""
    others = {item.user for item in logins if item.uid != os.getuid() and item.is_graphical and item.is_active}
    return tuple(Sighting(Reason.OTHER_USER, user) for user in sorted(others))


def other_users(logins: Collection[LoginSession]) -> tuple[Sighting, ...]:
    """Return use by people on the network or a text console, for as long as logind does not call them idle."""
    others = (item for item in logins if item.uid != os.getuid() and not item.is_graphical)
    return (use_sighting(True),) if any(item.is_active and not item.is_idle for item in others) else ()


def screen_lock(logins: Collection[LoginSession]) -> tuple[Sighting, ...]:
    """Return absence once all of this user's screens are locked, as GNOME, KDE Plasma and Cinnamon tell logind."""
    ours = [item for item in logins if item.uid == os.getuid() and item.is_graphical]
    return (LOCKED,) if ours and all(item.is_locked for item in ours) else ()


async def _logins(system: Bus) -> list[LoginSession]:
    """Ask logind for all logins of people. Raises ProbeUnavailableError without logind."""
    await system.require(_LOGIND, "logind")
    answer = await system.call(_LOGIN_MANAGER, "ListSessions")
    found = []
    for _, uid, user, _, path in answer[0] if answer else ():
        at = DBusAddress(path, _LOGIND, f"{_LOGIND}.Session")
        if await system.get(at, "Class") != "user":
            continue
        is_graphical = await system.get(at, "Type") in ("x11", "wayland", "mir")
        is_active, is_locked, is_idle = [bool(await system.get(at, name)) for name in _FLAGS]
        found.append(LoginSession(uid, user, is_active, is_locked, is_idle, is_graphical))
    return found


@dataclass(frozen=True, slots=True)
class SleepProbe:
    """The probe with certain evidence from the announcement of sleep until the computer wakes up."""

    name = sentence("Sleep")

    at: Surroundings

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self.at, "system") as system:
            await system.require(_LOGIND, "logind")
            with contextlib.ExitStack() as locks:
                async for _ in system.changes(_SLEEP_RULE):
                    if await system.get(_LOGIN_MANAGER, "PreparingForSleep"):
                        report((Sighting(Reason.SLEEP, sentence("the computer")),))
                        await _until_ended(situation)
                        locks.close()
                    else:
                        locks.close()
                        locks.enter_context(await asyncio.to_thread(_inhibit, self.at.system_bus))
                        report(())


async def _until_ended(situation: Situation) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_DELAY_S):
            while situation.engine_pid is not None:  # noqa: ASYNC110 - only this field shows it
                await asyncio.sleep(_LOOK_S)


def _inhibit(address: str) -> FileDescriptor:
    """Return the lock that delays sleep until it is closed."""
    body = ("sleep", "Potluck", "the GPU has to be left in order", "delay")
    call = new_method_call(_LOGIN_MANAGER, "Inhibit", "ssss", body)
    call.header.flags |= MessageFlag.no_auto_start
    try:
        with open_dbus_connection(address, enable_fds=True) as connection:
            answer = connection.send_and_get_reply(call, timeout=CALL_TIMEOUT_S)
            if answer.header.message_type is not MessageType.method_return:
                raise ProbeFailedError(sentence("logind does not let us finish before sleep"))
            return cast(FileDescriptor, answer.body[0])
    except (OSError, TimeoutError) as error:
        raise ProbeFailedError(sentence("{name} does not answer", name="logind")) from error
