"""Reaches the daemon from the command line, starts it, and waits for it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from potluck_control.api import schema
from potluck_control.api.client import CALL_TIMEOUT_S, ControlClient, ControlError, DaemonAwayError
from potluck_control.api.liveness import is_hung, peer_of, read_pulse
from potluck_control.api.method import Empty, Method
from potluck_control.api.schema import DaemonHello, Status
from potluck_control.methods import swarms
from potluck_control.places import find_places, find_socket
from potluck_control.processes.python_command import child_environment, python_command
from potluck_control.settings import Settings
from potluck_control.states import State
from potluck_daemon.host.instance import EXIT_ALREADY_RUNNING, lock_holder
from potluck_daemon.host.systemd import stop_service
from potluck_daemon.settings.store import load_settings

from potluck.allowance import stretched
from potluck.errors import PotluckError, UsageError
from potluck.locks import is_locked
from potluck.membership.membership import Membership
from potluck_cli.terminal import WaitNotice

START_TIMEOUT_S = 20.0
END_TIMEOUT_S = 30.0
KILL_AFTER_S = 10.0  # how long a hung daemon may take to end
FOUND_TIMEOUT_S = 120.0  # the longest wait for a starting engine
_NAME = "potluck command line"
_POLL_S = 0.05
_PROMPT_S = 1.0  # a daemon answers within milliseconds unless the machine is busy
_PATIENCE_S = 2.5
_PROGRESS_POLL_S = 0.3
_ON_ITS_WAY = (State.STARTING, State.JOINING)

P = TypeVar("P")
T = TypeVar("T")


class DaemonUnreachableError(DaemonAwayError):
    """A daemon holds its lock, but its socket is not there: it starts or ends, or somebody removed the socket.

    `pid`: its process; 0 if that isn't on this computer.
    """

    def __init__(self, pid: int, place: Path) -> None:
        text = f"the daemon runs as process {pid} without its socket {place}, which it makes within seconds"
        hint = "try again in a moment; potluck stop ends it"
        if pid == 0:
            text = "the daemon runs as another user, on another computer or in a container that shares your home"
            hint = "end it there, or name a folder of this computer's own by XDG_STATE_HOME"
        super().__init__(text, hint=hint)
        self.pid = pid


class DaemonHungError(DaemonAwayError):
    """The daemon runs but does not respond."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"the daemon (process {pid}) does not respond", hint="potluck stop ends it; see: potluck logs")
        self.pid = pid


class _PatientClient(ControlClient):
    """A client that shows a notice if the daemon takes long to answer."""

    def call(self, method: Method[P, T], params: P | None = None) -> T:
        with WaitNotice("Waiting for the daemon's answer"):
            return super().call(method, params)


def daemon(*, any_version: bool = False) -> ControlClient:
    """Return a client of the running daemon. Raises as `hello`."""
    hello(any_version=any_version)
    return _PatientClient(find_socket())


def hello(*, any_version: bool = False) -> DaemonHello:
    """Return the running daemon's greeting.

    Args:
        any_version: accept a daemon that speaks another version, which can still be ended.

    Raises:
        DaemonHungError: it hangs.
        DaemonUnreachableError: it runs without its socket.
        DaemonAwayError: there is none.
        ControlError: it speaks another version.
    """
    places = find_places()
    try:
        return _hello(places.socket, _PROMPT_S, any_version)
    except DaemonAwayError as error:
        if not isinstance(error.__cause__, TimeoutError):
            if (pid := lock_holder(places.lock_file)) is not None:
                raise DaemonUnreachableError(pid, places.socket) from error
            raise
    pid = peer_of(places.socket)
    before, began = read_pulse(pid), time.monotonic()
    try:
        return _hello(places.socket, _PATIENCE_S, any_version)
    except DaemonAwayError:
        if pid is not None and is_hung(time.monotonic() - began, before, read_pulse(pid)):
            raise DaemonHungError(pid) from None
    return _hello(places.socket, CALL_TIMEOUT_S, any_version)


def _hello(place: Path, timeout_s: float, any_version: bool) -> DaemonHello:
    client = _PatientClient(place, timeout_s=timeout_s)
    return client.call(schema.HELLO, schema.HelloParams(_NAME)) if any_version else client.hello(_NAME)


def own_settings() -> Settings:
    """Read this user's settings, whether a daemon runs or not."""
    return load_settings(find_places().settings_file).settings


def hello_or_none(*, or_silent: bool = True, any_version: bool = False) -> DaemonHello | None:
    """Return the running daemon's greeting as `hello`, or None if none runs.

    A daemon that doesn't answer counts as none if `or_silent`, and raises as `hello` otherwise.
    """
    try:
        return hello(any_version=any_version)
    except DaemonAwayError as error:
        if or_silent or isinstance(error.__cause__, FileNotFoundError | ConnectionRefusedError):
            return None
        raise


def status_or_reason() -> Status | PotluckError:
    """Return the running daemon's status, or why there is none."""
    try:
        return daemon().call(schema.STATUS)
    except PotluckError as error:
        return error


