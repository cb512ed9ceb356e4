"""Idle time of X11 and Wayland: an X server and a compositor that really count it."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from helpers.desktop import Desktop, desktop
from helpers.probe_reports import watching
from helpers.wayland import Compositor, sway, type_text
from potluck_daemon.presence import idle
from potluck_daemon.presence.idle import X11IdleProbe
from potluck_daemon.presence.idle_wayland import WaylandIdleProbe
from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Situation, Surroundings

IN_USE, AWAY = "keyboard or mouse", "nobody"
IDLE_AFTER_S = 1.0


def move_mouse(screen: Desktop) -> None:
    subprocess.run(["xdotool", "mousemove_relative", "5", "5"], env=screen.environment, check=True)


@pytest.mark.screen
async def test_the_x_server_tells_that_nobody_is_there_and_that_somebody_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idle, "RETURN_INTERVAL_S", 0.05)
    with desktop() as screen:
        probe = X11IdleProbe(Surroundings(environment=screen.environment), idle_after_s=IDLE_AFTER_S)
        async with watching(probe) as reports:
            await reports.until_named(AWAY)
            await asyncio.to_thread(move_mouse, screen)  # the probe looks meanwhile: afterwards may be too late
            await reports.until_named(IN_USE)
            await reports.until_named(AWAY)


async def test_an_x_server_within_wayland_is_not_asked() -> None:
    """It counts the input of X programs only."""
    at = Surroundings(environment={"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"})
    with pytest.raises(ProbeUnavailableError, match="Wayland"):
        await X11IdleProbe(at, idle_after_s=1).watch(lambda _: None, Situation())


@pytest.mark.wayland
async def test_a_compositor_tells_that_nobody_is_there_and_that_somebody_is_back() -> None:
    with sway() as environment:
        type_text(environment)  # there is a seat with a keyboard from now on
        probe = WaylandIdleProbe(Surroundings(environment=environment), idle_after_s=IDLE_AFTER_S)
        async with watching(probe) as reports:
            await reports.until_named(AWAY)
            type_text(environment)
            await reports.until_named(IN_USE)
            await reports.until_named(AWAY)


@pytest.mark.wayland
async def test_a_compositor_that_ends_is_said() -> None:
    with sway() as environment:
        reports_of = watching(WaylandIdleProbe(Surroundings(environment=environment), idle_after_s=100))
        reports = await reports_of.__aenter__()
        await reports.next()
    with pytest.raises(ProbeUnavailableError, match="went away"):
        await reports.next()
    await reports_of.__aexit__(None, None, None)


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


async def test_a_compositor_without_either_protocol_says_so(tmp_path: Path) -> None:
    async with Compositor("wl_compositor", "wl_seat").running(tmp_path) as environment:
        with pytest.raises(ProbeUnavailableError, match="does not report"):
            await WaylandIdleProbe(Surroundings(environment=environment), idle_after_s=1).watch(
                lambda _: None, Situation()
            )


async def test_no_wayland_session_is_said(tmp_path: Path) -> None:
    for environment in ({}, {"WAYLAND_DISPLAY": "wayland-0", "XDG_RUNTIME_DIR": str(tmp_path)}):
        with pytest.raises(ProbeUnavailableError, match="no Wayland"):
            await WaylandIdleProbe(Surroundings(environment=environment), idle_after_s=1).watch(
                lambda _: None, Situation()
            )
