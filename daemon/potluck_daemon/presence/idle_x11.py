"""Idle time from the X server's screen saver extension. Under Xwayland it counts X clients' input only, so there the
compositor's own answer is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from potluck_daemon.presence.idle import poll_idle
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Situation, Surroundings
from potluck_daemon.presence.x11 import XScreen

if TYPE_CHECKING:
    from Xlib.display import Display


class X11IdleProbe:
    def __init__(self, surroundings: Surroundings, *, idle_after_s: float) -> None:
        self._surroundings = surroundings
        self._idle_after_s = idle_after_s

    @property
    def name(self) -> str:
        return "Idle time (X11)"

    async def watch(self, report: Report, situation: Situation) -> None:
        if self._surroundings.environment.get("WAYLAND_DISPLAY"):
            raise ProbeUnavailableError("this is a Wayland session")
        screen = XScreen(self._surroundings, _idle_s)
        try:
            await poll_idle(screen.look, report, idle_after_s=self._idle_after_s)
        finally:
            screen.close()


def _idle_s(display: Display) -> float:
    from Xlib.ext import screensaver

    if not display.has_extension(screensaver.extname):
        raise ProbeUnavailableError("the X server does not tell idle time")
    return float(screensaver.query_info(display.screen().root).idle) / 1000
