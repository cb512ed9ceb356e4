"""Games that are missed, and work that is taken for a game: `missed_games` and `false_yields`.

Twenty ways to start a game, each of a kind that some probe must know; and a day without one, with all that comes close:
films, browsers, compositors, idle launchers, shaders being compiled, windows that flash by, screen savers.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from potluck_control.settings import Settings, YieldSettings
from potluck_control.states import Reason, State
from potluck_daemon.presence.probe import Sighting

from benchmarks.figures import Measured
from benchmarks.presence_lab import GIB, IDLE_GPU, Lab
from tests.helpers.bus_services import Login
from tests.helpers.desktop import ended
from tests.helpers.games import WINDOW, ask_gamemode, window

PATIENCE_S = 15.0
SCENE_S = 6.0
LISTED = ("my-listed-game", "listed.exe", "listed-game.py")
_SETTINGS = Settings(
    yield_=YieldSettings(always=LISTED, quiet_certain_s=0.1, quiet_likely_s=0.1, end_engine_after_s=600)
)

Scene = Callable[[Lab], AbstractAsyncContextManager[None]]


def missed(soak: bool) -> Measured:
    return asyncio.run(_play_all(3 if soak else 1))


def false_yields(soak: bool) -> Measured:
    return asyncio.run(_work_all(3 if soak else 1))


async def _play_all(rounds: int) -> Measured:
    missed_ones: list[str] = []
    seconds: dict[str, float] = {}
    async with Lab(_SETTINGS).running() as lab:
        assert await lab.until(State.SERVING, PATIENCE_S) is not None
        for name, game in list(GAMES.items()) * rounds:
            async with game(lab):
                took_s = await lab.until(State.YIELDED, PATIENCE_S)
                reason = lab.decisions[-1].reason
            if took_s is None:
                missed_ones.append(name)
            else:
                seconds[f"{name} ({reason})"] = round(took_s, 2)
            if await lab.until(State.SERVING, PATIENCE_S) is None:
                missed_ones.append(f"{name}: its end")
        detail = {"starts": len(GAMES) * rounds, "missed": missed_ones, "seconds": seconds, "probes": lab.probes}
    return Measured(len(missed_ones), detail)


async def _work_all(rounds: int) -> Measured:
    yields: dict[str, str] = {}
    async with Lab(_SETTINGS).running() as lab:
        assert await lab.until(State.SERVING, PATIENCE_S) is not None
        for name, scene in list(DAY.items()) * rounds:
            before = len(lab.decisions)
            async with scene(lab):
                await asyncio.sleep(SCENE_S)
            wrong = [item for item in lab.decisions[before:] if item.state is not State.SERVING]
            if wrong:
                yields[name] = str(wrong[0].text)
                assert await lab.until(State.SERVING, PATIENCE_S) is not None
        detail = {"scenes": list(DAY), "yields": yields, "probes": lab.probes}
    return Measured(len(yields), detail)


# --- building blocks -------------------------------------------------------------------------------------------------


def program(*arguments: str, is_busy: bool = False) -> Scene:
    """A chain of programs; each that stands before a path with `--` runs it below itself."""

    @asynccontextmanager
    async def scene(lab: Lab) -> AsyncIterator[None]:
        named = [lab.programs.named(item[1:]) if item.startswith("@") else item for item in arguments]
        with lab.programs.running(*named, is_busy=is_busy):
            yield

    return scene


def on_screen(*options: str, name: str = "MyGame") -> Scene:
    @asynccontextmanager
    async def scene(lab: Lab) -> AsyncIterator[None]:
        with ended(await asyncio.to_thread(window, lab.screen, *options, name=name)):
            yield

    return scene


def uses_gpu(name: str, percent: int, *, then: int | None = None, kind: str = "graphics") -> Scene:
    """A program that uses this much of the NVIDIA GPU; `then`: after the first look."""

    @asynccontextmanager
    async def scene(lab: Lab) -> AsyncIterator[None]:
        with lab.programs.running(lab.programs.named(name)) as pid:
            lab.driver.say(*IDLE_GPU, f"{kind} 0 {pid}", f"use 0 {pid} {percent}")
            if then is not None:
                await asyncio.sleep(2.0)
                lab.driver.say(*IDLE_GPU, f"{kind} 0 {pid}", f"use 0 {pid} {then}")
            yield
            lab.driver.say(*IDLE_GPU)

    return scene


def uses_drm(name: str, share: float) -> Scene:
    """A program that uses this share of the graphics engine of a GPU with a DRM driver."""

    @asynccontextmanager
    async def scene(lab: Lab) -> AsyncIterator[None]:
        lab.made.add(500, name, f"/opt/{name}")
        began = time.monotonic()

        async def count() -> None:
            while True:
                busy_ns = round((time.monotonic() - began) * share * 1e9)
                lab.made.open_gpu(500, 7, 1, engine_gfx=f"{busy_ns} ns")
                await asyncio.sleep(0.05)

        counting = asyncio.create_task(count())
        try:
            yield
        finally:
            counting.cancel()
            await asyncio.gather(counting, return_exceptions=True)
            lab.made.remove(500)

    return scene


def takes_vram(used_bytes: int) -> Scene:
    @asynccontextmanager
    async def scene(lab: Lab) -> AsyncIterator[None]:
        lab.driver.say(IDLE_GPU[0], f"memory 0 {16 * GIB} {used_bytes}")
        yield
        lab.driver.say(*IDLE_GPU)

    return scene


def together(*scenes: Scene) -> Scene:
    @asynccontextmanager
    async def scene(lab: Lab) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for one in scenes:
                await stack.enter_async_context(one(lab))
            yield

    return scene


def _start(
    *command: str, executable: str | None = None, environment: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, executable=executable, env=environment, stdout=subprocess.DEVNULL)


@asynccontextmanager
async def gamemode(lab: Lab) -> AsyncIterator[None]:
    with lab.programs.running(lab.programs.named("supertux2")) as pid:
        await asyncio.to_thread(ask_gamemode, lab.screen, "RegisterGame", pid)
        yield
        await asyncio.to_thread(ask_gamemode, lab.screen, "UnregisterGame", pid)


@asynccontextmanager
async def late_exec(lab: Lab) -> AsyncIterator[None]:
    """A launcher's script that waits, and becomes the game without starting anything."""
    with ended(_start("bash", "-c", f"sleep 3; exec {lab.programs.named('my-listed-game')}")):
        yield


