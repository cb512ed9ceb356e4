"""The app after an update: the same process, of the new version, with the tray icon and the lock of the one before."""

import asyncio
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from helpers.daemon_process import DaemonProcess
from helpers.desktop import desktop, ended
from helpers.tray_host import TrayHost, eventually

pytestmark = pytest.mark.screen


def install(folder: Path, version: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    info = folder / f"potluck-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: potluck\nVersion: {version}\n")


async def test_a_hidden_app_becomes_the_new_version_when_its_daemon_has(tmp_path: Path) -> None:
    install(tmp_path / "packages", version("potluck"))  # as the daemon: a difference would be notified of
    command = [sys.executable, "-m", "potluck_app", "--hidden"]
    with desktop() as screen, DaemonProcess(environment=screen.environment) as daemon:
        host = TrayHost(screen.bus_address)
        await host.start()
        environment = {**daemon.environment, "PYTHONPATH": str(tmp_path / "packages")}
        with ended(subprocess.Popen(command, env=environment)) as process:  # noqa: ASYNC220 (returns at once)
            first = await host.item()
            await first.wait_tooltip("No swarm joined yet")
            install(tmp_path / "packages", "99.0")
            await asyncio.to_thread(daemon.stop)
            await asyncio.to_thread(daemon.start)
            await eventually(lambda: host.num_items == 2)
            assert process.poll() is None
            again = await asyncio.to_thread(subprocess.run, command, env=environment, timeout=120, check=False)
            assert again.returncode == 0  # the lock is held: it only asks the first to show itself
            assert process.poll() is None
        assert process.returncode == 0
        await host.leave()
