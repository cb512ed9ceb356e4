"""Makes docs/screenshots/ from the real thing: daemons, engines and the app, on a virtual screen.

    make screenshots
    make screenshots SCREEN="rules-dark home-dark"     only these pictures, named as their files

In each theme a new machine walks through the states that a person meets: the daemon is away, no swarm is joined, it
serves beside a friend's machine, spares somebody at the keyboard, steps aside for a game, is paused; and opens every
page. The tray icons are what a tray host gets.
"""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from helpers.asking import somebody_asking
from helpers.daemon_process import DaemonProcess
from helpers.desktop import Desktop, desktop, ended
from helpers.tray_host import TrayHost, TrayItem
from msgspec import structs
from potluck_app.pages.catalogue import SIDEBAR
from potluck_app.pages.home.page import HomePage
from potluck_app.pages.page import Fold
from potluck_app.shell.link import DaemonLink
from potluck_app.shell.window import MainWindow
from potluck_app.widgets import theme
from potluck_app.words import language
from potluck_control.api import schema
from potluck_control.api.schema import Status
from potluck_control.methods import earnings, gateway, installation
from potluck_control.methods.gateway import GatewayState
from potluck_control.states import Reason, State
from potluck_daemon.host.listening import free_port
from potluck_gateway.answers.completion import silence_transformers
from PySide6.QtCore import QLocale, QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QApplication

FOLDER = Path(__file__).parent / "screenshots"
WANTED = sys.argv[1:]  # names of pictures; all if there is none
GAME = "SuperTuxKart"
SCALE = 2  # sharp on sharp screens
SETTINGS = {
    "POTLUCK_SERVE_THREADS": "1",
    "POTLUCK_SERVE_MEMORY_LIMIT_MB": "2048",
}
WITHOUT_TORCH = """\
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "torch" else find(name, package)
"""
AT_FULL_SPEED = "[when]\nactive_percent = 100\n"
EARLY_PAGES = ("home", "chat")
ANSWER_S = 10.0  # for the words of an answer
ANSWERS_S = 3.0  # for all that a page asks the daemon
LIVELY_TPS = 5.0  # from which a picture shows somebody being served


@dataclass(slots=True)
class Album:
    """The pictures of one theme."""

    screen: Desktop
    theme: str
    tray: TrayItem
    icons: dict[str, QImage] = field(default_factory=dict)

    async def window(self, name: str) -> None:
        """The app's window, once it has stopped changing."""
        before, now = QImage(), self._grab()
        while now != before:
            await asyncio.sleep(0.3)
            before, now = now, self._grab()
        _save(now, f"{name}-{self.theme}")

    def press(self, *keys: str) -> None:
        """In the app's window."""
        self._tell("key", *keys)

    def type(self, said: str) -> None:
        self._tell("type", said)

    def _tell(self, *order: str) -> None:
        find = ["xdotool", "search", "--onlyvisible", "--name", "^Potluck$", "windowactivate", "--sync"]
        subprocess.run([*find, *order], env=self.screen.environment, check=True, stderr=subprocess.DEVNULL)

    async def icon(self, caption: str) -> None:
        pixels = array("I", await self.tray.icon_pixels())
        pixels.byteswap()  # D-Bus has them in network order
        side = math.isqrt(len(pixels))
        self.icons[caption] = QImage(pixels.tobytes(), side, side, QImage.Format.Format_ARGB32).copy()

    def icon_sheet(self) -> None:
        """All icons in a row with their names, as on a panel."""
        colours = theme.LIGHT if self.theme == "light" else theme.DARK
        sheet = QImage(112 * len(self.icons) * SCALE, 84 * SCALE, QImage.Format.Format_RGB32)
        sheet.fill(QColor(colours.window))
        painter = QPainter(sheet)
        painter.setRenderHints(QPainter.RenderHint.SmoothPixmapTransform | QPainter.RenderHint.Antialiasing)
        painter.scale(SCALE, SCALE)
        painter.setPen(QColor(colours.text))
        for place, (caption, icon) in enumerate(self.icons.items()):
            painter.drawImage(QRectF(112 * place + 40, 16, 32, 32), icon)
            painter.drawText(QRectF(112 * place, 56, 112, 20), Qt.AlignmentFlag.AlignCenter, caption)
        painter.end()
        _save(sheet, f"tray-{self.theme}")

    def _grab(self) -> QImage:
        find = ["xdotool", "search", "--sync", "--onlyvisible", "--name", "^Potluck$"]
        window = subprocess.run(find, env=self.screen.environment, check=True, capture_output=True).stdout
        return QGuiApplication.primaryScreen().grabWindow(int(window)).toImage()