@asynccontextmanager
async def python_game(lab: Lab) -> AsyncIterator[None]:
    with ended(_start(sys.executable, lab.programs.script("listed-game.py"))):
        yield


@asynccontextmanager
async def full_screen_with_some_gpu(lab: Lab) -> AsyncIterator[None]:
    """Two weak signs of one program."""
    process = await asyncio.to_thread(window, lab.screen, "full")
    with ended(process):
        lab.driver.say(*IDLE_GPU, f"graphics 0 {process.pid}", f"use 0 {process.pid} 15")
        yield
        lab.driver.say(*IDLE_GPU)


@asynccontextmanager
async def wine_full_screen(lab: Lab) -> AsyncIterator[None]:
    """A program under plain Wine that fills the screen: two weak signs."""
    environment = lab.screen.environment | {"PYTHONPATH": sysconfig.get_path("purelib")}
    command = ["Z:\\games\\Braid.exe", str(WINDOW), "Braid", "full"]
    with ended(_start(*command, executable=sys.executable, environment=environment)):
        yield


@asynccontextmanager
async def another_user(lab: Lab) -> AsyncIterator[None]:
    lab.logind.login("c1", Login(active=False))
    await lab.logind.change("c2", Login(uid=os.getuid() + 1, user="anna"))
    yield
    lab.logind.login("c1", Login())
    await lab.logind.change("c2", Login(uid=os.getuid() + 1, user="anna", active=False))


