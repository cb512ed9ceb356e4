"""Games and listed programs, recognised by their processes: Steam, gamescope, the user's own list.

A judge says what one program is; a probe asks its judge about every program that runs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from potluck_control.states import Reason

from potluck.sentences import Sentence, sentence
from potluck_daemon.presence.probe import ProbeUnavailableError, Report, Sighting, Situation, next_look
from potluck_daemon.presence.processes import ProcessTable, Program, base_name

RELAXED_INTERVAL_S = 0.5
_MAX_SHARE = 0.001  # of a core for one probe: it looks less often where programs start all the time
_SMOOTHING = 0.2  # of the newest look in the mean of what one costs

_APP_ID = re.compile(r"AppId=(\d+)")
_STEAM_FOLDER = re.compile(r"steamapps/common/([^/]+)/")
_STEAM_TOOLS = re.compile(r"Proton|SteamLinuxRuntime|Steamworks")

_GAMESCOPE_SESSION_OPTIONS = frozenset(("-e", "--steam", "--xwayland-count"))

Judge = Callable[[Program, ProcessTable], Sighting | None]


class ProgramProbe:
    """Reports what `judge` says of the programs that run; each program is judged once."""

    def __init__(self, name: Sentence, table: ProcessTable, judge: Judge, *, interval_s: float) -> None:
        self.name = name
        self._table = table
        self._judge = judge
        self._interval_s = interval_s

    async def watch(self, report: Report, situation: Situation) -> None:
        version, seen, found = -1, tuple[Sighting, ...](), dict[int, Sighting]()
        judged: dict[int, Program] = {}
        cost_s = 0.0
        while True:
            began_s = time.thread_time()
            try:
                programs = self._table.look(found.keys())
            except OSError as error:
                raise ProbeUnavailableError(
                    sentence("the list of processes cannot be read ({why})", why=str(error.strerror))
                ) from error
            if self._table.version != version:
                changed = self._table.changed_since(version)
                version = self._table.version
                for pid in sorted(judged.keys() | programs.keys() if changed is None else changed):
                    self._judge_one(pid, judged, found)
                seen = tuple(dict.fromkeys(found.values()))
            report(seen)
            cost_s += _SMOOTHING * (time.thread_time() - began_s - cost_s)
            await next_look(pause_s(self._interval_s, cost_s, is_relaxed=situation.is_relaxed))

    def _judge_one(self, pid: int, judged: dict[int, Program], found: dict[int, Sighting]) -> None:
        """Judge a program that is new or has changed; one that only outlived what started it stays what it was."""
        program, known, before = self._table.programs.get(pid), judged.pop(pid, None), found.pop(pid, None)
        if program is None:
            return
        judged[pid] = program
        is_same = known is program
        sighting = before if is_same else self._judge(program, self._table)
        if not is_same and before is not None and known is not None:
            is_orphaned = replace(known, parent=program.parent) == program
            sighting = before if is_orphaned else sighting
        if sighting is not None:
            found[pid] = sighting


def pause_s(interval_s: float, cost_s: float, *, is_relaxed: bool) -> float:
    """Return the seconds until the next look, given what a look costs on the average in seconds of a core."""
    least_s = max(interval_s, RELAXED_INTERVAL_S) if is_relaxed else interval_s
    num_intervals = round(cost_s / _MAX_SHARE / interval_s)  # so that it still wakes together with other probes
    return max(least_s, min(num_intervals * interval_s, RELAXED_INTERVAL_S))


def listed_program(names: Iterable[str]) -> Judge:
    """Return a judge with certain evidence for every program that goes by one of the user's `names`."""
    listed = {name.lower(): name for name in names}

    def judge(program: Program, _: ProcessTable) -> Sighting | None:
        name = next((listed[name] for name in program.names if name in listed), None)
        return Sighting(Reason.EXCLUSIVE_APP, name, app=name.lower()) if name is not None else None

    return judge


def steam_game(program: Program, _: ProcessTable) -> Sighting | None:
    """Recognise a game of Steam by the `reaper SteamLaunch AppId=N` above it; the evidence is certain.

    Native games and those under Proton have it, what Steam does for itself (compiling shaders) has not. Flatpak's Steam
    nests the reaper in a sandbox, whose processes are visible from outside. (The registry's RunningAppID has been dead
    on Linux since June 2023: steam-for-linux#9672.)
    """
    arguments = program.arguments
    if "SteamLaunch" not in arguments[1:3] or "reaper" not in (program.comm, base_name(arguments[0])):
        return None
    app_id = next(filter(None, map(_APP_ID.fullmatch, arguments)), None)
    if app_id is None:
        return None
    return Sighting(Reason.GAME, steam_title(arguments) or f"Steam game {app_id[1]}", app=f"steam:{app_id[1]}")


def steam_title(arguments: tuple[str, ...]) -> str:
    """Return the game's folder: that of the last path that is not a tool's."""
    paths = (argument.replace("\\", "/") for argument in reversed(arguments))
    folders = (match[1] for path in paths for match in _STEAM_FOLDER.finditer(path))
    return next((folder for folder in folders if not _STEAM_TOOLS.match(folder)), "")


def gamescope_game(program: Program, table: ProcessTable) -> Sighting | None:
    """Recognise the program inside Valve's gamescope, a compositor around one game; the evidence is certain.

    On a Steam Deck and other consoles the whole session runs in gamescope, so there Steam's reaper has to tell.
    """
    if not program.comm.startswith("gamescope") or "--" not in program.arguments:
        return None
    if any(item.comm.startswith("gamescope") for item in table.ancestors(program)):
        return None  # its own helpers: gamescope-wl, gamescopereaper
    end = program.arguments.index("--")
    inner = program.arguments[end + 1 : end + 2]
    if not inner or not _GAMESCOPE_SESSION_OPTIONS.isdisjoint(program.arguments[:end]):
        return None
    return Sighting(Reason.GAME, base_name(inner[0]), app=base_name(inner[0]))
