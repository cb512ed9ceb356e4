"""The tray app beside a running daemon and a real tray host, also compared with an empty window of PySide6.

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
from potluck_control.api import schema
from potluck_control.states import State

from benchmarks.figures import Measured, figure
from benchmarks.setup.busy import busy_processes
from benchmarks.setup.machine import cpu_seconds_of, pss_bytes
from tests.helpers.asking import somebody_asking
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.desktop import Desktop, desktop, ended
from tests.helpers.tray_host import TrayHost, TrayItem, eventually

_SETTLE_S = 5.0
_PAGE_S = 3.0
_HUNG = "Potluck stopped responding"
_LOAD = 15  # the machine's load under which there must be no false alarm
_ALARM_POLL_S = 0.2  # an alarm stays for at least half a second
_OURS = ("-m", "potluck_app")
_EMPTY = (
    "-c",
    """
import sys
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

application, window = QApplication(sys.argv), QWidget()
icon, picture = QSystemTrayIcon(), QPixmap(22, 22)
picture.fill("red")
icon.setIcon(QIcon(picture))
icon.show()
window.resize(960, 720)
window.show()
application.exec()
""",
)
_CALM_S = 65.0  # the app looks for a tray host every second in its first minute


@figure("app_start", unit="times", reach=1.6)
def start(soak: bool) -> Measured:
    """Time from the start of the app's process to its icon in the tray, over that of an empty PySide6 window in the
    same run.
    """
    return asyncio.run(_start(20 if soak else 5))


@figure("app_memory", unit="MB", reach=95, shown=True)
def memory(soak: bool) -> Measured:
    """Memory (PSS) of the app once every page of its window was opened."""
    return asyncio.run(_memory())


@figure("app_cpu", unit="times", reach=1.5)
def cpu_shown(soak: bool) -> Measured:
    """Processor time of the app's first minute with its window open, over that of an empty PySide6 window in the same
    run.
    """
    return asyncio.run(_cpu(600.0 if soak else 60.0))


@figure("app_cpu_hidden", unit="%", reach=0.1)
def cpu_hidden(soak: bool) -> Measured:
    """Share of a core that the app takes in the tray, without a window, while somebody is served."""
    return asyncio.run(_cpu_hidden(600.0 if soak else 100.0))


@figure("app_sees_hang", unit="s", reach=3)
def sees_hang(soak: bool) -> Measured:
    """Longest time until the tray says that a stopped daemon does not respond; no false alarm at a load of 15."""
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
    """Median of the app's time over the median of an empty window's; first starts, which read the disk, don't count."""
    ours_s: list[float] = []
    empty_s: list[float] = []
    with desktop(window_manager=True) as screen, DaemonProcess(LOOPBACK, environment=screen.environment) as daemon:
        for _ in range(rounds + 1):
            for times_s, words in ((empty_s, _EMPTY), (ours_s, (*_OURS, "--hidden"))):
                async with _tray(screen.bus_address) as tray, _app(daemon, tray, words) as (_, _, seconds):
                    times_s.append(seconds)
    detail = {"ours_s": [round(value, 3) for value in ours_s], "empty_s": [round(value, 3) for value in empty_s]}
    return Measured(statistics.median(ours_s[1:]) / statistics.median(empty_s[1:]), detail)


async def _memory() -> Measured:
    """Measure it in the tray, where it is most of the time, then with every page opened once."""
    async with _serving_app() as (screen, pid, item):
        detail = {"tray_mb": round(pss_bytes(pid) / 1e6, 1)}
        await item.activate()
        await asyncio.sleep(_SETTLE_S)
        detail["home_mb"] = round(pss_bytes(pid) / 1e6, 1)
        for entry in (*SIDEBAR[1:], SIDEBAR[0]):
            await asyncio.to_thread(_press, screen, "ctrl+Next")
            await asyncio.sleep(_PAGE_S)
            detail[f"{entry.key}_mb"] = round(pss_bytes(pid) / 1e6, 1)
    return Measured(detail[f"{SIDEBAR[0].key}_mb"], detail)


async def _cpu(seconds: float) -> Measured:
    """Processor time of both from their starts on, while somebody generates, so that ours has numbers to change."""
    async with (
        _serving() as (screen, daemon),
        _tray(screen.bus_address) as tray,
        _app(daemon, tray, _EMPTY) as (empty, _, _),
        _app(daemon, tray, _OURS) as (ours, _, _),
    ):
        await asyncio.sleep(seconds)
        used_s = {"ours_s": cpu_seconds_of(ours), "empty_s": cpu_seconds_of(empty)}
    return Measured(used_s["ours_s"] / used_s["empty_s"], {"over_s": seconds, **used_s})


async def _cpu_hidden(seconds: float) -> Measured:
    """Share of a core, while somebody generates."""
    async with _serving_app() as (_, pid, _):
        await asyncio.sleep(_CALM_S)
        used, began = cpu_seconds_of(pid), time.monotonic()
        await asyncio.sleep(seconds)
        percent = 100 * (cpu_seconds_of(pid) - used) / (time.monotonic() - began)
    return Measured(percent, {"over_s": seconds})


@asynccontextmanager
async def _serving() -> AsyncIterator[tuple[Desktop, DaemonProcess]]:
    """A desktop, and a daemon that serves somebody."""
    with desktop(window_manager=True) as screen, DaemonProcess(LOOPBACK, environment=screen.environment) as daemon:
        daemon.client.call(schema.CREATE)
        daemon.wait_state(State.SERVING)
        with somebody_asking(daemon.client.call(schema.INVITE).invite):
            yield screen, daemon


@asynccontextmanager
async def _serving_app() -> AsyncIterator[tuple[Desktop, int, TrayItem]]:
    """The app in the tray beside a daemon that serves somebody; yields its process and its icon."""
    async with (
        _serving() as (screen, daemon),
        _tray(screen.bus_address) as tray,
        _app(daemon, tray) as (pid, item, _),
    ):
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
async def _app(
    daemon: DaemonProcess, tray: TrayHost, words: tuple[str, ...] = (*_OURS, "--hidden")
) -> AsyncIterator[tuple[int, TrayItem, float]]:
    """Yield its process id, its icon, and the seconds until the icon was there. `words`: what Python runs."""
    began, before = time.monotonic(), tray.num_items
    with ended(_process(daemon, words)) as process:
        await eventually(lambda: tray.num_items > before)
        yield process.pid, await tray.item(), time.monotonic() - began


def _process(daemon: DaemonProcess, words: tuple[str, ...]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *words], env=daemon.environment)
