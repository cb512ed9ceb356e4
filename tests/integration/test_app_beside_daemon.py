"""Setting up and updating from the window, beside a real daemon that really does it."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.application import Wait, english, qapp_args, wait
from helpers.own_daemon import own_daemon
from helpers.screen import button, buttons, shown
from helpers.update_server import UpdateServer
from helpers.wheel_server import lock, make_wheel
from potluck_app.pages.home import HomePage
from potluck_app.shell.link import DaemonLink
from potluck_app.shell.window import MainWindow
from potluck_control import schema
from potluck_control.client import ControlClient
from potluck_control.methods import settings
from potluck_control.methods.settings import Change, SetParams
from potluck_control.places import Places
from potluck_daemon.environment import interpreter, setup_process
from PySide6.QtWidgets import QWidget

__all__ = ["english", "qapp_args", "wait"]
SET_UP = """\
import functools, pathlib, sys
from potluck_daemon.environment import __main__ as program, plan
plan.requirements_of = lambda variant: pathlib.Path({requirements!r})
program.make_plan = functools.partial(plan.make_plan, wheels=pathlib.Path({wheels!r}))
sys.exit(program.main())
"""


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the set-up will look for wheels: they lie beside it until somebody moves them there."""
    aside = tmp_path / "aside"
    aside.mkdir()
    requirements = lock(tmp_path / "cpu.txt", *(make_wheel(aside, name) for name in ("one", "two")))
    script = SET_UP.format(requirements=str(requirements), wheels=str(tmp_path / "wheels"))
    monkeypatch.setattr(setup_process, "PROGRAM", (sys.executable, "-c", script))
    monkeypatch.setattr(interpreter, "find_spec", lambda _: None)  # there is nothing to compute with yet
    return tmp_path / "wheels"


@pytest.fixture
def socket(tmp_path: Path, wheels: Path) -> Iterator[Path]:
    """Of a daemon that runs in a thread."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    parts = {"CONFIG": "config", "STATE": "state", "RUNTIME": "run", "CACHE": "cache"}
    folders = {f"XDG_{name}_{'DIR' if name == 'RUNTIME' else 'HOME'}": tmp_path / sub for name, sub in parts.items()}
    places = Places(*(tmp_path / sub / "potluck" for sub in parts.values()))
    for folder in (places.config, tmp_path / "run"):
        folder.mkdir(parents=True, mode=0o700)
    with _daemon(places, kept | {name: str(path) for name, path in folders.items()}):
        yield places.socket


@pytest.fixture
def window(socket: Path) -> Iterator[MainWindow]:
    """Of an app beside that daemon."""
    link = DaemonLink(socket)
    made = MainWindow(link)
    link.status_changed.connect(made.show_status)
    link.updates_changed.connect(made.show_updates)
    link.start()
    made.show()
    yield made
    link.stop()
    made.close()


@contextmanager
def _daemon(places: Places, environment: dict[str, str]) -> Iterator[None]:
    is_up, is_over = threading.Event(), threading.Event()

    async def run() -> None:
        async with own_daemon(places, environment):
            is_up.set()
            await asyncio.to_thread(is_over.wait)

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        assert is_up.wait(60)
        yield
    finally:
        is_over.set()
        thread.join()


def press(wait: Wait, page: QWidget, text: str) -> None:
    """As soon as it can be pressed."""
    wait(lambda: text in buttons(page) and button(page, text).isEnabled())
    button(page, text).click()


def test_a_set_up_that_failed_says_why_is_tried_again_and_ends_well(
    window: MainWindow, wheels: Path, wait: Wait
) -> None:
    """The folder of wheels is missing at first."""
    wait(lambda: "1 of 6" in shown(window))
    press(wait, window, "Continue")
    press(wait, window, "Download and install")
    wait(lambda: "Try again" in buttons(window))
    problem = next(said for said in shown(window) if "wheels" in said or "package" in said)
    assert problem.endswith(".")
    wheels.with_name("aside").rename(wheels)
    press(wait, window, "Try again")
    wait(lambda: any(said.startswith("Ready: ") for said in shown(window)))
    assert problem not in shown(window)
    press(wait, window, "Continue")
    assert "Choose a swarm" in shown(window)


def test_a_newer_version_is_looked_up_when_wanted_and_told_with_its_changes(
    window: MainWindow, socket: Path, tmp_path: Path, wait: Wait
) -> None:
    (tmp_path / "web").mkdir()
    with UpdateServer(tmp_path / "web") as server:
        (server.folder / "potluck-99.0.run").write_bytes(b"not asked for here")
        server.publish("99.0")
        client = ControlClient(socket)
        client.call(schema.CREATE)
        wanted = {"updates.url": server.url, "updates.key": server.key, "serve.enabled": False}
        client.call(settings.SET, SetParams(tuple(Change(key, value) for key, value in wanted.items())))
        wait(lambda: isinstance(window.page, HomePage))
        window.open("installation")
        press(wait, window, "Check now")
        wait(lambda: "• faster" in shown(window))
    assert any("apt, or pip" in said for said in shown(window))  # nothing of ours installed this
    window.open("home")
    wait(lambda: "Potluck 99.0 is available." in shown(window))
