"""The app, the daemon and the engine together on a virtual screen: what the tray shows and what its menu does.

The tray is seen and clicked from outside, over D-Bus, and the window is used with the keyboard.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
import torch
from helpers import lying_engine
from helpers.asking import somebody_asking
from helpers.daemon_process import DaemonProcess
from helpers.desk import AT_FULL_SPEED, SETTINGS
from helpers.desktop import Desktop, ended
from helpers.golden import CHECKPOINT
from helpers.tray_host import TrayHost, TrayItem, eventually
from potluck_control import schema
from potluck_control.client import DaemonAwayError
from potluck_control.schema import PresenceParams
from potluck_control.states import Reason, State

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.protocol.blocks import Span

WHOLE = Span(0, 4)
BROKEN = """
[serve]
checkpoint = "{checkpoint}"
blocks = "0:4"
python = "{python}"
"""

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.screen,
]


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


async def menu_of(item: TrayItem) -> dict[str, bool]:
    """What can be clicked, by what is written on it."""
    return {entry.label: entry.enabled for entry in await item.menu()}


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
            assert (await menu_of(item))["Pause for an hour"] is False
            for deadly, said in ((signal.SIGSTOP, "stopped responding"), (signal.SIGKILL, "ended unexpectedly")):
                before = pid_of(daemon)
                assert before is not None
                os.kill(before, deadly)
                await item.wait_tooltip(f"Potluck {said}")
                menu = await menu_of(item)
                assert (menu["Pause for an hour"], menu["Resume"]) == (False, False)
                await asyncio.to_thread(press, screen, "space")  # "Restart"
                await eventually(lambda: asyncio.to_thread(lambda: pid_of(daemon) not in (None, before)))  # noqa: B023
                await item.wait_tooltip("No swarm joined yet")
        assert daemon.status().state is State.IDLE  # it does not need the app
        assert daemon.command("stop").returncode == 0


async def test_a_computer_that_others_prove_wrong_says_so_and_stops_serving(
    screen: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("potluck.client.audits.audit_chance", lambda clean: 1.0)
    python = tmp_path / "python"  # its engine computes wrongly, as with a broken GPU
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {lying_engine.__file__} {sys.executable} "$@"\n')
    python.chmod(0o755)
    settings = AT_FULL_SPEED + BROKEN.format(checkpoint=CHECKPOINT, python=python)
    with (
        LocalSwarm(CHECKPOINT, ()) as swarm,
        DaemonProcess(settings, environment=screen.environment | SETTINGS) as daemon,
    ):
        add_honest_servers(swarm)
        daemon.client.call(schema.JOIN, schema.JoinParams(swarm.invite))
        serving = await asyncio.to_thread(daemon.wait_state, State.SERVING)
        async with app(screen, daemon, "--hidden") as item:
            await item.wait_tooltip("Serving layers 1–4")
            await asyncio.to_thread(ask_until_found_wrong, swarm, daemon)
            await item.wait_tooltip("2 people found that this computer computes wrongly")
        found = daemon.status()
        assert found.state is State.ERROR
        assert found.engine.pid == serving.engine.pid  # it stopped by itself
        assert any("2 people repeated what this computer computed" in notice for notice in found.notices)
        assert "Not serving" in daemon.command("status").stdout


async def test_the_menu_pauses_for_an_hour_and_stops_donating_until_told_otherwise(
    tray: TrayItem, daemon: DaemonProcess
) -> None:
    await tray.wait_tooltip("serving, 0.0 tokens/s")
    serving = await tray.icon_pixels()
    await tray.click("Pause for an hour")
    paused = await asyncio.to_thread(daemon.wait_state, State.PAUSED)
    assert paused.reason is Reason.TIMER
    assert paused.until is not None
    assert paused.until - paused.since == pytest.approx(3600, abs=60)
    await tray.wait_tooltip("paused\nPaused by you")
    assert await tray.icon_pixels() != serving
    menu = await menu_of(tray)
    assert (menu["Resume"], menu["Pause for an hour"]) == (True, False)
    await tray.click("Stop donating")
    await asyncio.to_thread(daemon.wait_for, lambda status: status.reason is Reason.SWITCHED_OFF)
    await tray.wait_tooltip("not serving")
    assert "Stop donating" not in await menu_of(tray)
    await tray.click("Start donating again")
    await asyncio.to_thread(daemon.wait_state, State.SERVING)
    await tray.wait_tooltip("serving")


async def test_a_game_can_be_ignored_from_the_menu_with_the_keyboard(
    tray: TrayItem, screen: Desktop, daemon: DaemonProcess
) -> None:
    """The menu opens the window with a question whose answer "Cancel" has the focus; the one before it says yes."""
    await tray.wait_tooltip("serving")
    game = PresenceParams("test", Reason.GAME, "SuperTuxKart", app="steam:4711", lifetime_s=600)
    daemon.client.call(schema.PRESENCE, game)
    await tray.wait_tooltip("Giving way to SuperTuxKart\nServes again 0.5 s after SuperTuxKart has ended.")
    assert "Pause until the game ends" in await menu_of(tray)
    await tray.click("Never step aside for SuperTuxKart…")
    await asyncio.to_thread(press, screen, "shift+Tab", "space")
    await tray.wait_tooltip("serving")
    assert "steam:4711" in daemon.command("config", "get", "yield.never").stdout
    assert not any("Never" in label for label in await menu_of(tray))
    daemon.client.call(schema.PRESENCE, replace(game, lifetime_s=0))


async def test_a_machine_that_finishes_counts_its_sessions_and_can_be_kept(
    tray: TrayItem, daemon: DaemonProcess
) -> None:
    await tray.wait_tooltip("serving")
    with somebody_asking(daemon.client.call(schema.INVITE).invite, num_tokens=400):
        before = await asyncio.to_thread(daemon.wait_for, lambda status: status.sessions == 1)
        daemon.client.call(schema.DRAIN, schema.DrainParams(600))
        await tray.wait_tooltip("finishing\nFinishing the open sessions, then shutting down\n1 session left. Shuts")
        assert (await menu_of(tray))["Pause for an hour"] is False
        await tray.click("Resume")
        await tray.wait_tooltip("serving")
        assert daemon.client.call(schema.STATUS).engine.pid == before.engine.pid, "the sessions were cut off"


def add_honest_servers(swarm: LocalSwarm) -> None:
    """Three people with a server each: one to audit, and two more for a proof."""
    own_key = ("--identity", str(swarm.folder / "founder.key"))
    engines = [swarm.add_engine(WHOLE, name="Ana", options=own_key)]
    for person in ("Bob", "Cem"):
        swarm.join(person)
        engines.append(swarm.add_engine_of(person, WHOLE))
    for engine in engines:
        engine.wait_online()


def ask_until_found_wrong(swarm: LocalSwarm, daemon: DaemonProcess) -> None:
    """Use the swarm until the daemon's server, which is asked when it is drawn, is proven wrong."""
    options = {"max_new_tokens": 40, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    ann, _ = swarm.join("Ann")
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=ann) as model:
        while daemon.status().reason is not Reason.FOUND_WRONG:
            model.generate(torch.arange(3, 10)[None], **options)
