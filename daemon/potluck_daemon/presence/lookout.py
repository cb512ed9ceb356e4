"""Chooses the probes that the settings ask for, and runs them in the environment of the desktop's session.

A daemon that started before the desktop lacks the session's variables. Desktops tell systemd's user manager where their
displays are, so `SessionProbe` asks the manager now and then. A daemon that systemd started trusts the manager more
than its own environment, which may be that of an earlier session; one that a person started in a terminal trusts its
own. Each probe finds out by itself whether it can work here.
Source: https://systemd.io/DESKTOP_ENVIRONMENTS and org.freedesktop.systemd1(5).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jeepney import DBusAddress
from potluck_control.settings import Settings

from potluck.sentences import Sentence, sentence
from potluck_daemon.policy.decide import is_device_needed
from potluck_daemon.policy.model import Presence
from potluck_daemon.presence import services
from potluck_daemon.presence.active_window import ActiveWindow, WindowObserver, WindowsProbe, game_groups
from potluck_daemon.presence.agents import AgentReports
from potluck_daemon.presence.bus import bus
from potluck_daemon.presence.games import ProgramsProbe, gamescope_game, launched_game, listed_program, steam_game
from potluck_daemon.presence.gpu_use import GpuUseProbe
from potluck_daemon.presence.idle import IdleProbe, gnome_idle, mac_idle, x11_idle
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import (
    PollingProbe,
    Probe,
    ProbeFailedError,
    ProbeUnavailableError,
    Sighting,
    Situation,
    Source,
    Surroundings,
)
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.sensors import BatteryProbe, HeatProbe, PowerProbe, RamPressureProbe, VramPressureProbe
from potluck_daemon.presence.watch import Watch
from potluck_daemon.presence.wayland import WaylandIdleProbe, wayland_windows
from potluck_daemon.presence.x11 import x11_windows

INTERVAL_S = 20.0
_NAME = "org.freedesktop.systemd1"
_MANAGER = DBusAddress("/org/freedesktop/systemd1", _NAME, f"{_NAME}.Manager")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_OF_SESSION = (*_DISPLAYS, "XAUTHORITY", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE")
_STARTED_BY_SYSTEMD = "INVOCATION_ID"
GAME_GROUPS = sentence("Applications of the desktop")
X11_WINDOWS, WAYLAND_WINDOWS = sentence("Full-screen windows"), sentence("Full-screen windows (Wayland)")


@dataclass
class SessionProbe(PollingProbe):
    """The probe that passes the session's variables on. It fails if a desktop runs whose windows cannot be seen."""

    name, interval_s = sentence("Desktop session"), INTERVAL_S

    at: Surroundings
    pass_on: Callable[[Mapping[str, str]], None]

    async def poll(self, situation: Situation) -> tuple[Sighting, ...]:
        found = None
        with contextlib.suppress(ProbeUnavailableError, ProbeFailedError):  # the manager's last answer still holds
            async with bus(self.at, "session") as session:
                found = await session.get(_MANAGER, "Environment") if await session.has_owner(_NAME) else None
        if isinstance(found, list):
            self.pass_on(session_variables(found))
        require_visible_windows(self.at.environment)
        return ()


def session_variables(texts: Iterable[str]) -> dict[str, str]:
    """Return the variables that matter from texts like `DISPLAY=:0`."""
    pairs = (item.partition("=") for item in texts)
    return {name: value for name, _, value in pairs if name in _OF_SESSION and value}


