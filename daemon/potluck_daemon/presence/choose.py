"""Chooses the probes to run: all that the settings do not make pointless. Each finds out itself if it can work here."""

from __future__ import annotations

import sys

from potluck_control.settings import Settings

from potluck.sentences import Sentence, sentence, verbatim
from potluck_daemon.presence.agents import AgentReports
from potluck_daemon.presence.applications import ApplicationProbe
from potluck_daemon.presence.battery import BatteryProbe
from potluck_daemon.presence.drm import DrmUseProbe
from potluck_daemon.presence.full_screen import FullScreenProbe
from potluck_daemon.presence.gamemode import GameModeProbe
from potluck_daemon.presence.heat import HeatProbe, PowerProbe
from potluck_daemon.presence.idle import GNOME, KDE, DesktopIdleProbe, MacIdleProbe, ScreenSaverProbe, X11IdleProbe
from potluck_daemon.presence.idle_wayland import WaylandIdleProbe
from potluck_daemon.presence.launchers import launched_game
from potluck_daemon.presence.logind import LogindProbe, idle_hint, lock_hint, other_screens, other_users
from potluck_daemon.presence.memory import RamPressureProbe, VramPressureProbe
from potluck_daemon.presence.metered import MeteredProbe
from potluck_daemon.presence.nvidia import NvidiaUseProbe
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import Probe, Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.program_probes import (
    ProgramProbe,
    gamescope_game,
    listed_program,
    steam_game,
)
from potluck_daemon.presence.session import SessionProbe
from potluck_daemon.presence.sleep import SleepProbe
from potluck_daemon.presence.toplevels import WaylandWindowsProbe

PROGRAMS_INTERVAL_S = 0.2  # freeing the memory takes as long, and both together shall take half a second
LAUNCHERS_INTERVAL_S = 5 * PROGRAMS_INTERVAL_S  # a multiple, so that one look at the programs serves all


def probes_for(
    settings: Settings, at: Surroundings, agents: AgentReports, reader: NvmlReader
) -> tuple[list[Probe], list[Sentence]]:
    """Return the probes to run, and the names of those that are switched off."""
    choices = [*_of_games(settings, at, reader), *_of_people(settings, at), *_of_the_machine(settings, at, reader)]
    choices.append((agents, True))
    return [probe for probe, is_on in choices if is_on], [probe.name for probe, is_on in choices if not is_on]


def _of_games(settings: Settings, at: Surroundings, reader: NvmlReader) -> list[tuple[Probe, bool]]:
    given, table = settings.yield_, ProcessTable(at)
    full_screen = FullScreenProbe(at, busy_percent=given.busy_percent, interval_s=given.likely_interval_s)
    wayland_windows = WaylandWindowsProbe(at, busy_percent=given.busy_percent, interval_s=given.likely_interval_s)
    listed = ProgramProbe(
        sentence("Listed programs"), table, listed_program(given.always), interval_s=PROGRAMS_INTERVAL_S
    )
    judge = launched_game(at.environment)
    launchers = ProgramProbe(sentence("Game launchers and Wine"), table, judge, interval_s=LAUNCHERS_INTERVAL_S)
    reserve_bytes = given.reserve_mb << 20
    return [
        (GameModeProbe(at), given.gamemode),
        (ProgramProbe(verbatim("Steam"), table, steam_game, interval_s=PROGRAMS_INTERVAL_S), given.steam),
        (launchers, given.wine),
        (ProgramProbe(verbatim("gamescope"), table, gamescope_game, interval_s=LAUNCHERS_INTERVAL_S), given.gamescope),
        (listed, bool(given.always)),
        (full_screen, given.full_screen),
        (wayland_windows, given.full_screen),
        (ApplicationProbe(at, busy_percent=given.busy_percent), given.full_screen),
        (SessionProbe(at), given.full_screen),
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
        (LogindProbe(sentence("User switch"), at, other_screens), settings.yield_.other_users),
        (LogindProbe(sentence("Other users"), at, other_users), has_use),
        (X11IdleProbe(at, idle_after_s=after_s), has_use),
        (WaylandIdleProbe(at, idle_after_s=after_s), has_use),
        (DesktopIdleProbe(at, GNOME, idle_after_s=after_s), has_use),
        (DesktopIdleProbe(at, KDE, idle_after_s=after_s), has_use),
        (LogindProbe(sentence("Idle hint (logind)"), at, idle_hint), has_use),
        (ScreenSaverProbe(at), has_use),
        (LogindProbe(sentence("Screen lock (logind)"), at, lock_hint), has_use),
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
