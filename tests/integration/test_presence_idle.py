"""Idle time of X11 and Wayland: an X server and a compositor that really count it."""

import asyncio
import subprocess
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest
from helpers.desktop import desktop
from helpers.probe_reports import gives_up, watching
from helpers.wayland import Compositor, sway, type_text
from potluck_daemon.presence import idle
from potluck_daemon.presence.idle import IdleProbe, x11_idle
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Surroundings
from potluck_daemon.presence.wayland import WaylandIdleProbe

from potluck.sentences import verbatim

IN_USE, AWAY = "keyboard or mouse", "nobody"
IDLE_AFTER_S = 0.3


@pytest.mark.screen
async def test_the_x_server_tells_that_nobody_is_there_and_that_somebody_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idle, "RETURN_INTERVAL_S", 0.05)
    move_mouse = ["xdotool", "mousemove_relative", "5", "5"]
    with desktop() as screen:
        at = Surroundings(environment=screen.environment)
        probe = IdleProbe(verbatim("X11"), partial(x11_idle, at), IDLE_AFTER_S)
        async with watching(probe) as reports:
            await reports.until_named(AWAY)
            while str((await reports.next())[0].who) != IN_USE:  # a probe that looks late does not see each movement
                await asyncio.to_thread(subprocess.run, move_mouse, env=screen.environment, check=True)
            await reports.until_named(AWAY)


async def test_an_x_server_within_wayland_is_not_asked() -> None:
    """It counts the input of X programs only."""
    at = Surroundings(environment={"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"})
    await gives_up(IdleProbe(verbatim("X11"), partial(x11_idle, at), 1), ProbeUnavailableError, "Wayland")


@pytest.mark.wayland
async def test_a_compositor_tells_who_is_there_until_it_ends() -> None:
    async with AsyncExitStack() as watched:
        with sway() as environment:
            type_text(environment)  # there is a seat with a keyboard from now on
            probe = WaylandIdleProbe(Surroundings(environment=environment), idle_after_s=IDLE_AFTER_S)
            reports = await watched.enter_async_context(watching(probe))
            await reports.until_named(AWAY)
            type_text(environment)
            await reports.until_named(IN_USE)
            await reports.until_named(AWAY)
        with pytest.raises(ProbeUnavailableError, match="went away"):
            await reports.until_seen()


async def test_the_newer_protocol_is_spoken_too(tmp_path: Path) -> None:
    compositor = Compositor("wl_compositor", "wl_seat", "org_kde_kwin_idle", "ext_idle_notifier_v1")
    async with compositor.running(tmp_path) as environment:
        probe = WaylandIdleProbe(Surroundings(environment=environment), idle_after_s=12)
        async with watching(probe) as reports:
            await reports.until_named(IN_USE)
            await compositor.asked.wait()
            assert compositor.timeout_ms == 12_000
            compositor.say(idled=True)
            await reports.until_named(AWAY)
            compositor.say(idled=False)
            await reports.until_named(IN_USE)
            compositor.refuse()
            with pytest.raises(ProbeFailedError, match="refuses"):
                await reports.next()


async def test_a_session_without_wayland_or_either_protocol_says_so(tmp_path: Path) -> None:
    for environment in ({}, {"WAYLAND_DISPLAY": "wayland-0", "XDG_RUNTIME_DIR": str(tmp_path)}):
        probe = WaylandIdleProbe(Surroundings(environment=environment), idle_after_s=1)
        await gives_up(probe, ProbeUnavailableError, "no Wayland")
    async with Compositor("wl_compositor", "wl_seat").running(tmp_path) as environment:
        probe = WaylandIdleProbe(Surroundings(environment=environment), idle_after_s=1)
        await gives_up(probe, ProbeUnavailableError, "does not report")
