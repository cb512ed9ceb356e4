"""Games that a launcher other than Steam started: Lutris, Heroic, Prism, Bottles, umu, Proton and plain Wine.

A launcher leaves two traces: the programs above the game, and variables in the game's environment, which stay when the
programs above have gone. Both are inherited by everything that the game opens, so known programs that are no games
never count.
Sources: lutris-wrapper and lutris/game.py; Heroic's backend/launcher.ts; Prism's MinecraftInstance.cpp; Bottles'
winecommand.py and models/config.py; umu-launcher's umu_run.py; Proton's script `proton`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from potluck_control.states import Certainty, Reason

from potluck_daemon.presence.desktop_programs import is_desktop_program
from potluck_daemon.presence.probe import Sighting
from potluck_daemon.presence.processes import ProcessTable, Program, base_name
from potluck_daemon.presence.program_probes import Judge, steam_title

_LUTRIS = "lutris-wrapper"  # its title is "lutris-wrapper: TITLE" once it runs a game
_WRAPPERS = """
    gogdl heroic-run legendary lutris-wrapper nile pressure-vessel-adverb proton pv-adverb pv-bwrap umu-launcher
    umu-run umu_run.py
"""
_HELPERS = """
    sh bash dash zsh fish env nice sleep tee cat grep sed tail dbus-daemon dbus-run-session xdg-dbus-proxy bwrap
    srt-bwrap reaper wineserver wine wine64 wine-preloader wine64-preloader gamescope gamescope-wl gamescopereaper
    mangohud mangoapp gamemoderun srt-logger steam-runtime-launcher-service steam-launch-wrapper python python3
    xrandr pulseaudio xdg-open zenity yad kdialog winetricks protontricks curl wget unzip tar xterm
"""
_SERVICES = """
    wineboot winedevice winemenubuilder winecfg winedbg wineconsole services explorer plugplay svchost rpcss
    tabtip conhost start steam iexplore rundll32 regedit regsvr32 cmd reg notepad xalia
"""
_INSTALLERS = """
    msiexec setup vcredist_x64 vcredist_x86 vc_redist.x64 vc_redist.x86 dxsetup iscriptevaluator dotnetfx ngen
    mscorsvw unins000 crashpad_handler unitycrashhandler64 unitycrashhandler32 crashreportclient
"""
_LAUNCHERS = """
    epicgameslauncher epicwebhelper battle.net agent upc uplaywebcore ubisoftconnect eadesktop
    eabackgroundservice origin galaxyclient rockstarservice launcher steamwebhelper socialclubhelper
