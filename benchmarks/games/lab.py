"""A desktop on which scripted people play and work, watched by the real probes and judged by the real policy.

Everything that probes look at is there for real: an X server with a window manager, gamemoded, services on private
buses, processes, a driver library under nvidia-ml-py. Two things are made: the counters of a DRM GPU, which no test
machine has, in a folder like /proc; and the engine, which here obeys at once, because only decisions are judged.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from potluck_control.settings import Settings
from potluck_control.states import State
from potluck_daemon.policy.decide import decide
from potluck_daemon.policy.model import Decision, EngineOrder, EngineView, Inputs, Phase
from potluck_daemon.presence.agents import AgentReports
from potluck_daemon.presence.gpu_use import GpuUseProbe
from potluck_daemon.presence.lookout import probes_for
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import Probe, Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.watch import Watch

from benchmarks.figures import Measured
from benchmarks.games.situations import GAMES, WORK, write_menu
from benchmarks.games.stand_in import StandIns, stand_ins
from potluck.sentences import sentence
from tests.helpers.bus_services import Login, Logind
from tests.helpers.desktop import Desktop, desktop, ended
from tests.helpers.games import gamemoded, window
from tests.helpers.made_processes import MadeProcesses
from tests.helpers.nvml_stub import Driver, nvidia_driver

GPU = "0000:01:00.0"
GIB = 1 << 30
IDLE_GPU = ("gpu 0 NVIDIA A", f"memory 0 {16 * GIB} {8 * GIB}")
PATIENCE_S = 15.0
SCENE_S = 5.0
_AFTER = {
    EngineOrder.PREPARE: Phase.PREPARING,
    EngineOrder.START: Phase.ONLINE,
    EngineOrder.RESTORE: Phase.ONLINE,
    EngineOrder.OFFLOAD: Phase.OFFLOADED,
    EngineOrder.STOP: Phase.ENDED,
}


class Lab:
    """`running()` makes one. `decisions` grows by each change of state or reason."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine = EngineView(Phase.ENDED, gpu=GPU)
        self._changed = asyncio.Event()
        self._watch: Watch
        self.decisions: list[Decision] = []
        self.agents = AgentReports()
        self.screen: Desktop
        self.driver: Driver
        self.logind: Logind
        self.programs: StandIns
        self.made: MadeProcesses

    @property
    def state(self) -> State | None:
        return self.decisions[-1].state if self.decisions else None

    @property
    def probes(self) -> dict[str, str]:
        return {str(status.name): status.state for status in self._watch.statuses()}

    async def until(self, state: State, within_s: float) -> float | None:
        """Seconds until this state was reached; None if it was not."""
        began = time.monotonic()
        while self.state is not state:
            left_s = began + within_s - time.monotonic()
            if left_s <= 0:
                return None
            await asyncio.sleep(min(left_s, 0.02))
        return time.monotonic() - began

    async def show_window(self, stack: AsyncExitStack, path: str, name: str, *options: str) -> int:
        """Show a window whose program goes by `path`, for as long as the stack lasts; return its process id."""
        shown = await asyncio.to_thread(window, self.screen, *options, name=name, path=path)
        return stack.enter_context(ended(shown)).pid

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Lab]:
        async with AsyncExitStack() as stack:
            self.screen = stack.enter_context(desktop(window_manager=True))
            stack.enter_context(gamemoded(self.screen))
            self.driver = stack.enter_context(nvidia_driver())
            self.driver.load_here()
            self.driver.say(*IDLE_GPU)
            self.programs = stack.enter_context(stand_ins())
            self.logind = Logind(self.screen.bus_address)
            self.logind.login("c1", Login())
            await stack.enter_async_context(self.logind)
            self.made = MadeProcesses(Path(stack.enter_context(tempfile.TemporaryDirectory())))
            (self.made.sys / "class/drm/renderD128").mkdir(parents=True)
            menu = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            write_menu(menu, *(scene.menu for scene in (*GAMES, *WORK)))
            self._menu = {"XDG_DATA_HOME": str(menu)}
            self._watch = self._new_watch()
            self._watch.situation.engine_gpu = GPU
            deciding = asyncio.create_task(self._decide())
            try:
                yield self
            finally:
                deciding.cancel()
                await asyncio.gather(deciding, return_exceptions=True)
                await self._watch.close()
                self.logind.close_pipes()

    def _new_watch(self) -> Watch:
        buses = {"DBUS_SYSTEM_BUS_ADDRESS": self.screen.bus_address}
        nobody = 1 << 30  # the scripts are our children, and must count all the same
        at = Surroundings(environment=self.screen.environment | buses | self._menu, own_pid=nobody)
        reader = NvmlReader()  # one, because the stub of the driver is not made for two threads
        probes, off = probes_for(self._settings, at, self.agents, reader)
        given = self._settings.yield_
        made = self.made.surroundings
        drm = GpuUseProbe(made, ProcessTable(made), reader, busy_percent=given.busy_percent)
        drm.name = sentence("GPU use ({name})", name="DRM")
        here: list[Probe] = [*probes, *((drm,) if given.gpu_use else ())]
        return Watch(
            here,
            self._changed.set,
            likely_interval_s=given.likely_interval_s,
            never=given.never,
            switched_off=off,
        )

    async def _decide(self) -> None:
        """Decide in a loop, like the daemon, with an engine that needs no time."""
        self._watch.set_awake(True)
        while True:
            self._changed.clear()
            inputs = Inputs(self._settings, self._engine, self._watch.presence, is_settled=self._watch.is_settled)
            decision = decide(inputs, time.monotonic())
            if decision.order is not EngineOrder.NOTHING:
                self._engine = replace(self._engine, phase=_AFTER[decision.order])
                continue
            if not self.decisions or _shown(self.decisions[-1]) != _shown(decision):
                self.decisions.append(decision)
            try:
                async with asyncio.timeout(decision.wait_s):
                    await self._changed.wait()
            except TimeoutError:
                continue


