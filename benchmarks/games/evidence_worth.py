"""What each kind of evidence for a game is worth: `evidence_worth`.

Each situation passes once with everything on, and once more without each kind. A kind is worth something if a game is
found with it only, or if work is left alone with it only. The figure counts the kinds that are worth nothing; `detail`
has the table. What is no evidence of games (heat, power, battery, idle time) is left out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from unittest.mock import patch

from potluck_control.resources import resource
from potluck_daemon.presence import active_window, applications, games, gpu_use

from benchmarks.figures import Measured, figure
from benchmarks.games.made_computer import Switches, outcome
from benchmarks.games.recorded import recorded
from benchmarks.games.situations import GAMES, WORK, Process, Scene, Window

Change = Callable[[Scene], Scene]
Patch = Callable[[], AbstractContextManager[object]]
NUM_QUICK = 5
_GROUPS = tomllib.loads(resource("programs/not-games.toml").read_text())


@dataclass(frozen=True)
class Kind:
    """A kind of evidence, and how to do without it."""

    name: str
    switches: Switches = field(default_factory=Switches)
    change: Change = lambda scene: scene  # changes what there is to see
    patches: tuple[Patch, ...] = ()  # replace functions of the product


@figure("evidence_worth", unit="kinds", reach=0)
def worthless(soak: bool) -> Measured:
    """Kinds of evidence for a game that neither find one that others miss nor prevent a false alarm.

    Each kind is left out in turn, in 80 scripted situations and 10 recorded programs (all in soak).
    """
    real = recorded(None if soak else NUM_QUICK)
    scenes = [*GAMES, *WORK, *real]
    good = [scene for scene in (*scenes, *_unpacked(real)) if outcome(scene, Switches())]
    table = {kind.name: _worth(kind, good) for kind in KINDS}
    nothing = [name for name, row in table.items() if not row["finds"] and not row["prevents"]]
    bad = [scene.name for scene in scenes if scene not in good]
    detail = {"worth_nothing": nothing, "situations": len(scenes), "wrong_with_all": bad, "kinds": table}
    return Measured(len(nothing), detail, holds=not bad)


def _unpacked(real: Iterable[Scene]) -> Iterator[Scene]:
    """Yield the games as if they were unpacked from an archive: no menu has them, so some of them are missed."""
    for scene in real:
        if scene.is_game:
            yield replace(scene, name=f"{scene.name}, in no menu", has_own_menu=True)


def _worth(kind: Kind, scenes: Iterable[Scene]) -> dict[str, list[str]]:
    with ExitStack() as stack:
        for make in kind.patches:
            stack.enter_context(make())
        lost = [scene for scene in scenes if not outcome(kind.change(scene), kind.switches)]
    return {
        "finds": [scene.name for scene in lost if scene.is_game],
        "prevents": [scene.name for scene in lost if not scene.is_game],
    }


# --- ways to do without ----------------------------------------------------------------------------------------------


def _processes(change: Callable[[Process], Process]) -> Change:
    def changed(scene: Scene) -> Scene:
        moments = tuple(replace(item, processes=tuple(map(change, item.processes))) for item in scene.moments)
        return replace(scene, moments=moments)

    return changed


def _without_variables(*names: str) -> Change:
    def change(process: Process) -> Process:
        return replace(
            process, environment={key: process.environment[key] for key in process.environment if key not in names}
        )

    return _processes(change)


def _window(change: Callable[[Window], Window]) -> Change:
    def changed(scene: Scene) -> Scene:
        moments = (replace(item, window=change(item.window)) if item.window else item for item in scene.moments)
        return replace(scene, moments=tuple(moments))

    return changed


def _without_hint(window: Window) -> Window:
    return replace(window, wants_no_compositor=False)


def _without_place(window: Window) -> Window:
    return replace(window, is_full_screen=window.is_full_screen and not window.is_borderless)


def _without_wine(process: Process) -> Process:
    """Return something else for a Windows program that no launcher started."""
    is_alone = process.arguments[:1] and process.arguments[0].lower().endswith(".exe") and not process.environment
    return replace(process, comm="other", arguments=("/opt/other",)) if is_alone else process


def _of(target: object, name: str, value: object) -> Patch:
    return partial(patch.object, target, name, value)


def _without_menu(*, is_game: bool) -> Change:
    """Leave out the desktop's menu where somebody plays, or works."""
    return lambda scene: replace(scene, menu={}, has_own_menu=True) if scene.is_game is is_game else scene


