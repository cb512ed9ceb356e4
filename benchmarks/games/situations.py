"""Situations of which `evidence_worth` asks what is found and what is taken for a game; some are played live, too.

Each follows from what a program is documented to do, or does before everybody's eyes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from potluck_control.states import Certainty, Reason
from potluck_daemon.presence.probe import Sighting

X11, SWAY, GNOME = "X11", "sway", "GNOME on Wayland"  # who tells of windows: an X server, the compositor, nobody


@dataclass(frozen=True)
class Process:
    comm: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)  # BOTTLE stands for the Wine folder of Bottles
    percent: float = 0.0  # share of a core
    parent: int | None = None  # its place in the list; None: the session
    group: str = ""  # the application's id, if the desktop made a control group for it
    has_pad: bool = False  # a game controller open
    nvidia_percent: float = 0.0  # share of the GPU
    drm_percent: float = 0.0


@dataclass(frozen=True)
class Window:
    """The active window, as the X server or a compositor describes it."""

    of: int  # the place of its process in the list
    name: str
    is_full_screen: bool = True
    wants_no_compositor: bool = False
    is_borderless: bool = False  # it has the place of the screen, but does not say that it is full-screen


@dataclass(frozen=True)
class Moment:
    looks: int
    processes: tuple[Process, ...] = ()
    window: Window | None = None
    told: tuple[tuple[str, Sighting], ...] = ()  # what a bus or a driver says: probe, sighting
    seconds_a_look: float = 1.0


@dataclass(frozen=True)
class Scene:
    """What happens on a computer. A game counts as found if the last look knows of it; work, if no look does."""

    name: str
    moments: tuple[Moment, ...]
    is_game: bool = True
    desktop: str = X11
    menu: Mapping[str, str] = field(default_factory=dict)  # executable, id, or ID:COMMAND -> categories
    has_own_menu: bool = True  # False: that of this computer
    bottle: str = ""  # what Bottles made its Wine folder for
    listed: tuple[str, ...] = ()
    is_announced: bool = False  # something says so at once, so the first look has to find it
    is_before_desktop: bool = False  # the daemon runs longer than the desktop
    is_judged_at_its_end: bool = False  # work that begins with what rightly counts
    says_yes: bool = False  # the user answers that this is a game


def write_menu(folder: Path, *menus: Mapping[str, str]) -> None:
    """Write the desktop's entries of these programs, `ID:COMMAND` or both in one, for XDG_DATA_HOME."""
    (folder / "applications").mkdir()
    for name, categories in ((name, menu[name]) for menu in menus for name in menu):
        name, _, command = name.partition(":")
        lines = (
            "[Desktop Entry]",
            "Type=Application",
            f"Name={name}",
            f"Exec={command or name}",
            f"Categories={categories}",
        )
        (folder / "applications" / f"{name}.desktop").write_text("\n".join(lines))


def _run(path: str, *arguments: str, **fields: Any) -> Process:
    """A program as it shows itself when it is started by its path, of Linux or Windows."""
    return Process(re.split(r"[/\\]", path)[-1], (path, *arguments), **fields)


def _now(*processes: Process, looks: int = 6) -> tuple[Moment, ...]:
    return (Moment(looks, processes),)


def _one(
    name: str, process: Process, *, window: str = "", menu: str = "", entry: str = "", looks: int = 6, **fields: Any
) -> Scene:
    """A scene of one program. `window`: full, borderless, SDL (full, with the hint) or small; `menu`: categories."""
    shown = Window(0, process.comm, window != "small", window == "SDL", window == "borderless")
    menus = {entry or process.group or process.comm: menu} if menu else {}
    return Scene(name, (Moment(looks, (process,), shown if window else None),), menu=menus, **fields)


def _told(name: str, probe: str, reason: Reason, who: str, certainty: Certainty = Certainty.CERTAIN) -> Scene:
    return Scene(name, (Moment(6, told=((probe, Sighting(reason, who, certainty, who.lower())),)),))