async def walk(screen: Desktop, theme_name: str) -> None:
    """One machine through all states."""
    with _machine(screen, "0:8") as daemon:
        async with _app(screen, daemon, theme_name) as album:
            await album.tray.wait_tooltip("No swarm")
            await asyncio.to_thread(daemon.stop)  # an app that is opened without a daemon starts one
            await album.tray.wait_tooltip("not running")
            await album.window("away")
            await album.icon("not running")
            await asyncio.to_thread(daemon.start)
            await album.tray.wait_tooltip("No swarm")
            await album.icon("not serving")
            await _first_run(album, daemon)
            with _machine(screen, "6:12", steam="off") as friend:
                await _in_company(album, daemon, friend)
        album.icon_sheet()


async def _first_run(album: Album, daemon: DaemonProcess) -> None:
    """Its steps where an engine is there: what is wanted has the keyboard in each."""
    await album.window("first-run")
    album.press("space")
    await album.window("first-run-2")
    daemon.client.call(schema.CREATE, schema.CreateParams(person="Ana", computer="desk"))
    await asyncio.to_thread(daemon.wait_state, State.SERVING)
    await asyncio.sleep(1.0)
    await album.window("first-run-3")
    album.press("space")


@contextmanager
def _without_torch() -> Iterator[dict[str, str]]:
    """The environment of a Python that does not find it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(WITHOUT_TORCH)
        yield {"PYTHONPATH": os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))}


async def without_engine(screen: Desktop, theme_name: str) -> None:
    """The step of the first run for a machine that has nothing to compute with."""
    with _without_torch() as hidden, _machine(screen, "0:8", **hidden) as daemon:
        async with _app(screen, daemon, theme_name) as album:
            await album.tray.wait_tooltip("No swarm")
            await asyncio.to_thread(daemon.client.call, installation.SETUP_STATE)  # what the app asks for as well
            await asyncio.sleep(1.0)  # until it has heard that there is a step more
            album.press("space")
            await album.window("first-run-engine")


async def _in_company(album: Album, daemon: DaemonProcess, friend: DaemonProcess) -> None:
    invite = daemon.client.call(schema.INVITE).invite
    friend.client.call(schema.JOIN, schema.JoinParams(invite, person="Bob", computer="tower"))
    await asyncio.to_thread(daemon.wait_for, _is_all_served)
    with somebody_asking(invite):
        await asyncio.to_thread(
            daemon.wait_for, lambda status: status.sessions == 1 and status.tokens_per_s > LIVELY_TPS
        )
        await asyncio.to_thread(_wait_for_credit, daemon)
        await asyncio.sleep(HomePage.AGAIN_MS / 1000)  # until Home has asked for it
        await album.window("serving")
        await album.icon("serving")
        if not WANTED:
            (FOLDER / "status.txt").write_text(daemon.command("status").stdout)
        await _beside_somebody(album, daemon)
    await asyncio.to_thread(daemon.wait_for, _is_all_served)
    await _chat(album, daemon)
    game = schema.PresenceParams("screenshots", Reason.GAME, GAME, app="steam:4711", lifetime_s=600)
    daemon.client.call(schema.PRESENCE, game)
    await asyncio.to_thread(daemon.wait_for, _is_missed)
    await album.window("yielded")
    await album.icon("stepped aside")
    daemon.client.call(schema.PRESENCE, structs.replace(game, lifetime_s=0))
    await asyncio.to_thread(daemon.wait_for, _is_all_served)
    await _pages(daemon, album.theme)
    await album.tray.click("Pause for an hour")
    await album.tray.wait_tooltip("paused")
    await album.window("paused")
    await album.icon("paused")


async def _beside_somebody(album: Album, daemon: DaemonProcess) -> None:
    daemon.command("config", "set", "when.active_percent", "50")
    somebody = schema.PresenceParams("screenshots", Reason.USER_ACTIVE, lifetime_s=600)
    daemon.client.call(schema.PRESENCE, somebody)
    await album.tray.wait_tooltip("serving at 50 %")
    await album.window("throttled")
    daemon.client.call(schema.PRESENCE, structs.replace(somebody, lifetime_s=0))
    daemon.command("config", "set", "when.active_percent", "100")
    await album.tray.wait_tooltip("serving, ")


async def _pages(daemon: DaemonProcess, theme_name: str) -> None:
    """All that have no picture yet, in a window of this process, and what waits there behind a click."""
    link = DaemonLink(daemon.socket)
    window = MainWindow(link)
    link.status_changed.connect(window.show_status)
    theme.choose(theme_name)
    window.show_theme()
    link.start()
    window.show()
    await _events(ANSWERS_S)
    for entry in SIDEBAR:
        window.open(entry.key)
        await _events(ANSWERS_S)
        page = window.page
        assert page is not None
        if entry.key not in EARLY_PAGES:
            _save(window.grab().toImage(), f"{entry.key}-{theme_name}")
        for place, fold in enumerate(page.findChildren(Fold), start=2):
            fold.open()
            await _events(ANSWERS_S)
            bar = page.verticalScrollBar()
            bar.setValue(fold.mapTo(page.widget(), fold.rect().topLeft()).y() - theme.SPACE_L)
            await _events(0.3)
            _save(window.grab().toImage(), f"{entry.key}-{place}-{theme_name}")
            fold.open(False)
    link.stop()
    window.close()


async def _events(for_s: float) -> None:
    """Let Qt work for a while."""
    end = time.monotonic() + for_s
    while time.monotonic() < end:
        QApplication.processEvents()
        await asyncio.sleep(0.02)


async def _chat(album: Album, daemon: DaemonProcess) -> None:
    album.press(f"ctrl+{[entry.key for entry in SIDEBAR].index('chat') + 1}")
    await album.window("chat-empty")
    album.type("What is Potluck?")
    album.press("Return")
    await asyncio.to_thread(_wait_for_gateway, daemon)
    await asyncio.sleep(ANSWER_S)
    await album.window("chat")
    album.press("ctrl+1")


def _wait_for_gateway(daemon: DaemonProcess) -> None:
    while daemon.client.call(gateway.STATUS).state is not GatewayState.READY:
        time.sleep(0.5)


def _wait_for_credit(daemon: DaemonProcess) -> None:
    while not daemon.client.call(earnings.SUMMARY).today.earned:
        time.sleep(0.5)


def _is_all_served(status: Status) -> bool:
    """Both machines serve, and the first one has seen it."""
    return status.state is State.SERVING and status.swarm is not None and sum(status.swarm.coverage) == 8 + 6


def _is_missed(status: Status) -> bool:
    """It has stepped aside, and the swarm shows it."""
    coverage = status.swarm.coverage if status.swarm is not None else ()
    is_seen = 0 in coverage and any(coverage)
    return status.state is State.YIELDED and not status.sessions and is_seen


def _machine(screen: Desktop, blocks: str, *, steam: str = "on", **more: str) -> DaemonProcess:
    """`steam` off: the friend's machine, which in truth is this one, does not see our game."""
    listen = f"/ip4/127.0.0.1/tcp/{free_port()}"  # the same after a restart, for the other to find it
    chosen = {"POTLUCK_SERVE_BLOCKS": blocks, "POTLUCK_YIELD_STEAM": steam, "POTLUCK_SERVE_LISTEN": listen}
    return DaemonProcess(AT_FULL_SPEED, environment=screen.environment | SETTINGS | chosen | more)


