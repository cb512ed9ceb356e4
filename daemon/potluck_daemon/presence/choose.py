"""Chooses the probes to run: all that the settings do not make pointless. Each finds out itself if it can work here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial

from potluck_control.settings import Settings

from potluck.sentences import Sentence, sentence
from potluck_daemon.presence import services
from potluck_daemon.presence.agents import AgentReports
from potluck_daemon.presence.games import ProgramsProbe, gamescope_game, launched_game, listed_program, steam_game
from potluck_daemon.presence.gpu_use import GpuUseProbe
from potluck_daemon.presence.groups import game_groups
from potluck_daemon.presence.idle import IdleProbe, gnome_idle, mac_idle, x11_idle
from potluck_daemon.presence.machine import BatteryProbe, HeatProbe, PowerProbe, RamPressureProbe, VramPressureProbe
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import Probe, Source, Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.session import SessionProbe
from potluck_daemon.presence.wayland import WaylandIdleProbe, wayland_windows
from potluck_daemon.presence.window_probe import WindowLooks, WindowsProbe
from potluck_daemon.presence.windows import ActiveWindow
from potluck_daemon.presence.x11 import x11_windows

GAME_GROUPS = sentence("Applications of the desktop")
X11_WINDOWS, WAYLAND_WINDOWS = sentence("Full-screen windows"), sentence("Full-screen windows (Wayland)")


def probes_for(
    settings: Settings,
    at: Surroundings,
    agents: AgentReports,
    reader: NvmlReader,
    enter_session: Callable[[Mapping[str, str]], None] = lambda _: None,
) -> tuple[list[Probe], list[Sentence]]:
    """Return the probes to run, and the names of those that are switched off.

    Args:
        enter_session: is called with the variables of the desktop's session, now and then.
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
        return WindowsProbe(name, source, WindowLooks(at, table, busy_percent=busy_percent, interval_s=interval_s))

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
