"""The tray app beside a running daemon and a real tray host.

`app_start`, `app_memory`, `app_cpu`, `app_cpu_hidden` and `app_sees_hang`.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from potluck_app.pages.catalogue import SIDEBAR
from potluck_control import schema
from potluck_control.states import State

from benchmarks.busy import busy_processes
from benchmarks.figures import Measured
from benchmarks.machine import pss_bytes
from benchmarks.paused import cpu_seconds
from tests.helpers.asking import somebody_asking
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.desktop import Desktop, desktop, ended
from tests.helpers.tray_host import TrayHost, TrayItem

_SETTLE_S = 5.0
_PAGE_S = 3.0
_HUNG = "Potluck stopped responding"
_LOAD = 15  # of the machine, under which there must be no false alarm
_ALARM_POLL_S = 0.2  # an alarm stays for at least half a second
_CALM_S = 65.0  # in its first minute it looks for a tray host every second


def start(soak: bool) -> Measured:
    return asyncio.run(_start(20 if soak else 5))


def memory(soak: bool) -> Measured:
    return asyncio.run(_memory())


def cpu_shown(soak: bool) -> Measured:
    return asyncio.run(_cpu(600.0 if soak else 60.0, is_shown=True))


def cpu_hidden(soak: bool) -> Measured:
    return asyncio.run(_cpu(600.0 if soak else 100.0, is_shown=False))


def sees_hang(soak: bool) -> Measured:
    return asyncio.run(_sees_hang(rounds=20 if soak else 5, busy_s=3600.0 if soak else 60.0))


async def _sees_hang(rounds: int, busy_s: float) -> Measured:
    """Return the longest time from stopping the daemon until the tray says so.

    Alarms while daemon and app run beside as many busy processes as make a load of 15 are in `detail`, and break the
    figure.
    """
    shown_s, back_s = [], []
    with desktop(window_manager=True) as screen, DaemonProcess(LOOPBACK, environment=screen.environment) as daemon:
        async with _tray(screen.bus_address) as tray, _app(daemon, tray) as (_, item, _):
            await item.wait_tooltip("No swarm joined yet")
            for _ in range(rounds):
                await asyncio.sleep(random.uniform(1.0, 2.0))  # the last word is up to a second old
                os.kill(daemon.pid, signal.SIGSTOP)
                shown_s.append(await _until(item, _HUNG))
                os.kill(daemon.pid, signal.SIGCONT)
                back_s.append(await _until(item, "No swarm joined yet"))
            num_busy = max(round(_LOAD - os.getloadavg()[0]), 0)
            alarms = await _count_alarms(item, num_busy, busy_s)
    detail = {
        "shown_s": [round(value, 2) for value in shown_s],
        "back_s": [round(value, 2) for value in back_s],
        "false_alarms": alarms,
        "busy_s": busy_s,
        "load": round(os.getloadavg()[0], 1),
    }
    return Measured(max(shown_s), detail, holds=not alarms)


async def _until(item: TrayItem, text: str) -> float:
    began = time.monotonic()
    await item.wait_tooltip(text)
    return time.monotonic() - began


async def _count_alarms(item: TrayItem, num_busy: int, seconds: float) -> int:
    """Count how often the tray says that the daemon hangs while it does not."""
    alarms, was_alarm = 0, False
    with busy_processes(num_busy):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            is_alarm = _HUNG in await item.tooltip()
            alarms += is_alarm and not was_alarm
            was_alarm = is_alarm
            await asyncio.sleep(_ALARM_POLL_S)
    return alarms


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
        for entry in (*SIDEBAR[1:], SIDEBAR[0]):
            await asyncio.to_thread(_press, screen, "ctrl+Next")
            await asyncio.sleep(_PAGE_S)
            detail[f"{entry.key}_mb"] = round(pss_bytes(pid) / 1e6, 1)
    return Measured(detail[f"{SIDEBAR[0].key}_mb"], detail)


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
async def tray_app(screen: Desktop, daemon: DaemonProcess) -> AsyncIterator[TrayItem]:
    """Yield the icon of an app that runs in the tray beside `daemon`."""
    async with _tray(screen.bus_address) as tray, _app(daemon, tray) as (_, item, _):
        yield item


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