def with_own_daemon(membership: Membership) -> Membership:
    """Return the membership with this user's daemon as bootstrap peer, if it serves the swarm or is about to."""
    client, swarm = _PatientClient(find_socket()), membership.swarm
    try:
        if not swarm.bootstrap_peers:  # nobody but our own daemon can be asked
            wait_until_found(client)
        served = client.call(swarms.CONTACT)
    except PotluckError:  # no daemon, or it serves nothing yet
        return membership
    if served.prefix != swarm.prefix:
        return membership
    return replace(membership, swarm=replace(swarm, bootstrap_peers=served.peers))


def wait_until_found(client: ControlClient, poll_s: float = 0.2) -> None:
    """Wait while the daemon starts to serve its swarm, until others could find it. Raises DaemonAwayError."""
    deadline = time.monotonic() + FOUND_TIMEOUT_S
    with WaitNotice("Waiting for this machine's engine to start", 15):
        while client.call(schema.STATUS).state in _ON_ITS_WAY and time.monotonic() < deadline:
            with contextlib.suppress(ControlError):  # the engine cannot be found yet
                client.call(swarms.CONTACT)
                return
            time.sleep(poll_s)


def poll_until_done(
    client: ControlClient, method: Method[Empty, T], now: T, step: Callable[[T], str | None], about_s: int = 0
) -> T:
    """Call `method` until `step` returns None for its result, and show each step. `about_s`: as in `WaitNotice`."""
    if (text := step(now)) is None:
        return now
    with WaitNotice(text, about_s) as wait:
        while (text := step(now)) is not None:
            wait.doing = text
            time.sleep(_PROGRESS_POLL_S)
            now = client.call(method)
    return now


def wait_until_ended() -> None:
    """Wait until the daemon, which is ending, has gone. Raises PotluckError if it stays."""
    deadline = time.monotonic() + END_TIMEOUT_S
    with WaitNotice("Ending the daemon", 2):
        while _is_running():
            if time.monotonic() > deadline:
                raise PotluckError("the daemon does not stop", hint="potluck logs")
            time.sleep(_POLL_S)


def _is_running() -> bool:
    try:
        return hello_or_none(or_silent=False, any_version=True) is not None
    except DaemonHungError:
        raise
    except DaemonAwayError:
        return True  # it is ending


def end_unresponsive(error: DaemonHungError | DaemonUnreachableError) -> None:
    """End a daemon that does not answer, if need be by force, and stop its service, which would start it again.

    Raises:
        PotluckError: it belongs to another user, is not on this computer, or cannot be ended.
        UsageError: a program that is no daemon listens at the daemon's socket.
    """
    pid = error.pid
    if not pid:
        raise error
    try:
        os.kill(pid, 0)
        if lock_holder(find_places().lock_file) != pid:
            text = f"process {pid} listens at the daemon's socket but is no daemon of Potluck"
            raise UsageError(text, hint=f"end that program, for example by kill {pid}")
        end_process(pid, KILL_AFTER_S if isinstance(error, DaemonHungError) else END_TIMEOUT_S)
    except ProcessLookupError:
        pass  # it has ended meanwhile
    except PermissionError:
        raise UsageError(f"process {pid} belongs to another user", hint="sudo potluck stop") from None
    stop_service()


def end_process(pid: int, patience_s: float) -> None:
    """End a process in order if it does within `patience_s`, else by force. Raises PotluckError, PermissionError."""
    with contextlib.suppress(ProcessLookupError):
        for number in (signal.SIGTERM, signal.SIGCONT):  # a stopped process can end in order once it continues
            os.kill(pid, number)
        with WaitNotice(f"Ending process {pid}", round(patience_s)):
            if not _has_ended(pid, patience_s):
                os.kill(pid, signal.SIGKILL)
                if not _has_ended(pid, KILL_AFTER_S):
                    raise PotluckError(f"process {pid} cannot be ended", hint="restart this computer")


def _has_ended(pid: int, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while (pulse := read_pulse(pid)) is not None and pulse.state not in "ZX":
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def start_daemon(within_s: float = START_TIMEOUT_S) -> DaemonHello:
    """Start a daemon that outlives this command, and wait until it answers.

    Two calls at the same time start one daemon: its lock decides, and both find it. Raises PotluckError.
    """
    lock, deadline = find_places().lock_file, time.monotonic() + stretched(within_s)
    process = None
    with WaitNotice("Starting the daemon", 3), contextlib.ExitStack() as pipes:
        while time.monotonic() < deadline:
            if (hello := hello_or_none()) is not None:
                return hello
            if process is not None and process.poll() not in (None, EXIT_ALREADY_RUNNING):
                lines = process.communicate()[1].decode(errors="replace").strip().splitlines()
                why = lines[-1] if lines else process.returncode
                raise PotluckError(f"the daemon does not start: {why}", hint="potluck doctor")
            if (process is None or process.poll() is not None) and not is_locked(lock):
                process = _run_daemon()
                pipes.enter_context(process.stderr or contextlib.nullcontext())
            time.sleep(_POLL_S)
    raise PotluckError("the daemon started but does not answer", hint="potluck logs")


def _run_daemon() -> subprocess.Popen[bytes]:
    """Run a daemon that outlives this process, and ends with EXIT_ALREADY_RUNNING if another one holds the lock."""
    return subprocess.Popen(
        python_command(sys.executable, "-m", "potluck_cli.daemon"),
        env=child_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
