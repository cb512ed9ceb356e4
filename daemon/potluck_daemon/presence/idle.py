"""Whether somebody uses the computer: how long ago keyboard and mouse were touched, and whether the screen is locked.

Each desktop has its own source of idle time; Wayland's own protocol is in `idle_wayland`, logind's hints in `logind`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jeepney import DBusAddress
from potluck_control.states import Certainty, Reason

from potluck.sentences import sentence
from potluck_daemon.presence.bus import Bus, bus, owner_rule, signal_rule
from potluck_daemon.presence.probe import (
    ProbeFailedError,
    ProbeUnavailableError,
    Report,
    Sighting,
    Situation,
    Surroundings,
    next_look,
)
from potluck_daemon.presence.x11 import XScreen

if TYPE_CHECKING:
    from Xlib.display import Display

RETURN_INTERVAL_S = 1.0  # while nobody is there: how soon a return is noticed
LONGEST_WAIT_S = 15.0
LOCKED = Sighting(Reason.AWAY, sentence("the screen is locked"))

_SAVERS = tuple(
    DBusAddress(f"/{name.replace('.', '/')}", name, name)
    for name in ("org.gnome.ScreenSaver", "org.freedesktop.ScreenSaver", "org.cinnamon.ScreenSaver")
)
_IOREG = ("ioreg", "-r", "-c", "IOHIDSystem", "-d", "1")
_IOREG_IDLE_NS = re.compile(rb'"HIDIdleTime" = (\d+)')


@dataclass(frozen=True, slots=True)
class IdleService:
    """A desktop's service for idle time on the session bus."""

    desktop: str
    owner: str  # the name that only this desktop's own service has
    address: DBusAddress
    method: str
    units_per_s: float


_MUTTER = "org.gnome.Mutter.IdleMonitor"
GNOME = IdleService(
    "GNOME", _MUTTER, DBusAddress("/org/gnome/Mutter/IdleMonitor/Core", _MUTTER, _MUTTER), "GetIdletime", 1000
)
KDE = IdleService("KDE", "org.kde.screensaver", _SAVERS[1], "GetSessionIdleTime", 1)


def use(is_active: bool, certainty: Certainty = Certainty.LIKELY) -> Sighting:
    """Return the sighting that somebody uses the computer, or that nobody does."""
    if is_active:
        return Sighting(Reason.USER_ACTIVE, sentence("keyboard or mouse"), certainty)
    return Sighting(Reason.AWAY, sentence("nobody"), certainty)


async def poll_idle(read_idle_s: Callable[[], Awaitable[float]], report: Report, *, idle_after_s: float) -> None:
    """Report use or absence until cancelled, and look more often when the answer may change soon.

    Args:
        read_idle_s: returns for how long nobody has touched anything.
    """
    while True:
        idle_s = await read_idle_s()
        report((use(idle_s < idle_after_s),))
        left_s = idle_after_s - idle_s
        if left_s <= 0:
            await next_look(RETURN_INTERVAL_S)
        else:
            await asyncio.sleep(min(max(left_s, 0.1), LONGEST_WAIT_S))


class DesktopIdleProbe:
    """Idle time from a desktop's own service, which counts input of every kind, also on Wayland."""

    def __init__(self, surroundings: Surroundings, service: IdleService, *, idle_after_s: float) -> None:
        self.name = sentence("Idle time ({name})", name=service.desktop)
        self._surroundings = surroundings
        self._service = service
        self._idle_after_s = idle_after_s

    async def watch(self, report: Report, situation: Situation) -> None:
        service = self._service
        async with bus(self._surroundings.session_bus, "session") as session:
            await session.require(service.owner, service.desktop)

            async def read_idle_s() -> float:
                answer = await session.ask(service.address, service.method)
                if answer is None:
                    raise ProbeUnavailableError(sentence("{name} does not report idle time", name=service.desktop))
                return float(answer[0]) / service.units_per_s

            await poll_idle(read_idle_s, report, idle_after_s=self._idle_after_s)


class X11IdleProbe:
    """Idle time from the X server's screen saver extension.

    Under Xwayland it counts the input of X clients only, so the compositor's own answer is needed there.
    """

    name = sentence("Idle time ({name})", name="X11")

    def __init__(self, surroundings: Surroundings, *, idle_after_s: float) -> None:
        self._surroundings = surroundings
        self._idle_after_s = idle_after_s

    async def watch(self, report: Report, situation: Situation) -> None:
        if self._surroundings.environment.get("WAYLAND_DISPLAY"):
            raise ProbeUnavailableError(sentence("this is a Wayland session"))
        with closing(XScreen(self._surroundings, _x11_idle_s)) as screen:
            await poll_idle(screen.look, report, idle_after_s=self._idle_after_s)


def _x11_idle_s(display: Display) -> float:
    from Xlib.ext import screensaver

    if not display.has_extension(screensaver.extname):
        raise ProbeUnavailableError(sentence("the X server does not report idle time"))
    return float(screensaver.query_info(display.screen().root).idle) / 1000


class MacIdleProbe:
    """Idle time of keyboard, mouse and trackpad from the registry of a Mac's devices, asked of `ioreg`.

    Written from the manual ioreg(8) and recorded answers; no Mac has run it yet.
    """

    name = sentence("Idle time ({name})", name="macOS")

    def __init__(self, *, idle_after_s: float, timeout_s: float = 10.0) -> None:
        self._idle_after_s = idle_after_s
        self._timeout_s = timeout_s

    async def watch(self, report: Report, situation: Situation) -> None:
        await poll_idle(self._ask_ioreg, report, idle_after_s=self._idle_after_s)

    async def _ask_ioreg(self) -> float:
        try:
            process = await asyncio.create_subprocess_exec(
                *_IOREG, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
            )
        except OSError as error:
            raise ProbeUnavailableError(sentence("no ioreg ({why})", why=str(error.strerror))) from error
        try:
            async with asyncio.timeout(self._timeout_s):
                said, _ = await process.communicate()
        except TimeoutError:
            raise ProbeFailedError(sentence("{name} does not answer", name="ioreg")) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return mac_idle_s(said)


def mac_idle_s(said: bytes) -> float:
    """Return the shortest of the times that `ioreg` names, which are in nanoseconds. Raises ProbeUnavailableError."""
    times = [int(time) for time in _IOREG_IDLE_NS.findall(said)]
    if not times:
        raise ProbeUnavailableError(sentence("no keyboard or mouse is listed"))
    return min(times) / 1e9


class ScreenSaverProbe:
    """Absence while the desktop's screen saver service says that the screen is locked."""

    name = sentence("Screen lock (desktop)")

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings

    async def watch(self, report: Report, situation: Situation) -> None:
        rules = [rule for saver in _SAVERS for rule in (signal_rule(saver), owner_rule(saver.bus_name))]
        async with bus(self._surroundings.session_bus, "session") as session:
            async for _ in session.changes(*rules):
                report((LOCKED,) if await _is_locked(session) else ())


async def _is_locked(session: Bus) -> bool:
    savers = [saver for saver in _SAVERS if await session.has_owner(saver.bus_name)]
    if not savers:
        raise ProbeUnavailableError(sentence("no screen saver service runs"))
    for saver in savers:
        if await session.ask(saver, "GetActive") == (True,):
            return True
    return False