_STEAM = "/home/me/.local/share/Steam"
_APPS = f"{_STEAM}/steamapps/common"
_REAPER = (f"{_STEAM}/ubuntu12_32/reaper", "SteamLaunch", "AppId=504230", "--")
_PROTON = {"STEAM_COMPAT_DATA_PATH": f"{_STEAM}/steamapps/compatdata/504230"}  # the script `proton` needs it
_LUTRIS = {"LUTRIS_GAME_UUID": "8d5a1e1c"}  # lutris/monitored_command.py sets it for all that it runs
_HEROIC = {"HEROIC_APP_NAME": "Sugar"}  # Heroic's backend/launcher.ts
_UMU = {"UMU_ID": "umu-default", "STEAM_COMPAT_DATA_PATH": "/home/me/Games/umu/umu-default"}  # umu_run.py: set_env
_BOTTLE = {"WINEPREFIX": "BOTTLE"}
_MINECRAFT = "net.minecraft.client.main.Main"
_INDIE = "/home/me/Games/indie/indie"  # unpacked from an archive: in no menu
_TUX, _GAME = "/usr/games/supertux2", "Game;ArcadeGame;"
_TRON = _run("/usr/games/armagetronad.real", percent=24)
_PYTHON = Process("python3", ("/usr/bin/python3", "game.py"), percent=60)
_WRAPPER = Process("lutris-wrapper", ("lutris-wrapper: Title",), _LUTRIS)

_ANNOUNCED = (
    Scene(
        "gamemoderun, a light game",
        (
            Moment(
                6,
                (_run(_INDIE, percent=15, nvidia_percent=6),),
                told=(("GameMode", Sighting(Reason.GAME, "indie", app="indie")),),
            ),
        ),
        desktop=GNOME,
        is_announced=True,
    ),
    Scene("Steam, native", _now(_run(*_REAPER, f"{_APPS}/Celeste/Celeste")), is_announced=True),
    Scene(
        "Steam, Proton",
        _now(
            _run(*_REAPER, f"{_APPS}/Proton 9.0/proton", "waitforexitandrun", f"{_APPS}/Hades II/Hades2.exe"),
            _run("S:\\common\\Hades II\\Hades2.exe", environment=_PROTON),
        ),
        is_announced=True,
    ),
    _one("a program of the user's list", _run("/opt/sim/sim"), listed=("sim",), desktop=GNOME, is_announced=True),
)
_LAUNCHED = (
    Scene("Lutris, Wine", _now(_WRAPPER, _run("C:\\Overwatch\\Overwatch.exe", environment=_LUTRIS)), desktop=GNOME),
    Scene("Lutris, native", _now(_WRAPPER, _run(_INDIE, environment=_LUTRIS)), desktop=GNOME),
    # legendary/cli.py ends without waiting for the game
    _one("Heroic, Epic with Wine", _run("Z:\\Heroic\\RocketLeague.exe", environment=_HEROIC), desktop=GNOME),
    _one("Heroic, GOG, native", _run(_INDIE, environment=_HEROIC), desktop=GNOME),
    _one("umu-run from a terminal", _run("Z:\\games\\Celeste.exe", environment=_UMU), desktop=GNOME),
    _one("a script that runs Proton", _run("Z:\\games\\Old.exe", environment=_PROTON), desktop=GNOME),
    # Bottles' models/config.py
    _one("Bottles, made for games", _run("C:\\Braid.exe", environment=_BOTTLE), bottle="Gaming", desktop=GNOME),
    # Prism's MinecraftInstance.cpp
    _one("Minecraft of Prism", _run("/usr/bin/java", "-cp", "N.jar", "org.prismlauncher.EntryPoint"), desktop=GNOME),
    _one("Minecraft of its own launcher", _run("/usr/bin/java", "-Xmx2G", "-cp", "a.jar", _MINECRAFT), desktop=GNOME),
    Scene(
        "gamescope from a terminal, a light game",
        _now(_run("/usr/bin/gamescope", "-f", "--", _INDIE), _run(_INDIE, percent=15, nvidia_percent=6)),
        desktop=GNOME,
    ),
    _one("plain Wine, full-screen, at rest", _run("Z:\\games\\Civ.exe", percent=5), window="full"),
    _one("plain Wine, some use of the GPU", _run("Z:\\Civ.exe", percent=15, nvidia_percent=15), desktop=GNOME),
)
_SEEN = (
    _one("menu, full-screen, at rest", _run(_TUX, percent=3), window="full", menu=_GAME),
    _one("menu, in a window, some use of the processor", _run(_TUX, percent=15), window="small", menu=_GAME),
    _one("menu, a script that executes another file", _TRON, window="small", menu=_GAME, entry="armagetronad"),
    _one("menu, in a window, busy", _run(_TUX, percent=60), window="small", menu=_GAME),
    _one("menu, full-screen, at rest, on sway", _run(_TUX, percent=3), window="full", desktop=SWAY, menu=_GAME),
    _one(
        "Flatpak whose script starts another program, full-screen, at rest",  # com.play0ad.zeroad: --command=0ad
        _run("/app/bin/pyrogenesis", percent=12, group="com.play0ad.zeroad"),
        window="full",
        desktop=SWAY,
        menu=_GAME,
    ),
    # SDL sets _NET_WM_BYPASS_COMPOSITOR unless SDL_HINT_VIDEO_X11_NET_WM_BYPASS_COMPOSITOR says no
    _one("archive, full-screen, at rest, SDL", _run(_INDIE, percent=8), window="SDL"),
    _one("archive, full-screen, busy", _run(_INDIE, percent=60), window="full"),
    # a tool with Exec=python3 tool.py, or a program of Wine with Exec=env
    _one("archive, in Python, and so is a tool", _PYTHON, window="full", menu="Utility;", entry="tool:python3 tool.py"),
    _one("archive, borderless, busy", _run(_INDIE, percent=60), window="borderless"),
    _one("archive, full-screen, busy, on sway", _run(_INDIE, percent=60), window="full", desktop=SWAY),
    _one("archive, a controller, on sway", _run(_INDIE, percent=8, has_pad=True), window="full", desktop=SWAY),
    _one("archive, some use of the GPU", _run(_INDIE, percent=10, nvidia_percent=15), window="full"),
    _one("archive, in a window; the user is asked", _run(_INDIE, percent=60), window="small", looks=30, says_yes=True),
    _one("archive, busy GPU of NVIDIA", _run(_INDIE, percent=10, nvidia_percent=60), desktop=GNOME),
    _one("archive, busy GPU of another maker", _run(_INDIE, percent=10, drm_percent=60), desktop=GNOME),
    _one(
        "menu, native on Wayland, busy processor, strong GPU",
        _run(_TUX, percent=45, nvidia_percent=5, group="supertux2"),
        desktop=GNOME,
        menu=_GAME,
        looks=10,
    ),
    _one(
        "menu, native on Wayland, some use of the GPU",
        _run(_TUX, percent=12, drm_percent=15, group="supertux2"),
        desktop=GNOME,
        menu=_GAME,
        looks=10,
    ),
    _one("the daemon is older than the desktop", _run(_INDIE, percent=60), window="full", is_before_desktop=True),
)
_LEFT = (
    Scene(
        "menu, minimised for two minutes",
        (
            Moment(4, (_run(_TUX, percent=20),), Window(0, "supertux2")),
            Moment(120, (_run(_TUX, percent=2),)),
        ),
        menu={"supertux2": _GAME},
    ),
    Scene(
        "archive, busy and full-screen, then left for two minutes",
        (Moment(4, (_run(_INDIE, percent=60),), Window(0, "indie")), Moment(120, (_run(_INDIE, percent=2),))),
    ),
    Scene(
        "menu, native on Wayland, busy, then at rest for a minute",
        (
            Moment(10, (_run(_TUX, percent=45, group="supertux2"),)),
            Moment(60, (_run(_TUX, percent=2, group="supertux2"),)),
        ),
        desktop=GNOME,
        menu={"supertux2": _GAME},
    ),
    Scene(
        "archive, full-screen, loads with pauses",
        tuple(Moment(1, (_run(_INDIE, percent=share),), Window(0, "indie")) for share in (0, 60, 10, 60, 10, 15, 15)),
    ),
)
GAMES = (
    *_ANNOUNCED,
    *_LAUNCHED,
    *_SEEN,
    *_LEFT,
    _told("the memory of the GPU", "GPU memory", Reason.VRAM_PRESSURE, "NVIDIA", Certainty.LIKELY),
    _told("the memory of the machine", "Memory", Reason.RAM_PRESSURE, "memory"),
    _told("another user at the screen", "User switch", Reason.OTHER_USER, "anna"),
    _told("a tray on Windows", "Agents", Reason.GAME, "Forza"),
)

