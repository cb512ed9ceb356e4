"""The tray app beside a running daemon: `app_start` and `app_memory`. A real tray host waits for the icon."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from potluck_daemon.control import schema
from potluck_daemon.states import State

from benchmarks.figures import Measured
from benchmarks.machine import pss_bytes, rss_bytes
from tests.helpers.daemon_process import LOOPBACK, DaemonProcess
from tests.helpers.desktop import desktop, ended
from tests.helpers.tray_host import TrayHost, TrayItem

_SETTLE_S = 5.0


def start(soak: bool) -> Measured:
    return asyncio.run(_start(20 if soak else 5))


def memory(soak: bool) -> Measured:
    return asyncio.run(_memory())


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
    """In the tray as it is most of the time, and with its window open."""
    with desktop(window_manager=True) as screen, DaemonProcess(LOOPBACK, environment=screen.environment) as daemon:
        daemon.client.call(schema.CREATE)
        daemon.wait_state(State.SERVING)
        async with _tray(screen.bus_address) as tray, _app(daemon, tray) as (pid, item, _):
            await item.wait_tooltip("Serving")
            await asyncio.sleep(_SETTLE_S)
            in_tray, rss = pss_bytes(pid), rss_bytes(pid)
            await item.activate()
            await asyncio.sleep(_SETTLE_S)
            detail = {"rss_mb": round(rss / 1e6, 1), "window_open_mb": round(pss_bytes(pid) / 1e6, 1)}
    return Measured(in_tray / 1e6, detail)


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
