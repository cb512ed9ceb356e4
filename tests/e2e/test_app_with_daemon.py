"""The app, the daemon and the engine together on a virtual screen: what the tray shows and what its menu does.

The tray is seen and clicked from outside, over D-Bus, and the window is used with the keyboard.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from helpers.application import Wait, english, qapp_args, wait
from helpers.asking import somebody_asking
from helpers.daemon_process import DaemonProcess
from helpers.desktop import Desktop, desktop, ended
from helpers.screen import shown, unfold
from helpers.tray_host import TrayHost, TrayItem, eventually
from msgspec import structs
from potluck_app.pages.page import Page
from potluck_app.shell.link import DaemonLink
from potluck_app.shell.window import MainWindow
from potluck_control.api import schema
from potluck_control.api.client import DaemonAwayError
from potluck_control.api.schema import PresenceParams
from potluck_control.states import Reason, State

__all__ = ["english", "qapp_args", "wait"]
AT_FULL_SPEED = "[when]\nactive_percent = 100\n"  # although keys are pressed
SETTINGS = {
    "POTLUCK_SERVE_LISTEN": "/ip4/127.0.0.1/tcp/0",
    "POTLUCK_SERVE_THREADS": "1",
    "POTLUCK_YIELD_FULL_SCREEN": "off",
    "POTLUCK_YIELD_QUIET_CERTAIN_S": "0.5",
}
WORDS = {  # that a page, with its folds open, shows once the daemon has answered
    "home": "Energy and time",
    "chat": "Talk to demo-model",
    "swarm": "Your swarms",
    "rules": "At any time. Click or drag to leave hours out.",
    "settings": "Not checked yet",
}

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.screen,
]


@pytest.fixture(scope="module")
def screen() -> Iterator[Desktop]:
    with desktop(window_manager=True) as made:
        yield made


@pytest.fixture(scope="module")
def daemon(screen: Desktop) -> Iterator[DaemonProcess]:
    """One that serves the demo model in a swarm of its own; each test leaves it serving."""
    with DaemonProcess(AT_FULL_SPEED, environment=screen.environment | SETTINGS) as made:
        made.client.call(schema.CREATE)
        made.wait_for(_serves_everything)
        yield made


def _serves_everything(status: schema.Status) -> bool:
    swarm = status.swarm
    return status.state is State.SERVING and swarm is not None and swarm.span == (0, swarm.num_blocks)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def tray(screen: Desktop, daemon: DaemonProcess) -> AsyncIterator[TrayItem]:
    """The icon of an app beside `daemon`."""
    async with app(screen, daemon, "--hidden") as item:
        yield item


@asynccontextmanager
async def app(screen: Desktop, daemon: DaemonProcess, *options: str) -> AsyncIterator[TrayItem]:
    host = TrayHost(screen.bus_address)
    await host.start()
    command = [sys.executable, "-m", "potluck_app", *options]
    with ended(subprocess.Popen(command, env=daemon.environment)):  # noqa: ASYNC220 (returns at once)
        yield await host.item()
    await host.leave()


async def wait_menu(item: TrayItem, expected: Mapping[str, bool | None]) -> None:
    """Wait until these entries can be clicked or not, or are not there (None). The tooltip changes before the menu."""

    async def is_so() -> bool:
        menu = {entry.label: entry.enabled for entry in await item.menu()}
        return all(menu.get(label) is enabled for label, enabled in expected.items())

    await eventually(is_so)


def press(screen: Desktop, *keys: str) -> None:
    """Type into the app's window as somebody at the keyboard does."""
    find = ["xdotool", "search", "--sync", "--onlyvisible", "--name", "^Potluck$"]
    subprocess.run(
        [*find, "windowactivate", "--sync", "key", *keys], env=screen.environment, check=True, stderr=subprocess.DEVNULL
    )


def pid_of(daemon: DaemonProcess) -> int | None:
    """Which process answers in the daemon's place."""
    try:
        return daemon.client.hello("test").pid
    except DaemonAwayError:
        return None


