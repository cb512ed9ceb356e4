"""Which probes run: all that the settings do not make pointless. Each finds out for itself whether it can work here."""

from __future__ import annotations

import sys

from potluck_daemon.presence.agents import AgentReports
from potluck_daemon.presence.battery import BatteryProbe
from potluck_daemon.presence.drm import DrmUseProbe
from potluck_daemon.presence.full_screen import FullScreenProbe
from potluck_daemon.presence.gamemode import GameModeProbe
from potluck_daemon.presence.gamescope import GamescopeProbe
from potluck_daemon.presence.heat import HeatProbe, PowerProbe
from potluck_daemon.presence.idle_gnome import GnomeIdleProbe
from potluck_daemon.presence.idle_kde import KdeIdleProbe
from potluck_daemon.presence.idle_logind import LogindIdleProbe
from potluck_daemon.presence.idle_mac import MacIdleProbe
from potluck_daemon.presence.idle_wayland import WaylandIdleProbe
from potluck_daemon.presence.idle_x11 import X11IdleProbe
from potluck_daemon.presence.listed import ListedProgramsProbe
from potluck_daemon.presence.lock import LogindLockProbe, ScreenSaverProbe
from potluck_daemon.presence.memory import RamPressureProbe, VramPressureProbe
from potluck_daemon.presence.metered import MeteredProbe
from potluck_daemon.presence.nvidia import NvidiaUseProbe
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import Probe, Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.seat import OtherUsersProbe, SessionSwitchProbe
from potluck_daemon.presence.sleep import SleepProbe
from potluck_daemon.presence.steam import SteamProbe
from potluck_daemon.presence.wine import WineProbe
from potluck_daemon.settings.schema import Settings


def probes_for(
    settings: Settings, at: Surroundings, agents: AgentReports, reader: NvmlReader
) -> tuple[list[Probe], list[str]]:
    """The probes to run, and the names of those that are switched off."""
    choices = [*_of_games(settings, at, reader), *_of_people(settings, at), *_of_the_machine(settings, at, reader)]
    choices.append((agents, True))
    return [probe for probe, is_on in choices if is_on], [probe.name for probe, is_on in choices if not is_on]


def _of_games(settings: Settings, at: Surroundings, reader: NvmlReader) -> list[tuple[Probe, bool]]:
    given, table = settings.yield_, ProcessTable(at)
    full_screen = FullScreenProbe(at, busy_percent=given.busy_percent, interval_s=given.likely_interval_s)
    reserve_bytes = given.reserve_mb << 20
    return [
        (GameModeProbe(at), given.gamemode),
        (SteamProbe(table), given.steam),
        (WineProbe(table), given.wine),
        (GamescopeProbe(table), given.gamescope),
        (ListedProgramsProbe(table, given.always), bool(given.always)),
        (full_screen, given.full_screen),
        (NvidiaUseProbe(table, reader, busy_percent=given.busy_percent), given.gpu_use),
        (DrmUseProbe(at, table, busy_percent=given.busy_percent), given.gpu_use),
        (VramPressureProbe(at, reader, reserve_bytes=reserve_bytes), given.memory),
        (RamPressureProbe(at, reserve_bytes=reserve_bytes), given.memory),
    ]


def _of_people(settings: Settings, at: Surroundings) -> list[tuple[Probe, bool]]:
    after_s = settings.when.idle_after_s
    has_use = settings.when.only_when_idle or settings.when.active_percent < 100
    on_a_mac: list[tuple[Probe, bool]] = [(MacIdleProbe(idle_after_s=after_s), has_use)]
    return [
        *(on_a_mac if sys.platform == "darwin" else ()),
        (SessionSwitchProbe(at), settings.yield_.other_users),
        (OtherUsersProbe(at), has_use),
        (X11IdleProbe(at, idle_after_s=after_s), has_use),
        (WaylandIdleProbe(at, idle_after_s=after_s), has_use),
        (GnomeIdleProbe(at, idle_after_s=after_s), has_use),
        (KdeIdleProbe(at, idle_after_s=after_s), has_use),
        (LogindIdleProbe(at), has_use),
        (ScreenSaverProbe(at), has_use),
        (LogindLockProbe(at), has_use),
    ]


def _of_the_machine(settings: Settings, at: Surroundings, reader: NvmlReader) -> list[tuple[Probe, bool]]:
    limits = settings.limits
    heat = HeatProbe(at, reader, gpu_cap_c=limits.gpu_temperature_c, cpu_cap_c=limits.cpu_temperature_c)
    return [
        (SleepProbe(at), True),
        (BatteryProbe(at), not settings.when.on_battery),
        (MeteredProbe(at), not settings.when.on_metered),
        (heat, limits.gpu_temperature_c > 0 or limits.cpu_temperature_c > 0),
        (PowerProbe(reader, cap_w=limits.gpu_power_w), limits.gpu_power_w > 0),
    ]
