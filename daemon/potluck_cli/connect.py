"""Reaches the daemon from the command line, starts it, and waits for it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from potluck_control import schema
from potluck_control.client import ControlClient, ControlError, DaemonAwayError
from potluck_control.method import Empty, Method
from potluck_control.places import find_socket
from potluck_control.schema import DaemonHello, Status
from potluck_control.states import State

from potluck.errors import PotluckError
from potluck.protocol.invite import decode_invite
from potluck.protocol.swarm import Swarm
from potluck_cli.terminal import Terminal

START_TIMEOUT_S = 20.0
END_TIMEOUT_S = 30.0
FOUND_TIMEOUT_S = 120.0  # for an engine that starts
_POLL_S = 0.05
_PROGRESS_POLL_S = 0.3
_ON_ITS_WAY = (State.STARTING, State.JOINING)

T = TypeVar("T")


def daemon() -> ControlClient:
    """Return a client of the running daemon. Raises DaemonAwayError, or ControlError if it speaks another version."""
    client = ControlClient(find_socket())
    client.hello("potluck command line")
    return client


def hello_or_none() -> DaemonHello | None:
    """Return the running daemon's greeting; None if there is no daemon."""
    try:
        return ControlClient(find_socket()).hello("potluck command line")
    except DaemonAwayError:
        return None


def status_or_none() -> Status | None:
    """Return the running daemon's status; None if there is no daemon, or it speaks another version."""
    try:
        return daemon().call(schema.STATUS)
    except PotluckError:
        return None


def with_own_daemon(swarm: Swarm) -> Swarm:
    """Add this user's daemon to the peers to ask, if it serves the swarm or is about to."""
    client = ControlClient(find_socket())
    try:
        if not swarm.bootstrap_peers:  # nobody but our own daemon can be asked
            wait_until_found(client)
        served = decode_invite(client.call(schema.INVITE).invite)
    except PotluckError:  # no daemon, or it serves nothing yet
        return swarm
    is_same = (served.prefix, served.membership_key) == (swarm.prefix, swarm.membership_key)
    return served if is_same else swarm


def wait_until_found(client: ControlClient, poll_s: float = 0.2) -> None:
    """Wait while the daemon starts to serve its swarm, until others could find it. Raises DaemonAwayError."""
    deadline, is_told = time.monotonic() + FOUND_TIMEOUT_S, False
    while client.call(schema.STATUS).state in _ON_ITS_WAY and time.monotonic() < deadline:
        with contextlib.suppress(ControlError):  # nobody to ask yet
            client.call(schema.INVITE)
            return
        if not is_told:
            print("waiting for this machine's engine to start", file=sys.stderr)
            is_told = True
        time.sleep(poll_s)


def follow(
    client: ControlClient, method: Method[Empty, T], now: T, step: Callable[[T], str | None], *, shows: bool
) -> T:
    """Call `method` until `step` returns None for its result, and show each new step on a terminal."""
    terminal, shown = Terminal(), ""
    while (text := step(now)) is not None:
        if shows and terminal.is_interactive and text != shown:
            shown = text
            terminal.line(terminal.faint(text))
        time.sleep(_PROGRESS_POLL_S)
        now = client.call(method)
    return now


def wait_until_ended() -> None:
    """Wait until a daemon that was asked to end is gone. Raises PotluckError if it stays."""
    deadline = time.monotonic() + END_TIMEOUT_S
    while hello_or_none() is not None:
        if time.monotonic() > deadline:
            raise PotluckError("the daemon does not stop", hint="potluck logs")
        time.sleep(_POLL_S)


def start_daemon() -> DaemonHello:
    """Start a daemon that outlives this command, and wait until it answers.

    Two calls at the same time start one daemon: its lock decides, and both find it. Raises PotluckError.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "potluck_cli.daemon"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stderr is not None
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if (hello := hello_or_none()) is not None:
            process.stderr.close()
            return hello
        if process.poll() not in (None, 3):  # 3: another one was faster and answers soon
            said = process.stderr.read().decode(errors="replace").strip().splitlines()
            why = said[-1] if said else "no reason given"
            raise PotluckError(f"the daemon does not start: {why}", hint="potluck doctor")
        time.sleep(_POLL_S)
    raise PotluckError("the daemon started but does not answer", hint="potluck logs")