Play = Callable[[Lab], AbstractAsyncContextManager[bool]]
"""What somebody does on the desktop, as long as the context lasts; False: it did not come about."""


async def found(settings: Settings, games: Sequence[tuple[str, Play]]) -> Measured:
    """Count the games that are not noticed, or not their end."""
    missed: list[str] = []
    seconds: dict[str, float] = {}
    async with Lab(settings).running() as lab:
        assert await lab.until(State.SERVING, PATIENCE_S) is not None
        for name, play in games:
            async with play(lab) as is_there:
                took_s = await lab.until(State.YIELDED, PATIENCE_S) if is_there else None
                reason = lab.decisions[-1].reason
            if took_s is None:
                missed.append(name)
            else:
                seconds[f"{name} ({reason})"] = round(took_s, 2)
            if await lab.until(State.SERVING, PATIENCE_S) is None:
                missed.append(f"{name}: its end")
        detail = {"games": len(games), "missed": missed, "yielded_s": seconds, "probes": lab.probes}
    return Measured(len(missed), detail)


async def left_alone(settings: Settings, works: Sequence[tuple[str, Play]]) -> Measured:
    """Count the programs that are taken for games."""
    yields: dict[str, str] = {}
    seen: list[str] = []
    async with Lab(settings).running() as lab:
        assert await lab.until(State.SERVING, PATIENCE_S) is not None
        for name, play in works:
            before = len(lab.decisions)
            async with play(lab) as is_there:
                if is_there:
                    seen.append(name)
                    await asyncio.sleep(SCENE_S)
            wrong = [item for item in lab.decisions[before:] if item.state is not State.SERVING]
            if wrong:
                yields[name] = str(wrong[0].text)
                assert await lab.until(State.SERVING, PATIENCE_S) is not None
        detail = {"programs": seen, "yields": yields, "probes": lab.probes}
    return Measured(len(yields), detail)


def _shown(decision: Decision) -> tuple[object, ...]:
    return decision.state, decision.reason, decision.text
