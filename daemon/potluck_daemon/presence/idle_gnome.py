"""Idle time from GNOME's compositor. It counts input of every kind, also on Wayland."""

from __future__ import annotations

from jeepney import DBusAddress

from potluck_daemon.presence.bus import bus
from potluck_daemon.presence.idle import poll_idle
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Situation, Surroundings

_NAME = "org.gnome.Mutter.IdleMonitor"
_MONITOR = DBusAddress("/org/gnome/Mutter/IdleMonitor/Core", _NAME, _NAME)


class GnomeIdleProbe:
    def __init__(self, surroundings: Surroundings, *, idle_after_s: float) -> None:
        self._surroundings = surroundings
        self._idle_after_s = idle_after_s

    @property
    def name(self) -> str:
        return "Idle time (GNOME)"

    async def watch(self, report: Report, situation: Situation) -> None:
        async with bus(self._surroundings.session_bus, "session") as session:
            await session.require(_NAME, "GNOME")

            async def read_idle_s() -> float:
                answer = await session.ask(_MONITOR, "GetIdletime")
                if answer is None:
                    raise ProbeUnavailableError("GNOME has gone")
                return float(answer[0]) / 1000  # milliseconds

            await poll_idle(read_idle_s, report, idle_after_s=self._idle_after_s)