"""
_WRAPPER_NAMES = frozenset(_WRAPPERS.split())
_NO_NATIVE_GAMES = _WRAPPER_NAMES | frozenset(_HELPERS.split())
_NO_WINDOWS_GAMES = frozenset(f"{name}.exe" for name in (_SERVICES + _INSTALLERS + _LAUNCHERS).split())

# set for a game, and for nothing else
_OF_GAMES = ("SteamAppId", "SteamGameId", "STEAM_COMPAT_APP_ID", "HEROIC_APP_NAME", "LUTRIS_GAME_UUID", "INST_MC_DIR")
# set for whatever runs in the launcher's Wine: a Windows program with one is a game, a tool of Linux is not
_OF_WINE = ("STEAM_COMPAT_DATA_PATH", "LEGENDARY_WRAPPER_EXE", "LEGENDARY_CONFIG_PATH", "UMU_ID", "GAMEID")
_GAME_PREFIXES = ("/heroic/prefixes/", "/lutris/", "/steamapps/compatdata/", "/umu/")  # in WINEPREFIX
_BOTTLE = "bottle.yml"  # in a Wine folder of Bottles; says whether the user made it for games
_FOR_GAMES = re.compile(rb"^Environment: *['\"]?Gaming\b", re.MULTILINE)
_MAX_BOTTLE_BYTES = 1 << 20  # it lists the programs inside
_STEAM_IDS = _OF_GAMES[:3]
_MINECRAFT = ("net.minecraft.", "org.prismlauncher.", "org.multimc.", "/.minecraft/", "/minecraft/libraries/")
_MINECRAFT_SERVER = ("nogui", "net.minecraft.server.main", "server.jar")
_UNREAL = "-win64-shipping"


def launched_game(ambient: Mapping[str, str]) -> Judge:
    """Return a judge that recognises programs which a game launcher started; the evidence is likely.

    A Windows program that no launcher started is a weak sign.

    Args:
        ambient: our own environment: what the whole session inherits tells nothing of one program.
    """

    def judge(program: Program, table: ProcessTable) -> Sighting | None:
        if is_desktop_program(program):
            return None
        if _is_minecraft(program):
            return Sighting(Reason.GAME, "Minecraft", Certainty.LIKELY, program.app)
        is_windows = _is_windows(program)
        if is_windows and (not program.app.endswith(".exe") or program.app in _NO_WINDOWS_GAMES):
            return None
        if not is_windows and not _NO_NATIVE_GAMES.isdisjoint(program.own_names):
            return None
        if any(item.startswith(_LUTRIS) for item in (program.comm, *program.arguments[:1])):
            return None
        variables = {name: value for name, value in table.variables(program).items() if ambient.get(name) != value}
        wrapper = next((item for item in table.ancestors(program) if _is_wrapper(item)), None)
        is_launched = wrapper is not None or _tells_a_game(variables, is_windows=is_windows)
        if not is_launched and not is_windows:
            return None
        certainty = Certainty.LIKELY if is_launched else Certainty.WEAK
        return Sighting(Reason.GAME, _title(program, wrapper, variables), certainty, program.app)

    return judge


def _is_windows(program: Program) -> bool:
    first = program.arguments[0] if program.arguments else ""
    return first.lower().endswith(".exe") or program.comm.startswith("wine")


def _is_minecraft(program: Program) -> bool:
    """Return whether this is the game, from any launcher; its server plays nothing."""
    if not program.comm.startswith("java") and base_name("".join(program.arguments[:1])) not in ("java", "javaw"):
        return False
    words = [word.lower() for word in program.arguments]
    is_server = any(word.endswith(_MINECRAFT_SERVER) for word in words)
    return not is_server and any(mark in word for word in words for mark in _MINECRAFT)


def _tells_a_game(variables: Mapping[str, str], *, is_windows: bool) -> bool:
    if any(variables.get(name, "0") not in ("", "0") for name in _OF_GAMES):
        return True
    if not is_windows:
        return False
    prefix = variables.get("WINEPREFIX", "")
    is_of_games = any(variables.get(name) for name in _OF_WINE)
    return is_of_games or any(part in prefix.lower() + "/" for part in _GAME_PREFIXES) or _is_bottle_of_games(prefix)


def _is_bottle_of_games(prefix: str) -> bool:
    path = Path(prefix, _BOTTLE)
    try:
        if not prefix or not path.is_file():  # opening a pipe would wait
            return False
        with path.open("rb") as file:
            return _FOR_GAMES.search(file.read(_MAX_BOTTLE_BYTES)) is not None
    except (OSError, ValueError):  # not to be read, or no path
        return False


def _is_wrapper(program: Program) -> bool:
    names = (program.comm, *map(base_name, program.arguments[:2]))
    return any(name in _WRAPPER_NAMES or name.startswith(f"{_LUTRIS}:") for name in names)


def _title(program: Program, wrapper: Program | None, variables: Mapping[str, str]) -> str:
    """Return the name that people know, as far as the launcher tells it."""
    titled = wrapper.arguments[0].partition(f"{_LUTRIS}:")[2].strip() if wrapper and wrapper.arguments else ""
    folder = steam_title(program.arguments) if any(name in variables for name in _STEAM_IDS) else ""
    if titled or folder:
        return titled or folder
    path = next((item for item in reversed(program.arguments) if item.lower().endswith(".exe")), "")
    stem = path.replace("\\", "/").rsplit("/", 1)[-1][:-4] or program.app  # with its capitals
    return stem[: -len(_UNREAL)] if stem.lower().endswith(_UNREAL) else stem