@asynccontextmanager
async def _app(screen: Desktop, daemon: DaemonProcess, theme_name: str) -> AsyncIterator[Album]:
    host = TrayHost(screen.bus_address)
    await host.start()
    command = [sys.executable, "-m", "potluck_app", "--theme", theme_name]
    environment = daemon.environment | {"QT_SCALE_FACTOR": str(SCALE)}
    with ended(subprocess.Popen(command, env=environment)):  # noqa: ASYNC220 (returns at once)
        yield Album(screen, theme_name, await host.item())
    await host.leave()


def _save(picture: QImage, name: str) -> None:
    if WANTED and name not in WANTED:
        return
    path = FOLDER / f"{name}.png"
    assert _with_few_colours(picture).save(str(path), quality=0)  # 0: strongest compression
    print(path.relative_to(Path.cwd()), path.stat().st_size)


def _with_few_colours(picture: QImage) -> QImage:
    """The 256 most frequent ones; the few shades that are left at the edges of letters take the nearest."""
    rows = picture.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(rows.constBits(), np.uint32).reshape(rows.height(), rows.width()) & 0xFFFFFF
    colours, places, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    kept = np.argsort(counts)[::-1][:256]
    channels = np.stack([(colours >> shift) & 0xFF for shift in (16, 8, 0)], axis=1).astype(np.int32)
    nearest = np.array([np.abs(channels[kept] - colour).sum(axis=1).argmin() for colour in channels], np.uint8)
    indices = np.ascontiguousarray(nearest[places].reshape(pixels.shape))
    few = QImage(indices.tobytes(), rows.width(), rows.height(), rows.width(), QImage.Format.Format_Indexed8)
    few.setColorTable([int(colour) | 0xFF000000 for colour in colours[kept]])
    return few.copy()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    silence_transformers()
    with desktop(window_manager=True, size=(1280 * SCALE, 800 * SCALE)) as screen:
        os.environ["DISPLAY"] = screen.display
        os.environ["QT_SCALE_FACTOR"] = str(SCALE)
        qt = QApplication([])
        qt.setStyle("Fusion")
        language.install(qt, QLocale("en"))
        for name in ("light", "dark"):
            if WANTED and not any(wanted.endswith(name) for wanted in WANTED):
                continue
            asyncio.run(without_engine(screen, name))
            asyncio.run(walk(screen, name))
        del qt


if __name__ == "__main__":
    main()