_AT_WORK = (
    _one("film in a player", _run("/usr/bin/mpv", percent=60, nvidia_percent=40), window="full"),
    _one("film in a browser", _run("/usr/lib/firefox/firefox", percent=80, nvidia_percent=60), window="full"),
    _one("film in an unknown player, decoded by the GPU", _run("/opt/player", percent=8), window="full"),
    _one("an unknown viewer of the menu, busy", _run("/usr/bin/viewer", percent=60), window="full", menu="Graphics;"),
    _one("a compositor, NVIDIA", _run("/usr/bin/kwin_wayland", percent=30, nvidia_percent=60)),
    _one("a compositor, DRM", _run("/usr/bin/gnome-shell", percent=30, drm_percent=60)),
    _one("a locked screen with a moving picture", _run("/usr/libexec/kscreenlocker_greet", nvidia_percent=35)),
    _one("a terminal, busy", _run("/usr/local/bin/st", percent=80), window="full"),
    _one(
        "a terminal in Python, busy",
        Process("terminator", ("python3", "/usr/bin/terminator"), percent=80),
        window="full",
    ),
    _one("a presentation, busy", _run("/usr/lib/libreoffice/program/soffice.bin", percent=60), window="full"),
    _one("recording the screen", _run("/usr/bin/obs", percent=60, nvidia_percent=40)),
    _one("a remote desktop, busy", _run("/usr/bin/xfreerdp", percent=50), window="full"),
    _one("a virtual machine, busy", _run("/usr/bin/qemu-system-x86_64", percent=120), window="full"),
    _one("a call, the screen shared", _run("/usr/share/discord/Discord", percent=60, nvidia_percent=30)),
    _one("an editor, some use of the GPU", _run("/opt/zed", nvidia_percent=12), window="full", menu="Development;"),
    _one("Steam in its big picture", _run(f"{_STEAM}/steam", percent=20), window="full", menu="Network;Game;"),
    _one(
        "Steam downloads",
        _run(f"{_STEAM}/steam", percent=90, group="steam"),
        desktop=GNOME,
        menu="Network;Game;",
        looks=10,
    ),
    _one("an editor of the menu", _run("/usr/bin/ed", percent=90, group="ed"), desktop=GNOME, menu="Office;", looks=10),
    Scene("a launcher in Lutris", _now(_WRAPPER, _run("C:\\EpicGamesLauncher.exe", environment=_LUTRIS))),
    Scene("Lutris installs a game", _now(_WRAPPER, _run("C:\\temp\\vc_redist.x64.exe", environment=_LUTRIS))),
    Scene(
        "winetricks from Lutris",
        _now(
            Process("sh", ("/bin/sh", "/usr/bin/winetricks"), _LUTRIS),
            _run("/usr/bin/zenity", "--list", environment=_LUTRIS),
        ),
    ),
    Scene(
        "services of Wine after a game",
        _now(*(_run(f"C:\\windows\\{name}.exe", environment=_HEROIC) for name in ("services", "winedevice"))),
    ),
    _one("a browser that a game opened", _run("/usr/lib/firefox/firefox", environment=_LUTRIS)),
    _one("PowerPoint in Wine", _run("C:\\Office\\POWERPNT.EXE", percent=5), window="full"),
    _one("a bottle for applications", _run("C:\\Tool.exe", environment=_BOTTLE), bottle="Application"),
    _one("a Windows program that is small and at rest", _run("C:\\Tool.exe")),
    _one("a server of Minecraft", _run("/usr/bin/java", "-jar", "/srv/minecraft/server.jar", "nogui")),
    _one("shaders being compiled", _run(f"{_STEAM}/ubuntu12_64/fossilize_replay", percent=100)),
    _one("looking for Steam's processes", _run("/usr/bin/pgrep", "-f", "reaper SteamLaunch AppId=504230")),
    _one("an editor with a list of games", _run("/usr/bin/vim", "-R", "sim", "Celeste.exe"), listed=("sim",)),
    _one("a session inside gamescope", _run("/usr/bin/gamescope", "-e", "--", "steam")),
    _one("a little use of the GPU", _run("/usr/bin/visualizer", percent=8, nvidia_percent=8)),
    _one("an unknown program, busy in a window", _run("/opt/convert", percent=100), window="small"),
    Scene(
        "a card game of the menu that only is busy while it starts",
        tuple(Moment(1, (_run("/usr/games/sol", percent=share, group="sol"),)) for share in (3, 3, 90, 3, 3, 3, 3, 3)),
        desktop=GNOME,
        menu={"sol": _GAME},
    ),
    Scene(
        "a short use of the GPU",
        tuple(Moment(2, (_run("/usr/bin/photo", nvidia_percent=share),)) for share in (0.0, 90.0, 0.0, 0.0)),
    ),
    Scene(
        "a window that is full-screen and busy for a moment",
        (
            Moment(1, (_run("/opt/splash"),), Window(0, "splash")),
            Moment(1, (_run("/opt/splash", percent=90),), Window(0, "splash")),
            Moment(4, (_run("/opt/splash"),)),
        ),
    ),
    Scene(
        "an unknown program was full-screen and busy, half an hour ago",
        (
            Moment(4, (_run("/opt/unknown", percent=60),), Window(0, "unknown")),
            Moment(30, (_run("/opt/unknown", percent=2),), seconds_a_look=60),
        ),
        is_judged_at_its_end=True,
    ),
)
WORK = tuple(replace(scene, is_game=False) for scene in _AT_WORK)
