"""Situations played before the real probes: `missed_games` and `false_yields`.

They are those of `situations` that can be had here: processes that only bear the names, windows of an X server, and
what gamemoded, logind, the driver of a GPU and an agent say. What needs a control group, a controller, another desktop
or an exact share of a processor is left to `evidence_worth`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from potluck_control.settings import Settings, YieldSettings
from potluck_daemon.presence.gpu_use import INTERVAL_S
from potluck_daemon.presence.probe import Sighting

from benchmarks.figures import Measured, figure
from benchmarks.games.lab import GIB, IDLE_GPU, Lab, Play, found, left_alone
from benchmarks.games.situations import GAMES, SWAY, WORK, Moment, Process, Scene, Window
from tests.helpers.bus_services import Login
from tests.helpers.games import ask_gamemode

_LISTED = tuple(name for scene in GAMES for name in scene.listed)
_SETTINGS = Settings(
    yield_=YieldSettings(always=_LISTED, quiet_certain_s=0.1, quiet_likely_s=0.1, end_engine_after_s=600)
)
_BUSY_PERCENT = 50.0
_MADE_PID = 500
_AFTER_A_LOOK_S = 0.5


@figure("missed_games", unit="games", reach=0, shown=True)
def missed(soak: bool) -> Measured:
    """Of 26 ways to start a game, each before the real probes: games that are not noticed, or whose end is not."""
    return asyncio.run(found(_SETTINGS, _plays(GAMES) * (3 if soak else 1)))


@figure("false_yields", unit="yields", reach=0, shown=True)
def false_yields(soak: bool) -> Measured:
    """Of 31 kinds of work that come close (films, browsers, compositors, installers, ...): those taken for a game."""
    return asyncio.run(left_alone(_SETTINGS, _plays(WORK) * (3 if soak else 1)))


def _plays(scenes: tuple[Scene, ...]) -> list[tuple[str, Play]]:
    return [(scene.name, _Live(scene).play) for scene in scenes if _can_be_had(scene)]


def _can_be_had(scene: Scene) -> bool:
    if scene.desktop == SWAY or scene.bottle or scene.is_before_desktop or scene.says_yes or len(scene.moments) > 4:
        return False
    processes = [process for moment in scene.moments for process in moment.processes]
    is_odd = any(process.group or process.has_pad for process in processes)
    windows = [(moment.window, moment.processes[moment.window.of]) for moment in scene.moments if moment.window]
    is_odd = is_odd or any(len(process.arguments) > 1 for _, process in windows)  # a script, which has two names
    is_odd = is_odd or any(not window.is_full_screen and process.percent < _BUSY_PERCENT for window, process in windows)
    is_long = sum(moment.looks for moment in scene.moments) > 10
    return not (is_odd or is_long or any(probe not in _TOLD for moment in scene.moments for probe, _ in moment.told))


@dataclass(frozen=True)
class _Live:
    scene: Scene

    @asynccontextmanager
    async def play(self, lab: Lab) -> AsyncIterator[bool]:
        """Play the scene up to its last moment, which lasts as long as the context.

        It begins a while after a look of the slowest probe, so that a short moment is seen as often as the scene says.
        """
        *before, last = self.scene.moments
        await asyncio.sleep(INTERVAL_S - time.monotonic() % INTERVAL_S + _AFTER_A_LOOK_S)
        for moment in before:
            async with self._moment(lab, moment):
                await asyncio.sleep(moment.looks * moment.seconds_a_look)
        async with self._moment(lab, last):
            yield True

    @asynccontextmanager
    async def _moment(self, lab: Lab, moment: Moment) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            pids = []
            for number, process in enumerate(moment.processes):
                window = moment.window if moment.window is not None and moment.window.of == number else None
                pids.append(await self._start(lab, stack, process, window))
            uses = [(pid, process) for pid, process in zip(pids, moment.processes, strict=True)]
            nvidia = [(pid, process.nvidia_percent) for pid, process in uses if process.nvidia_percent]
            lab.driver.say(*IDLE_GPU, *(f"use 0 {pid} {percent:g}" for pid, percent in nvidia))
            stack.callback(lab.driver.say, *IDLE_GPU)
            for number, process in enumerate(moment.processes):
                if process.drm_percent:
                    await stack.enter_async_context(_use_of_drm(lab, _MADE_PID + number, process))
            for probe, sighting in moment.told:
                await stack.enter_async_context(_TOLD[probe](lab, sighting, pids))
            yield

    async def _start(self, lab: Lab, stack: AsyncExitStack, process: Process, window: Window | None) -> int:
        is_busy = process.percent >= _BUSY_PERCENT
        if window is None:
            return stack.enter_context(
                lab.programs.running(process.comm, *process.arguments, is_busy=is_busy, variables=process.environment)
            )
        form = "borderless" if window.is_borderless else "full" if window.is_full_screen else "small"
        options = [form, *(["bypass"] if window.wants_no_compositor else []), *(["busy"] if is_busy else [])]
        return await lab.show_window(stack, process.arguments[0], window.name, *options)


@asynccontextmanager
async def _use_of_drm(lab: Lab, pid: int, process: Process) -> AsyncIterator[None]:
    """A program that uses a GPU, in the folder like /proc that the probe of DRM looks at."""
    lab.made.add(pid, process.comm, *process.arguments)
    began = time.monotonic()

    async def count() -> None:
        while True:
            busy_ns = round((time.monotonic() - began) * process.drm_percent * 1e7)
            lab.made.open_gpu(pid, 7, 1, engine_gfx=f"{busy_ns} ns")
            await asyncio.sleep(0.05)

    counting = asyncio.create_task(count())
    try:
        yield
    finally:
        counting.cancel()
        await asyncio.gather(counting, return_exceptions=True)
        lab.made.remove(pid)


@asynccontextmanager
async def _gamemode(lab: Lab, _: Sighting, pids: list[int]) -> AsyncIterator[None]:
    await asyncio.to_thread(ask_gamemode, lab.screen, "RegisterGame", pids[0])
    yield
    await asyncio.to_thread(ask_gamemode, lab.screen, "UnregisterGame", pids[0])


@asynccontextmanager
async def _full_memory(lab: Lab, _: Sighting, __: list[int]) -> AsyncIterator[None]:
    lab.driver.say(IDLE_GPU[0], f"memory 0 {16 * GIB} {int(15.5 * GIB)}")
    yield


@asynccontextmanager
async def _another_user(lab: Lab, _: Sighting, __: list[int]) -> AsyncIterator[None]:
    other = os.getuid() + 1
    lab.logind.login("c1", Login(active=False))
    await lab.logind.change("c2", Login(uid=other, user="anna"))
    yield
    lab.logind.login("c1", Login())
    await lab.logind.change("c2", Login(uid=other, user="anna", active=False))


@asynccontextmanager
async def _agent(lab: Lab, sighting: Sighting, _: list[int]) -> AsyncIterator[None]:
    lab.agents.add("windows tray", sighting, lifetime_s=60)
    yield
    lab.agents.add("windows tray", sighting, lifetime_s=0)


_TOLD = {"GameMode": _gamemode, "GPU memory": _full_memory, "User switch": _another_user, "Agents": _agent}