def with_session(own: Mapping[str, str], session: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for probes: the daemon's own, or with the session's variables in place of its own."""
    is_of_terminal = _STARTED_BY_SYSTEMD not in own and any(own.get(name) for name in _DISPLAYS)
    if is_of_terminal or not any(session.get(name) for name in _DISPLAYS):
        return dict(own)
    return {name: value for name, value in own.items() if name not in _OF_SESSION} | dict(session)


def require_visible_windows(environment: Mapping[str, str]) -> None:
    """Return if the environment names a display.

    Raises:
        ProbeFailedError: a desktop runs, and its windows cannot be seen.
        ProbeUnavailableError: no desktop runs.
    """
    if any(environment.get(name) for name in _DISPLAYS):
        return
    runtime = Path(environment.get("XDG_RUNTIME_DIR") or "/nonexistent")
    if any(path.is_socket() for path in runtime.glob("wayland-*")):
        raise ProbeFailedError(sentence("a desktop runs, but Potluck was not told where its windows are"))
    raise ProbeUnavailableError(sentence("no desktop runs"))


def probes_for(
    settings: Settings,
    at: Surroundings,
    agents: AgentReports,
    reader: NvmlReader,
    enter_session: Callable[[Mapping[str, str]], None] = lambda _: None,
) -> tuple[list[Probe], list[Sentence]]:
    """Return the probes to run, and the names of those that are switched off.

    Args:
        enter_session: called now and then with the variables of the desktop's session.
    """
    given, when, limits, table = settings.yield_, settings.when, settings.limits, ProcessTable(at)
    has_use = when.only_when_idle or when.active_percent < 100
    caps_c = {"gpu": limits.gpu_temperature_c, "cpu": limits.cpu_temperature_c}
    busy_percent, reserve_bytes, after_s = given.busy_percent, given.reserve_mb << 20, when.idle_after_s
    programs = [listed_program(given.always)] if given.always else []
    programs += [steam_game] if given.steam else []
    programs += [gamescope_game] if given.gamescope else []
    programs += [launched_game] if given.wine else []
    people = [services.other_screens] if given.other_users else []
    people += [services.other_users, services.screen_lock] if has_use else []

    def windows(name: Sentence, source: Source[ActiveWindow | None], num_intervals: int = 1) -> WindowsProbe:
        interval_s = num_intervals * given.likely_interval_s
        return WindowsProbe(name, source, WindowObserver(at, table, busy_percent=busy_percent, interval_s=interval_s))

    def idle(name: str, source: Source[float]) -> IdleProbe:
        return IdleProbe(sentence("Idle time ({name})", name=name), source, after_s)

    choices: list[tuple[Probe, bool]] = [
        (services.gamemode(at), given.gamemode),
        (ProgramsProbe(table, programs), bool(programs)),
        (windows(X11_WINDOWS, partial(x11_windows, at)), given.full_screen),
        (windows(WAYLAND_WINDOWS, partial(wayland_windows, at, table)), given.full_screen),
        (windows(GAME_GROUPS, partial(game_groups, at), num_intervals=2), given.full_screen),
        (SessionProbe(at, enter_session), given.full_screen),
        (GpuUseProbe(at, table, reader, busy_percent=busy_percent), given.gpu_use),
        (VramPressureProbe(at, reader, reserve_bytes=reserve_bytes), given.memory),
        (RamPressureProbe(at, reserve_bytes=reserve_bytes), given.memory),
        (services.logins(at, *people), bool(people)),
        (idle("X11", partial(x11_idle, at)), has_use),
        (WaylandIdleProbe(at, idle_after_s=after_s), has_use),
        (idle("GNOME", partial(gnome_idle, at)), has_use),
        (services.SleepProbe(at), True),
        (BatteryProbe(at), not when.on_battery),
        (services.metered_network(at), not when.on_metered),
        (HeatProbe(at, reader, caps_c), any(cap_c > 0 for cap_c in caps_c.values())),
        (PowerProbe(reader, cap_w=limits.gpu_power_w), limits.gpu_power_w > 0),
        (agents, True),
    ]
    if sys.platform == "darwin":
        choices.append((idle("macOS", mac_idle), has_use))
    return [probe for probe, is_on in choices if is_on], [probe.name for probe, is_on in choices if not is_on]


class Lookout:
    """The probes that run now, in one `Watch` that is replaced when the settings or the session change.

    Args:
        on_change: called when what the probes see may have changed.
    """

    def __init__(self, environment: Mapping[str, str], reader: NvmlReader, on_change: Callable[[], None]) -> None:
        self._own = environment
        self._surroundings = Surroundings(environment=dict(environment))
        self._reader = reader
        self._on_change = on_change
        self._settings = Settings()
        self.agents = AgentReports()
        self.watch = self._new_watch()

    def apply(self, settings: Settings) -> None:
        """Replace the probes if the settings ask for others, or for other limits."""
        before, self._settings = self._settings, settings
        if (before.yield_, before.when, before.limits) != (settings.yield_, settings.when, settings.limits):
            self._replace_watch()

    @property
    def presence(self) -> Presence:
        return self.watch.presence

    @property
    def has_game(self) -> bool:
        """True while a program or person needs the device."""
        return is_device_needed(self.presence)

    def _enter_session(self, variables: Mapping[str, str]) -> None:
        """Replace the probes if the desktop's session has begun or is another one."""
        environment = with_session(self._own, variables)
        if environment != self._surroundings.environment:
            self._surroundings = Surroundings(environment=environment)
            self._replace_watch()
            self._on_change()

    def _replace_watch(self) -> None:
        self.watch.set_awake(False)
        self.watch = self._new_watch()

    def _new_watch(self) -> Watch:
        probes, off = probes_for(self._settings, self._surroundings, self.agents, self._reader, self._enter_session)
        given = self._settings.yield_
        return Watch(
            probes, self._on_change, likely_interval_s=given.likely_interval_s, never=given.never, switched_off=off
        )
