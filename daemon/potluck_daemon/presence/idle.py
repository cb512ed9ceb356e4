"""Finds out for how long nobody has touched keyboard and mouse, from the one source that each desktop has.

Xfce, MATE, Cinnamon, LXQt and every other desktop on X11: the X server. KDE Plasma, sway, Hyprland, niri, COSMIC and
others on Wayland: the compositor's notifier (in `wayland`). GNOME and elementary on Wayland: Mutter's own service.
A Mac: `ioreg`.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jeepney import DBusAddress
from potluck_control.states import Certainty, Reason

from potluck.sentences import Sentence, sentence
from potluck_daemon.presence.bus import bus
from potluck_daemon.presence.probe import (
    ProbeFailedError,
    ProbeUnavailableError,
    Reading,
    Report,
    Sighting,
    Situation,
    Source,
    Surroundings,
    next_poll,
)
from potluck_daemon.presence.x11 import XScreen

if TYPE_CHECKING:
    from Xlib.display import Display

RETURN_INTERVAL_S = 1.0  # a return is noticed within this time
LONGEST_WAIT_S, IOREG_TIMEOUT_S = 15.0, 10.0
LOCKED = Sighting(Reason.AWAY, sentence("the screen is locked"))

_MUTTER_NAME = "org.gnome.Mutter.IdleMonitor"
_MUTTER = DBusAddress("/org/gnome/Mutter/IdleMonitor/Core", _MUTTER_NAME, _MUTTER_NAME)
_IOREG = ("ioreg", "-r", "-c", "IOHIDSystem", "-d", "1")
_IOREG_IDLE_NS = re.compile(rb'"HIDIdleTime" = (\d+)')


def use_sighting(is_active: bool) -> Sighting:
    """Return the sighting that somebody uses the computer, or that nobody does."""
    if is_active:
        return Sighting(Reason.USER_ACTIVE, sentence("keyboard or mouse"), Certainty.LIKELY)
    return Sighting(Reason.AWAY, sentence("nobody"), Certainty.LIKELY)


@dataclass(frozen=True, slots=True)
class IdleProbe:
    """The probe for use or absence. It looks more often when the answer may change soon."""

    name: Sentence
    source: Source[float]  # yields the seconds for which nobody has touched anything
    idle_after_s: float

    async def watch(self, report: Report, situation: Situation) -> None:
        async with self.source() as read_idle_s:
            while True:
                idle_s = await read_idle_s()
                report((use_sighting(idle_s < self.idle_after_s),))
                left_s = self.idle_after_s - idle_s
                if left_s <= 0:
                    await next_poll(RETURN_INTERVAL_S)
                else:
                    await asyncio.sleep(min(max(left_s, 0.1), LONGEST_WAIT_S))


@asynccontextmanager
async def gnome_idle(at: Surroundings) -> AsyncIterator[Reading[float]]:
    """Connect to GNOME's compositor, which counts input of every kind, also on Wayland."""

    async def read_idle_s() -> float:
        answer = await session.call(_MUTTER, "GetIdletime")
        if answer is None:
            raise ProbeUnavailableError(sentence("{name} does not report idle time", name="GNOME"))
        return float(answer[0]) / 1000

    async with bus(at, "session") as session:
        await session.require(_MUTTER_NAME, "GNOME")
        yield read_idle_s


@asynccontextmanager
async def x11_idle(at: Surroundings) -> AsyncIterator[Reading[float]]:
    """Connect to the X server, whose screen saver extension has the idle time.

    Under Xwayland it counts the input of X clients only, so the compositor's own answer is needed there.
    """
    if at.environment.get("WAYLAND_DISPLAY"):
        raise ProbeUnavailableError(sentence("this is a Wayland session"))
    with closing(XScreen(at, _x11_idle_s)) as screen:
        yield screen.read


def _x11_idle_s(display: Display) -> float:
    from Xlib.ext import screensaver

    if not display.has_extension(screensaver.extname):
        raise ProbeUnavailableError(sentence("the X server does not report idle time"))
    return float(screensaver.query_info(display.screen().root).idle) / 1000


@asynccontextmanager
async def mac_idle() -> AsyncIterator[Reading[float]]:
    """Yield a function that asks `ioreg` for the idle time of a Mac's keyboard, mouse and trackpad.

    It is written from the manual ioreg(8) and recorded answers; no Mac has run it yet.
    """
    yield _read_ioreg


async def _read_ioreg() -> float:
    try:
        done = await asyncio.to_thread(
            subprocess.run, _IOREG, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=IOREG_TIMEOUT_S
        )
    except OSError as error:
        raise ProbeUnavailableError(sentence("no ioreg ({why})", why=str(error.strerror))) from error
    except subprocess.TimeoutExpired:
        raise ProbeFailedError(sentence("{name} does not answer", name="ioreg")) from None
    return mac_idle_s(done.stdout)


def mac_idle_s(output: bytes) -> float:
    """Return the shortest idle time in the output of `ioreg`, in seconds. Raises ProbeUnavailableError."""
    times = [int(time) for time in _IOREG_IDLE_NS.findall(output)]
    if not times:
        raise ProbeUnavailableError(sentence("no keyboard or mouse is listed"))
    return min(times) / 1e9
