"""A gateway that stays, of a real daemon: programs find it as it was, whatever ended it, until somebody stops it."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import psutil
import pytest
from helpers.daemon_process import WAIT_S, DaemonProcess
from potluck_control.api import schema
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus
from potluck_control.states import State
from potluck_gateway.client import ask
from potluck_gateway.exchange import ChatMessage

PROMPT = [ChatMessage("user", "Count from 7 to 18:")]


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """It serves a swarm of its own, and was asked for a gateway that stays."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]  # of the engine: the same in the next daemon
    listen = f"/ip4/127.0.0.1/tcp/{port}"
    with DaemonProcess(f'[serve]\nlisten = ["{listen}"]\nthreads = 1\n[gateway]\nport = 0\n') as made:
        made.client.call(schema.CREATE)
        made.wait_for(lambda now: now.state == State.SERVING)
        made.command("gateway", "start")  # at a free port, which it keeps
        done = made.command("gateway", "start", "--stay")
        assert done.returncode == 0, done.stderr
        assert "potluck autostart --daemon on" in done.stdout
        yield made


@pytest.fixture
def kept(daemon: DaemonProcess) -> GatewayStatus:
    return until(daemon, lambda now: now.state is GatewayState.READY)


def until(daemon: DaemonProcess, wanted: Callable[[GatewayStatus], bool]) -> GatewayStatus:
    deadline = time.monotonic() + WAIT_S
    while not wanted(now := daemon.client.call(gateway.STATUS)):
        assert time.monotonic() < deadline, (now, now.problem, daemon.log())
        time.sleep(0.05)
    return now


def is_found_as_it_was(daemon: DaemonProcess, kept: GatewayStatus) -> bool:
    assert until(daemon, lambda now: now.state is GatewayState.READY) == kept
    return "".join(ask(kept, PROMPT, max_tokens=4)) != ""


def process_of(daemon: DaemonProcess) -> psutil.Process:
    found = [each for each in daemon.processes() if "potluck_gateway" in each.cmdline()]
    return min(found, key=psutil.Process.create_time)  # the other one renders chat templates


def test_one_that_is_killed_while_it_answers_comes_back(daemon: DaemonProcess, kept: GatewayStatus) -> None:
    parts = ask(kept, PROMPT, max_tokens=400)
    next(parts)
    process = process_of(daemon)
    process.send_signal(signal.SIGKILL)
    process.wait(WAIT_S)
    parts.close()  # type: ignore[attr-defined]
    until(daemon, lambda now: now.state is not GatewayState.READY)
    assert is_found_as_it_was(daemon, kept)


def test_one_of_a_killed_daemon_comes_back_once_its_port_is_free(daemon: DaemonProcess, kept: GatewayStatus) -> None:
    parts = ask(kept, PROMPT, max_tokens=400)
    next(parts)
    daemon.kill()
    assert daemon.wait_all_gone() == []
    port = urlsplit(kept.url).port
    with socket.create_server(("127.0.0.1", port or 0)):
        daemon.start()
        failed = until(daemon, lambda now: now.state is GatewayState.FAILED and str(port) in str(now.problem))
        assert f"process {os.getpid()}" in str(failed.problem)
    assert is_found_as_it_was(daemon, kept)


def test_one_that_was_stopped_stays_stopped(daemon: DaemonProcess, kept: GatewayStatus) -> None:
    assert daemon.command("gateway", "stop").returncode == 0
    daemon.stop()
    daemon.start()
    daemon.wait_for(lambda now: now.state == State.SERVING)
    assert daemon.client.call(gateway.STATUS) == GatewayStatus(GatewayState.STOPPED)
