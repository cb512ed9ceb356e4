"""Games and listed programs, recognised by their processes.

Steam's games have its `reaper` above them. Other launchers (Lutris, Heroic, Bottles, umu) leave variables in the game's
environment. They are inherited by everything that the game opens, so known programs that are no games never count.

A judge is a function that recognises one program; the probe asks its judges about every program that runs.
Sources: lutris/game.py; Heroic's backend/launcher.ts; Prism's MinecraftInstance.cpp; Bottles' winecommand.py and
models/config.py; umu-launcher's umu_run.py; Proton's script `proton`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from potluck_control.states import Certainty, Reason

from potluck.sentences import sentence
from potluck_daemon.presence.applications import is_desktop_program
from potluck_daemon.presence.probe import PollingProbe, Sighting, Situation
from potluck_daemon.presence.processes import ProcessTable, Program, base_name

INTERVAL_S = 0.25  # freeing the memory takes as long, and both together shall take half a second
_APP_ID = re.compile(r"AppId=(\d+)")
_STEAM_FOLDER = re.compile(r"steamapps/common/([^/]+)/")
_STEAM_TOOLS = re.compile(r"Proton|SteamLinuxRuntime|Steamworks")

_GAMESCOPE_SESSION_OPTIONS = frozenset(("-e", "--steam", "--xwayland-count"))

# Launchers start these beside a game, or a game starts them, so they inherit the game's variables.
_HELPERS = """
    gogdl heroic-run legendary lutris-wrapper lutris-wrapper: nile pressure-vessel-adverb proton pv-adverb pv-bwrap
    umu-launcher umu-run umu_run.py
    sh bash dash zsh fish env nice sleep tee cat grep sed tail dbus-daemon dbus-run-session xdg-dbus-proxy bwrap
    srt-bwrap reaper wineserver wine wine64 wine-preloader wine64-preloader gamescope gamescope-wl gamescopereaper
    mangohud mangoapp gamemoderun srt-logger steam-runtime-launcher-service steam-launch-wrapper python python3
    xrandr pulseaudio xdg-open zenity yad kdialog winetricks protontricks curl wget unzip tar xterm
"""
_NO_NATIVE_GAMES = frozenset(_HELPERS.split())
_OF_GAMES = ("HEROIC_APP_NAME", "LUTRIS_GAME_UUID")  # variables of a game, and of nothing else
# Proton and umu set this for everything in them: a Windows program is a game, a tool of Linux is not.
_OF_WINE = "STEAM_COMPAT_DATA_PATH"
_BOTTLE = "bottle.yml"  # a file in a Wine folder of Bottles that says whether the user made it for games
_FOR_GAMES = re.compile(rb"^Environment: *['\"]?Gaming\b", re.MULTILINE)
_MAX_BOTTLE_BYTES = 1 << 20  # it lists the programs inside
_MINECRAFT = ("net.minecraft.client.", "org.prismlauncher.", "org.multimc.", "/.minecraft/libraries/")
_UNREAL = "-win64-shipping"

Judge = Callable[[Program, ProcessTable], Sighting | None]


class ProgramsProbe(PollingProbe):
    """Reports what the judges say of the programs that run; each program is judged once."""

    name, interval_s = sentence("Running programs"), INTERVAL_S

    def __init__(self, table: ProcessTable, judges: Iterable[Judge]) -> None:
        self._table = table
        self._judges = tuple(judges)
        self._version = -1
        self._judged: dict[int, tuple[Program, tuple[Sighting, ...]]] = {}
        self._found: dict[int, tuple[Sighting, ...]] = {}

    async def poll(self, situation: Situation) -> tuple[Sighting, ...]:
        programs = self._table.refresh(self._found)
        if self._table.version != self._version:
            self._version = self._table.version
            judged = {}
            for pid, program in programs.items():
                known = self._judged.get(pid)
                judged[pid] = known if known is not None and known[0] is program else (program, self._judge(program))
            self._judged = judged
            self._found = {pid: sightings for pid, (_, sightings) in judged.items() if sightings}
        return tuple(dict.fromkeys(sighting for sightings in self._found.values() for sighting in sightings))

    def _judge(self, program: Program) -> tuple[Sighting, ...]:
        judged = (judge(program, self._table) for judge in self._judges)
        return tuple(sighting for sighting in judged if sighting is not None)


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


def gamescope_game(program: Program, _: ProcessTable) -> Sighting | None:
    """Recognise the program inside Valve's gamescope, a compositor around one game; the evidence is certain.

    On a Steam Deck and other consoles the whole session runs in gamescope, so there Steam's reaper has to tell.
    """
    if program.comm not in ("gamescope", "gamescope-wl") or "--" not in program.arguments:
        return None
    end = program.arguments.index("--")
    inner = program.arguments[end + 1 : end + 2]
    if not inner or not _GAMESCOPE_SESSION_OPTIONS.isdisjoint(program.arguments[:end]):
        return None
    return Sighting(Reason.GAME, base_name(inner[0]), app=base_name(inner[0]))


def launched_game(program: Program, table: ProcessTable) -> Sighting | None:
    """Recognise a program that a game launcher started; the evidence is likely.

    A Windows program that no launcher started is a weak sign.
    """
    if is_desktop_program(program):
        return None
    if _is_minecraft(program):
        return Sighting(Reason.GAME, "Minecraft", Certainty.LIKELY, program.app)
    is_wine = program.comm.startswith("wine") or "".join(program.arguments[:1]).lower().endswith(".exe")
    is_windows = is_wine and program.app.endswith(".exe")
    if not is_windows and not _NO_NATIVE_GAMES.isdisjoint(program.own_names):
        return None
    variables = table.variables(program)
    is_of_games = bool(variables.get(_OF_WINE)) or _is_bottle_of_games(variables.get("WINEPREFIX", ""))
    is_launched = any(variables.get(name) for name in _OF_GAMES) or (is_windows and is_of_games)
    if not is_launched and not is_windows:
        return None
    certainty = Certainty.LIKELY if is_launched else Certainty.WEAK
    return Sighting(Reason.GAME, _title(program, variables), certainty, program.app)


def _is_minecraft(program: Program) -> bool:
    """Return whether this is the game, from any launcher."""
    if not program.comm.startswith("java") and base_name("".join(program.arguments[:1])) not in ("java", "javaw"):
        return False
    return any(mark in word.lower() for word in program.arguments for mark in _MINECRAFT)


def _is_bottle_of_games(prefix: str) -> bool:
    path = Path(prefix, _BOTTLE)
    try:
        if not prefix or not path.is_file():  # opening a pipe would wait
            return False
        with path.open("rb") as file:
            return _FOR_GAMES.search(file.read(_MAX_BOTTLE_BYTES)) is not None
    except (OSError, ValueError):  # not to be read, or no path
        return False


def _title(program: Program, variables: Mapping[str, str]) -> str:
    """Return the name that people know, if the launcher passes it on."""
    if variables.get("LUTRIS_GAME_UUID") and variables.get("GAME_NAME"):
        return variables["GAME_NAME"]
    path = next((item for item in reversed(program.arguments) if item.lower().endswith(".exe")), "")
    stem = path.replace("\\", "/").rsplit("/", 1)[-1][:-4] or program.app  # the name keeps its capitals
    return stem[: -len(_UNREAL)] if stem.lower().endswith(_UNREAL) else stem