def _list_without(group: str) -> tuple[Patch, ...]:
    names = frozenset(name for key, value in _GROUPS.items() if key != group for name in value["programs"])
    return tuple(_of(module, "not_games", lambda: names) for module in (applications, active_window))


def _probe(name: str) -> Kind:
    return Kind(f"probe: {name}", switches=Switches(probes=frozenset({name})))


KINDS = (
    _probe("GameMode"),
    _probe("Listed programs"),
    _probe("Steam"),
    _probe("Launchers and Wine"),
    _probe("gamescope"),
    _probe("Windows of X11"),
    _probe("Windows of Wayland"),
    _probe("Applications"),
    _probe("Session"),
    _probe("GPU memory"),
    _probe("Memory"),
    _probe("User switch"),
    _probe("Agents"),
    Kind("GPU use: NVIDIA", change=_processes(lambda process: replace(process, nvidia_percent=0.0))),
    Kind("GPU use: DRM", change=_processes(lambda process: replace(process, drm_percent=0.0))),
    Kind("GPU use: a little is a weak sign", patches=(_of(gpu_use, "WEAK_SHARE", 1.0),)),
    Kind("gamescope: no session", patches=(_of(games, "_GAMESCOPE_SESSION_OPTIONS", frozenset()),)),
    Kind("launchers: HEROIC_APP_NAME", change=_without_variables("HEROIC_APP_NAME")),
    Kind("launchers: LUTRIS_GAME_UUID", change=_without_variables("LUTRIS_GAME_UUID")),
    Kind("launchers: STEAM_COMPAT_DATA_PATH", change=_without_variables("STEAM_COMPAT_DATA_PATH")),
    Kind(
        "launchers: bottle.yml",
        patches=(_of(games, "_is_bottle_of_games", lambda _: False),),
    ),
    Kind("launchers: what bottle.yml says", patches=(_of(games, "_FOR_GAMES", re.compile(b"")),)),
    Kind("launchers: Minecraft", patches=(_of(games, "_is_minecraft", lambda _: False),)),
    Kind("launchers: Wine alone is a weak sign", change=_processes(_without_wine)),
    Kind("launchers: names of helpers", patches=(_of(games, "_NO_NATIVE_GAMES", frozenset()),)),
    Kind("windows: a game by the menu", change=_without_menu(is_game=True)),
    Kind("windows: no game by the menu", change=_without_menu(is_game=False)),
    Kind(
        "windows: the menu by control group",
        patches=(_of(active_window, "app_of_process", lambda *_: ""),),
    ),
    Kind("windows: the hint to the compositor", change=_window(_without_hint)),
    Kind("windows: the place of the screen", change=_window(_without_place)),
    Kind(
        "windows: an open controller",
        change=_processes(lambda process: replace(process, has_pad=False)),
    ),
    Kind(
        "windows: busy",
        patches=(_of(active_window.WindowObserver, "_busy", lambda *_: (0.0, 0.0)),),
    ),
    Kind("windows: games of the menu in a window", patches=(_of(active_window, "WEAK_SHARE", 1e9),)),
    Kind("windows: a game that was left goes on", patches=(_of(active_window, "HOLD_S", 0.0),)),
    Kind("windows: for ten minutes only", patches=(_of(active_window, "HOLD_S", 1e9),)),
    Kind("windows: quiet looks before it is confirmed", patches=(_of(active_window, "_QUIET_LOOKS", 0.5),)),
    Kind("menu: what a script executes", patches=(_of(applications, "_SUFFIXES", ()),)),
    Kind("menu: entries that only start others", patches=(_of(applications, "_RUNNERS", frozenset()),)),
    Kind("tracking: a weak sign alone does not count", switches=Switches(counts_weak=True)),
    Kind("tracking: a likely sign counts when seen again", switches=Switches(counts_first_look=True)),
    Kind("tracking: two probes share a weak sign", switches=Switches(shares_weak=False)),
    Kind("the question to the user", switches=Switches(asks=False)),
    *(Kind(f"list of other programs: {group}", patches=_list_without(group)) for group in _GROUPS),
)
