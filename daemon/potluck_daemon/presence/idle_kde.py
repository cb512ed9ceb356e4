"""Idle time from KDE's screen saver service; elsewhere the service may exist without telling any."""

from __future__ import annotations

from jeepney import DBusAddress

from potluck_daemon.presence.bus import bus
from potluck_daemon.presence.idle import poll_idle
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Situation, Surroundings

_NAME = "org.freedesktop.ScreenSaver"
_KDE = "org.kde.screensaver"  # the name that only Plasma's own service has beside it
_SCREEN_SAVER = DBusAddress("/org/freedesktop/ScreenSaver", _NAME, _NAME)


class KdeIdleProbe:
    def __init__(self, surroundings: Surroundings, *, idle_after_s: float) -> None:
        self._surroundings = surroundings
        self._idle_after_s = idle_after_s

    @property
    def name(self) -> str:
        return "Idle time (KDE)"

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self._surroundings.session_bus, "session") as session:
            await session.require(_KDE, "KDE")

            async def read_idle_s() -> float:
                answer = await session.ask(_SCREEN_SAVER, "GetSessionIdleTime")
                if answer is None:
                    raise ProbeUnavailableError("KDE does not tell idle time")
                return float(answer[0])  # KDE answers in seconds

            await poll_idle(read_idle_s, report, idle_after_s=self._idle_after_s)
