"""A made computer on which a situation passes in no time, before the real judgements of presence.

The kernel's files are written to a folder, the clock is moved by hand, and one look a second is taken by each judge.
What a bus or a driver would tell (GameMode, the memory of a GPU, another user, an agent) is given as it is.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from potluck_control.settings import Settings, YieldSettings
from potluck_control.states import Certainty
from potluck_daemon.policy.decide import decide
from potluck_daemon.policy.model import EngineView, Inputs, Phase, Rung
from potluck_daemon.policy.questions import next_questions
from potluck_daemon.presence.active_window import ActiveWindow, WindowObserver, game_groups
from potluck_daemon.presence.games import (
    Judge,
    ProgramsProbe,
    gamescope_game,
    launched_game,
    listed_program,
    steam_game,
)
from potluck_daemon.presence.gpu_use import GpuUseProbe
from potluck_daemon.presence.nvml import NvidiaGpu, NvmlReader
from potluck_daemon.presence.probe import ProbeUnavailableError, Reading, Sighting, Situation, Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.tracking import Track, observe
from potluck_daemon.presence.wayland import process_of

from benchmarks.games.situations import SWAY, X11, Moment, Process, Scene, write_menu
from potluck.sentences import verbatim
from tests.helpers.made_processes import OWN_PID, Clock, MadeProcesses

T = TypeVar("T")
FIRST_PID = 1000
_BUSY_PERCENT = 25.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_NVIDIA = "0000:01:00.0"
_PAD = "/dev/input/event7"


_JUDGES: dict[str, Judge] = {
    "Listed programs": listed_program(()),
    "Steam": steam_game,
    "Launchers and Wine": launched_game,
    "gamescope": gamescope_game,
}


class _Gpu(NvmlReader):
    """A reader that is told what a driver would say."""

    use_percent: Mapping[int, float] = {}

    async def gpus(self) -> tuple[NvidiaGpu, ...]:
        return (NvidiaGpu(_NVIDIA, "NVIDIA", use_percent=self.use_percent),)


@dataclass(frozen=True)
class Switches:
    """What is left out, for kinds of evidence that no change of a scene or of a function leaves out."""

    probes: frozenset[str] = frozenset()
    counts_weak: bool = False
    counts_first_look: bool = False
    shares_weak: bool = True
    asks: bool = True


class World:
    """A computer on which a scene passes."""

    def __init__(self, scene: Scene, folder: Path, switches: Switches) -> None:
        self._scene, self._switches = scene, switches
        self._made = MadeProcesses(folder)
        self._clock = Clock()
        self._used = dict[int, float]()
        self._lines = dict[int, Process]()
        self._write_desktop(folder)
        shared = str(folder / "none") if scene.has_own_menu else "/usr/share"
        environment = {"XDG_DATA_HOME": str(folder), "XDG_DATA_DIRS": shared, "HOME": str(folder)}
        at = Surroundings(self._made.proc, self._made.sys, environment, OWN_PID)
        self._table = ProcessTable(at, self._clock)
        looks = partial(WindowObserver, at, self._table, busy_percent=_BUSY_PERCENT, interval_s=1.0, clock=self._clock)
        self._x11_looks, self._sway_looks, self._group_looks = looks(), looks(), looks()
        self._at = at
        self._busiest: Reading[ActiveWindow | None] | None = None
        self._gpu = _Gpu()
        self._gpu_use = GpuUseProbe(at, self._table, self._gpu, busy_percent=_BUSY_PERCENT, clock=self._clock)
        self._programs: dict[str, ProgramsProbe] = {}
        self._list(scene.listed)
        self._track = Track()

    def play(self) -> tuple[bool, ...]:
        """Return whether the policy gives way, look by look."""
        found = []
        second = 0
        for moment in self._scene.moments:
            for _ in range(moment.looks):
                self._pass_second(moment)
                for name, seen in self._reports(moment, second):
                    if name not in self._switches.probes:
                        self._observe(name, seen)
                found.append(self._gives_way())
                second += 1
        return tuple(found)

    def _observe(self, name: str, seen: tuple[Sighting, ...]) -> None:
        self._track = observe(self._track, verbatim(name), self._weighed(seen), self._clock.now, likely_interval_s=1.0)

    def _weighed(self, seen: tuple[Sighting, ...]) -> tuple[Sighting, ...]:
        """Return the sightings as they are, or as a tracking without one of its rules would take them."""
        weighed = []
        for item in seen:
            certainty, app = item.certainty, item.app
            if certainty is Certainty.WEAK and self._switches.counts_weak and not item.is_unsure:
                certainty = Certainty.LIKELY
            if certainty is Certainty.LIKELY and self._switches.counts_first_look:
                certainty = Certainty.CERTAIN
            if certainty is Certainty.WEAK and not self._switches.shares_weak:
                app = ""
            weighed.append(replace(item, certainty=certainty, app=app))
        return tuple(weighed)

    def _gives_way(self) -> bool:
        engine = EngineView(Phase.ONLINE, gpu=_NVIDIA)
        given = Settings(yield_=YieldSettings(quiet_certain_s=0.0, quiet_likely_s=0.0))
        decision = decide(Inputs(given, engine, self._track.presence, is_settled=True), self._clock.now)
        if self._scene.says_yes and self._switches.asks:
            asked = next_questions((), decision, (), self._track.presence.unsure)
            if asked:
                self._list(tuple(question.app for question in asked))
        return decision.rung in (Rung.OFFLOADED, Rung.ENDED)

    def _reports(self, moment: Moment, second: int) -> Iterator[tuple[str, tuple[Sighting, ...]]]:
        for name in ("GameMode", "GPU memory", "Memory", "User switch", "Agents"):
            yield name, tuple(sighting for probe, sighting in moment.told if probe == name)
        for name in _JUDGES:
            yield name, _done(self._programs[name].poll(Situation()))
        yield "Windows of X11", self._x11_looks.observe(self._window(moment, X11))
        yield "Windows of Wayland", self._sway_looks.observe(self._window(moment, SWAY))
        yield "Applications", self._group_looks.observe(self._busiest_game())
        if second % 2 == 0:
            self._gpu.use_percent = {
                FIRST_PID + number: process.nvidia_percent
                for number, process in enumerate(moment.processes)
                if process.nvidia_percent
            }
            yield "GPU use", _done(self._gpu_use.poll(Situation()))

    def _list(self, listed: tuple[str, ...]) -> None:
        """Begin with the user's list as it is now."""
        judges = _JUDGES | {"Listed programs": listed_program(listed)}
        self._programs = {name: ProgramsProbe(self._table, (judge,)) for name, judge in judges.items()}

    def _window(self, moment: Moment, told_by: str) -> ActiveWindow | None:
        is_seen = not (self._scene.is_before_desktop and "Session" in self._switches.probes)
        if moment.window is None or self._scene.desktop != told_by or not is_seen:
            return None
        window = moment.window
        if told_by == SWAY:
            return ActiveWindow(process_of(self._table, window.name), window.name, window.is_full_screen)
        pid = FIRST_PID + window.of
        return ActiveWindow(pid, window.name, window.is_full_screen, window.wants_no_compositor)

    def _busiest_game(self) -> ActiveWindow | None:
        if self._busiest is None:
            self._groups = game_groups(self._at)  # kept, because it ends with what nobody holds
            with suppress(ProbeUnavailableError):
                self._busiest = _done(self._groups.__aenter__())
        return _done(self._busiest()) if self._busiest is not None else None

    def _pass_second(self, moment: Moment) -> None:
        self._clock.now += moment.seconds_a_look
        now = {FIRST_PID + number: process for number, process in enumerate(moment.processes)}
        for pid in self._lines.keys() - now.keys():
            self._made.remove(pid)
        for pid, process in now.items():
            self._used[pid] = self._used.get(pid, 0.0) + process.percent / 100 * moment.seconds_a_look
            ticks = round(self._used[pid] * _TICKS_PER_S)
            if pid in self._lines and self._lines[pid].arguments == process.arguments:
                self._made.use(pid, ticks)
            else:
                self._write(pid, process, ticks)
            if process.drm_percent:
                busy_ns = round(self._clock.now * process.drm_percent * 1e7)
                self._made.open_gpu(pid, 9, pid, engine_gfx=f"{busy_ns} ns")
            if process.group:
                self._use_group(process.group, self._used[pid], pid)
        self._lines = now

    def _write(self, pid: int, process: Process, ticks: int) -> None:
        parent = FIRST_PID + process.parent if process.parent is not None else 1
        self._made.add(pid, process.comm[:15], *process.arguments, parent=parent, ticks=ticks)
        bottle = str(self._made.proc.parent / "bottle")
        variables = {name: value.replace("BOTTLE", bottle) for name, value in process.environment.items()}
        self._made.set_environment(pid, **variables)
        group = f"app.slice/app-desktop-{process.group}-7.scope" if process.group else "session-2.scope"
        (self._made.proc / str(pid) / "cgroup").write_text(f"0::/user.slice/{group}\n")
        if process.has_pad:
            (self._made.proc / str(pid) / "fd").mkdir(exist_ok=True)
            (self._made.proc / str(pid) / "fd" / "5").symlink_to(_PAD)

    def _use_group(self, app_id: str, used_s: float, pid: int) -> None:
        uid = os.getuid()
        slice_ = self._made.sys / f"fs/cgroup/user.slice/user-{uid}.slice/user@{uid}.service/app.slice"
        group = slice_ / f"app-desktop-{app_id}-7.scope"
        group.mkdir(parents=True, exist_ok=True)
        (group / "cgroup.procs").write_text(f"{pid}\n")
        (group / "cpu.stat").write_text(f"usage_usec {round(used_s * 1e6)}\n")

    def _write_desktop(self, folder: Path) -> None:
        write_menu(folder, self._scene.menu)
        (self._made.sys / "class/drm/renderD128").mkdir(parents=True)
        (self._made.sys / f"class/input/js0/device/{Path(_PAD).name}").mkdir(parents=True)
        if self._scene.bottle:
            (folder / "bottle").mkdir()
            (folder / "bottle" / "bottle.yml").write_text(f"Name: mine\nEnvironment: {self._scene.bottle}\n")


def _done(coroutine: Awaitable[T]) -> T:
    """Return the result of a coroutine that waits for nothing."""
    try:
        next(coroutine.__await__())
    except StopIteration as ended:
        result: T = ended.value
        return result
    raise RuntimeError("it waited")


def outcome(scene: Scene, switches: Switches) -> bool:
    """Return whether the scene went well: a game was found, or work was left alone."""
    with _folder() as folder:
        gave_way = World(scene, folder, switches).play()
    if scene.is_announced:
        return gave_way[0]
    if scene.is_game or scene.is_judged_at_its_end:
        return gave_way[-1] is scene.is_game
    return not any(gave_way)


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder in memory."""
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="evidence-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
