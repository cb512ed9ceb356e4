"""The tray app beside a running daemon and a real tray host: `app_start`, `app_memory`, `app_cpu`, `app_cpu_hidden`."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from potluck_app.pages.catalogue import SIDEBAR
from potluck_control import schema
from potluck_control.states import State

from benchmarks.figures import Measured
from benchmarks.machine import pss_bytes
from benchmarks.paused import cpu_seconds
from tests.helpers.asking import somebody_asking
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.desktop import Desktop, desktop, ended
from tests.helpers.tray_host import TrayHost, TrayItem

_SETTLE_S = 5.0
_PAGE_S = 3.0
_CALM_S = 65.0  # in its first minute it looks for a tray host every second


def start(soak: bool) -> Measured:
    return asyncio.run(_start(20 if soak else 5))


def memory(soak: bool) -> Measured:
    return asyncio.run(_memory())


def cpu_shown(soak: bool) -> Measured:
    return asyncio.run(_cpu(600.0 if soak else 60.0, is_shown=True))


def cpu_hidden(soak: bool) -> Measured:
    return asyncio.run(_cpu(600.0 if soak else 100.0, is_shown=False))


async def _start(rounds: int) -> Measured:
    """Median; a first start that reads the files from the disk is not counted."""
    with desktop(window_manager=True) as screen, DaemonProcess(LOOPBACK, environment=screen.environment) as daemon:
        times_s = []
        for _ in range(rounds + 1):
            async with _tray(screen.bus_address) as tray, _app(daemon, tray) as (_, _, seconds):
                times_s.append(seconds)
    all_s = [round(value, 3) for value in times_s[1:]]
    return Measured(statistics.median(times_s[1:]), {"all_s": all_s, "first_s": round(times_s[0], 3)})


async def _memory() -> Measured:
    """In the tray as it is most of the time, then with every page opened once."""
    async with _serving() as (screen, pid, item):
        detail = {"tray_mb": round(pss_bytes(pid) / 1e6, 1)}
        await item.activate()
        await asyncio.sleep(_SETTLE_S)
        detail["home_mb"] = round(pss_bytes(pid) / 1e6, 1)
        for number, entry in enumerate(SIDEBAR, start=1):
            await asyncio.to_thread(_press, screen, f"ctrl+{number}")
            await asyncio.sleep(_PAGE_S)
            detail[f"{entry.key}_mb"] = round(pss_bytes(pid) / 1e6, 1)
    return Measured(detail[f"{SIDEBAR[-1].key}_mb"], detail)


async def _cpu(seconds: float, *, is_shown: bool) -> Measured:
    """Share of a core, while somebody generates, so that the numbers change all the time."""
    async with _serving() as (_, pid, item):
        if is_shown:
            await item.activate()
        await asyncio.sleep(_SETTLE_S if is_shown else _CALM_S)
        used, began = cpu_seconds(pid), time.monotonic()
        await asyncio.sleep(seconds)
        percent = 100 * (cpu_seconds(pid) - used) / (time.monotonic() - began)
    return Measured(percent, {"over_s": seconds})


@asynccontextmanager
async def _serving() -> AsyncIterator[tuple[Desktop, int, TrayItem]]:
    """The app in the tray beside a daemon that serves somebody; yields its process and its icon."""
    with desktop(window_manager=True) as screen, DaemonProcess(LOOPBACK, environment=screen.environment) as daemon:
        daemon.client.call(schema.CREATE)
        daemon.wait_state(State.SERVING)
        with somebody_asking(daemon.client.call(schema.INVITE).invite):
            async with _tray(screen.bus_address) as tray, _app(daemon, tray) as (pid, item, _):
                await item.wait_tooltip("serving")
                await asyncio.sleep(_SETTLE_S)
                yield screen, pid, item


def _press(screen: Desktop, key: str) -> None:
    find = ["xdotool", "search", "--sync", "--onlyvisible", "--name", "^Potluck$"]
    command = [*find, "windowactivate", "--sync", "key", key]
    subprocess.run(command, env=screen.environment, check=True, stderr=subprocess.DEVNULL)


@asynccontextmanager
async def _tray(bus_address: str) -> AsyncIterator[TrayHost]:
    tray = TrayHost(bus_address)
    await tray.start()
    try:
        yield tray
    finally:
        await tray.leave()


@asynccontextmanager
async def _app(daemon: DaemonProcess, tray: TrayHost) -> AsyncIterator[tuple[int, TrayItem, float]]:
    """Its process id, its icon, and the seconds until the icon was there."""
    began = time.monotonic()
    with ended(_process(daemon)) as process:
        item = await tray.item()
        yield process.pid, item, time.monotonic() - began


def _process(daemon: DaemonProcess) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "potluck_app", "--hidden"], env=daemon.environment)