@asynccontextmanager
async def windows_tray(lab: Lab) -> AsyncIterator[None]:
    """An agent outside of this system reports, and takes it back."""
    game = Sighting(Reason.GAME, "Forza", app="forza.exe")
    lab.agents.tell("windows tray", game, lifetime_s=60)
    yield
    lab.agents.tell("windows tray", game, lifetime_s=0)


@asynccontextmanager
async def flashes(lab: Lab) -> AsyncIterator[None]:
    """Full-screen programs that are left before a second look."""
    for _ in range(2):
        async with on_screen("full", "busy", name="somewhat")(lab):
            await asyncio.sleep(0.3)
    yield


REAPER = ("@reaper", "SteamLaunch", "AppId=504230", "--")
PROTON = ("@steamapps/common/Proton 9.0/proton", "waitforexitandrun", "--")
GAMES: dict[str, Scene] = {
    "GameMode": gamemode,
    "Steam, native": program(*REAPER, "@steamapps/common/Celeste/Celeste"),
    "Steam, Proton": program(*REAPER, *PROTON, "@steamapps/common/Hades II/Hades2.exe"),
    "Steam in Flatpak": program("@bwrap", "--args", "42", "--", *REAPER, "@steamapps/common/Celeste/Celeste"),
    "umu": program("@umu-run", "--", "@pv-adverb", "--", "@Z:\\games\\Celeste.exe"),
    "Lutris": program("@lutris-wrapper", "Overwatch", "--", "@C:\\games\\Overwatch.exe"),
    "Heroic": program("@legendary", "launch", "--", "@C:\\games\\RocketLeague.exe"),
    "gamescope": program("@gamescope", "-W", "1920", "-f", "--", "@supertux2"),
    "listed program": program("@my-listed-game", "--fullscreen"),
    "listed script": python_game,
    "listed program that a script becomes": late_exec,
    "full-screen window": on_screen("full", "busy"),
    "borderless window": on_screen("borderless", "busy"),
    "full-screen window with some use of the GPU": full_screen_with_some_gpu,
    "plain Wine, full-screen": wine_full_screen,
    "busy NVIDIA GPU": uses_gpu("unknown-game", 60),
    "busy GPU of another maker": uses_drm("unknown-game", 0.6),
    "memory of the GPU": takes_vram(int(15.5 * GIB)),
    "another user at the screen": another_user,
    "a tray on Windows": windows_tray,
}
DAY: dict[str, Scene] = {
    "full-screen film": together(on_screen("full", "busy", name="mpv"), uses_gpu("mpv", 40)),
    "full-screen film in a browser": together(on_screen("full", "busy", name="firefox"), uses_gpu("firefox", 60)),
    "unknown player, full-screen": on_screen("full", name="myplayer"),
    "compositor": uses_gpu("kwin_wayland", 80),
    "compositor on another GPU": uses_drm("gnome-shell", 0.8),
    "idle launchers": together(
        program("@steam", "-silent"),
        program("@steamwebhelper", "--type=gpu"),
        program("@lutris"),
        program("@pv-adverb", "--", "@C:\\Epic\\EpicGamesLauncher.exe"),
    ),
    "services of Wine": program("@pv-adverb", "--", "@C:\\windows\\system32\\services.exe"),
    "Windows office program": program("@C:\\Office\\WINWORD.EXE"),
    "shaders being compiled": together(
        program("@fossilize_replay", "/steam/shadercache/504230/x.foz", is_busy=True), uses_gpu("fossilize_replay", 50)
    ),
    "a short use of the GPU": uses_gpu("photo-editor", 90, then=0),
    "a program with a little use": uses_gpu("music-visualizer", 8),
    "busy window that is small": on_screen("small", "busy"),
    "windows that flash by": flashes,
    "screen saver": on_screen("full", "busy", name="xscreensaver"),
    "looking for Steam's processes": program("@pgrep", "-f", "reaper SteamLaunch AppId=504230"),
    "an editor with a list of games": program("@vim", "-R", "my-listed-game", "Celeste.exe"),
    "memory above the reserve": takes_vram(13 * GIB),
}
