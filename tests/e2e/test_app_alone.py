"""The app on a real virtual screen with a real tray host, while no daemon runs."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.desktop import Desktop, desktop, ended
from helpers.tray_host import TrayHost, eventually

pytestmark = pytest.mark.screen


@pytest.fixture(scope="module")
def screen() -> Iterator[Desktop]:
    with desktop() as made:
        yield made


@contextmanager
def app(screen: Desktop, socket: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "potluck_app", "--socket", str(socket), *options]
    with ended(subprocess.Popen(command, env=screen.environment)) as process:
        yield process


async def test_icon_says_that_the_daemon_is_away_and_a_second_start_only_raises_the_first(
    screen: Desktop, tmp_path: Path
) -> None:
    host = TrayHost(screen.bus_address)
    await host.start()
    with app(screen, tmp_path / "potluckd.sock", "--hidden") as process:
        item = await host.item()
        await item.wait_tooltip("Potluck is not running")
        menu = {entry.label: entry.enabled for entry in await item.menu()}
        assert menu["Pause for an hour"] is False
        assert menu["Resume"] is False
        assert menu["Open Potluck"] is True
        with app(screen, tmp_path / "potluckd.sock") as second:
            await eventually(lambda: second.poll() is not None)
            assert second.returncode == 0
        assert process.poll() is None
        await item.click("Quit the app")
        await eventually(lambda: process.poll() is not None)
        assert process.returncode == 0
    await host.leave()


async def test_icon_appears_when_the_tray_host_comes_late_and_again_after_it_was_gone(
    screen: Desktop, tmp_path: Path
) -> None:
    with app(screen, tmp_path / "potluckd.sock") as process:
        for _ in range(2):
            host = TrayHost(screen.bus_address)
            await host.start()
            item = await host.item()
            await item.wait_tooltip("Potluck is not running")
            await host.leave()
        process.terminate()
        await eventually(lambda: process.poll() is not None)
        assert process.returncode == 0
