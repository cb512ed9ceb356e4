"""Waiting for a daemon that has just been started."""

import io
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from potluck_cli import daemon_access, terminal
from potluck_cli.daemon_access import DaemonHungError, DaemonUnreachableError
from potluck_cli.everyday import start_stop
from potluck_cli.everyday.start_stop import end_daemon
from potluck_control.api.client import ControlClient, ControlError, DaemonAwayError
from potluck_control.api.schema import Status
from potluck_control.methods import swarms
from potluck_control.places import Places
from potluck_control.states import Reason, State
from potluck_daemon.host.instance import InstanceLock

from potluck.errors import UsageError


class StartingDaemon:
    """In these states one after the other; only one that serves can say where it is found."""

    def __init__(self, states: Iterable[State]) -> None:
        self._states = iter(states)
        self._now = State.IDLE

    def call(self, method: object) -> Any:
        if method is swarms.CONTACT:
            if self._now is not State.JOINING:
                raise ControlError("the swarm cannot be found by others yet")
            return swarms.Contact("home", "_home", ())
        self._now = next(self._states)
        return Status(self._now, Reason.NONE, "", 0.0, "1")

    def left(self) -> list[State]:
        return list(self._states)


def test_it_waits_for_an_engine_that_is_on_its_way() -> None:
    for states, left in (
        ((State.STARTING, State.STARTING, State.JOINING, State.SERVING), 1),  # asked no more once it is found
        ((State.STARTING, State.ERROR, State.STARTING), 1),  # nothing is on its way
        ((State.PAUSED, State.PAUSED), 1),
        ((State.SERVING, State.SERVING), 1),
    ):
        daemon = StartingDaemon(states)
        daemon_access.wait_until_found(cast(ControlClient, daemon), 0.0)
        assert len(daemon.left()) == left


class Screen(io.StringIO):
    """Standard error that keeps what is written, and tells when the first of it comes."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal
        self.has_text = threading.Event()

    def isatty(self) -> bool:
        return self.is_terminal

    def write(self, text: str) -> int:
        written = super().write(text)
        self.has_text.set()
        return written


def test_a_silent_wait_is_explained_in_one_line_that_a_terminal_takes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_SILENCE_S", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    for is_terminal in (True, False):
        monkeypatch.setattr(sys, "stderr", screen := Screen(is_terminal=is_terminal))
        with terminal.WaitNotice("Looking for the \x1b[31mswarm", 10), terminal.WaitNotice("Inside of it"):
            assert screen.has_text.wait(60.0)
        said = screen.getvalue()
        if is_terminal:
            assert said.startswith("\r\x1b[KLooking for the [31mswarm (usually about 10 s) ... 0 s")
            assert said.endswith("\r\x1b[K")
        else:
            assert said == "Looking for the [31mswarm (usually about 10 s) ...\n"
        assert "Inside" not in said
    monkeypatch.setattr(terminal, "_SILENCE_S", 60.0)
    monkeypatch.setattr(sys, "stderr", screen := Screen(is_terminal=True))
    with terminal.WaitNotice("Looking"):
        pass
    assert screen.getvalue() == ""


def test_a_daemon_that_is_away_is_not_waited_for() -> None:
    class Away:
        def call(self, method: object) -> Any:
            raise DaemonAwayError("the daemon is not running")

    with pytest.raises(DaemonAwayError):
        daemon_access.wait_until_found(cast(ControlClient, Away()))


def test_a_process_that_was_stopped_ends_in_order_if_it_can() -> None:
    for handler, code in (("SIG_DFL", -signal.SIGTERM), ("SIG_IGN", -signal.SIGKILL)):
        script = f"import signal, time; signal.signal(15, signal.{handler}); print(flush=True); time.sleep(600)"
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        os.kill(process.pid, signal.SIGSTOP)
        daemon_access.end_process(process.pid, 60.0 if handler == "SIG_DFL" else 0.2)
        assert process.wait() == code


def test_a_daemon_is_found_by_its_lock_and_none_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = Places(*(tmp_path / name for name in ("config", "state", "run", "cache")))
    monkeypatch.setattr(daemon_access, "find_places", lambda: places)
    assert daemon_access.hello_or_none(or_silent=False) is None
    places.state.mkdir()
    lock = InstanceLock(places.lock_file)
    lock.acquire()
    with pytest.raises(DaemonUnreachableError, match=f"runs as process {os.getpid()} without its socket"):
        daemon_access.hello_or_none(or_silent=False)
    assert daemon_access.hello_or_none() is None
    places.lock_file.write_text("1\n")  # a process that does not hold it
    with pytest.raises(DaemonUnreachableError, match="another computer") as away:
        end_daemon()
    assert away.value.pid == 0
    lock.release()
    assert not end_daemon()
    places.runtime.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(places.socket))
        with pytest.raises(DaemonAwayError, match="does not answer"):
            end_daemon()


def test_a_daemon_that_falls_silent_while_it_ends_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fall_silent(method: object) -> None:
        raise DaemonHungError(os.getpid())

    ended: list[Exception] = []
    monkeypatch.setattr(start_stop, "hello_or_none", lambda **_: object())
    monkeypatch.setattr(start_stop, "daemon", lambda **_: SimpleNamespace(call=fall_silent))
    monkeypatch.setattr(start_stop, "end_unresponsive", ended.append)
    with pytest.raises(DaemonHungError):
        end_daemon()
    assert not ended


def test_a_program_that_listens_in_the_daemons_place_is_not_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = Places(*(tmp_path / name for name in ("config", "state", "run", "cache")))
    monkeypatch.setattr(daemon_access, "find_places", lambda: places)
    with subprocess.Popen(["sleep", "600"]) as program:
        with pytest.raises(UsageError, match=f"process {program.pid} listens at the daemon's socket"):
            daemon_access.end_unresponsive(DaemonHungError(program.pid))
        assert program.poll() is None
        program.kill()


def test_without_a_runtime_folder_the_socket_lies_in_the_state_folder(tmp_path: Path) -> None:
    places = Places(*(tmp_path / name for name in ("config", "state", "session/run", "cache")))
    assert places.socket == tmp_path / "state/run/potluckd.sock"
    (tmp_path / "session").mkdir()
    assert places.socket == tmp_path / "session/run/potluckd.sock"
    assert replace(places, is_system=True, runtime=Path("/gone/run")).socket == Path("/gone/run/potluckd.sock")