async def test_the_window_starts_a_daemon_that_is_away_or_hangs_or_was_killed(screen: Desktop) -> None:
    with DaemonProcess(AT_FULL_SPEED, environment=screen.environment | SETTINGS) as daemon:
        daemon.stop()
        async with app(screen, daemon) as item:
            await item.wait_tooltip("No swarm joined yet")
            await wait_menu(item, {"Pause for an hour": False})
            for deadly, said in ((signal.SIGSTOP, "stopped responding"), (signal.SIGKILL, "ended unexpectedly")):
                before = pid_of(daemon)
                assert before is not None
                os.kill(before, deadly)
                await item.wait_tooltip(f"Potluck {said}")
                await wait_menu(item, {"Pause for an hour": False, "Resume": False})
                await asyncio.to_thread(press, screen, "space")  # "Restart"
                await eventually(lambda: asyncio.to_thread(lambda: pid_of(daemon) not in (None, before)))  # noqa: B023
                await item.wait_tooltip("No swarm joined yet")
        assert daemon.status().state is State.IDLE  # it does not need the app
        assert daemon.command("stop").returncode == 0


@pytest.fixture
def window(daemon: DaemonProcess, wait: Wait) -> Iterator[MainWindow]:
    """Open, beside the daemon; it lives in this process, without a screen."""
    link = DaemonLink(daemon.socket)
    made = MainWindow(link)
    link.status_changed.connect(made.show_status)
    link.agreed.connect(made.show_agreement)
    link.start()
    made.show()
    wait(lambda: made.page is not None)
    yield made
    link.stop()
    made.hide()


async def test_every_page_shows_what_this_daemon_says_and_no_complaint(window: MainWindow, wait: Wait) -> None:
    for key, words in WORDS.items():
        window.open(key)
        page = window.page
        assert isinstance(page, Page)
        unfold(page)
        wait(lambda: words in shown(page))  # noqa: B023 (called at once)
        assert page.notice_bar.isHidden(), shown(page.notice_bar)


async def test_a_game_can_be_ignored_from_the_menu(tray: TrayItem, daemon: DaemonProcess) -> None:
    await tray.wait_tooltip("serving")
    game = PresenceParams("test", Reason.GAME, "SuperTuxKart", app="steam:4711", lifetime_s=600)
    daemon.client.call(schema.PRESENCE, game)
    await tray.wait_tooltip("Giving way to SuperTuxKart\nServes again 0.5 s after SuperTuxKart is done.")
    await wait_menu(tray, {"Pause until the game ends": True})
    await tray.click("Never step aside for SuperTuxKart")
    await tray.wait_tooltip("serving")
    assert "steam:4711" in daemon.command("config", "get", "yield.never").stdout
    await wait_menu(tray, {"Never step aside for SuperTuxKart": None})
    daemon.client.call(schema.PRESENCE, structs.replace(game, lifetime_s=0))


async def test_a_machine_that_finishes_counts_its_sessions_and_can_be_kept(
    tray: TrayItem, daemon: DaemonProcess
) -> None:
    await tray.wait_tooltip("serving")
    with somebody_asking(daemon.client.call(schema.INVITE).invite, num_tokens=400):
        before = await asyncio.to_thread(daemon.wait_for, lambda status: status.sessions == 1)
        daemon.client.call(schema.DRAIN, schema.DrainParams(600))
        await tray.wait_tooltip("finishing\nFinishing the open sessions, then shutting down\n1 session left. Shuts")
        await wait_menu(tray, {"Pause for an hour": False})
        await tray.click("Keep serving")
        await tray.wait_tooltip("serving")
        assert daemon.client.call(schema.STATUS).engine.pid == before.engine.pid, "the sessions were cut off"


async def test_the_menu_pauses_for_an_hour_or_until_somebody_resumes(tray: TrayItem, daemon: DaemonProcess) -> None:
    await tray.wait_tooltip("serving")
    serving = await tray.icon_pixels()
    await tray.click("Pause for an hour")
    paused = await asyncio.to_thread(daemon.wait_state, State.PAUSED)
    assert paused.reason is Reason.TIMER
    assert paused.until is not None
    assert paused.until - paused.since == pytest.approx(3600, abs=60)
    await tray.wait_tooltip("paused\nPaused by you")

    async def has_another_icon() -> bool:
        return await tray.icon_pixels() != serving

    await eventually(has_another_icon)
    await wait_menu(tray, {"Resume": True, "Pause for an hour": False})
    await tray.click("Resume")
    await asyncio.to_thread(daemon.wait_state, State.SERVING)
    await wait_menu(tray, {"Resume": False, "Pause until I resume": True})
    await tray.click("Pause until I resume")
    await asyncio.to_thread(daemon.wait_for, lambda status: status.reason is Reason.USER)
    await tray.wait_tooltip("paused\nPaused by you until you resume")
    await tray.click("Resume")
    await asyncio.to_thread(daemon.wait_state, State.SERVING)
