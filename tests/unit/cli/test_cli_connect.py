"""Waiting for a daemon that has just been started."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any, cast

import pytest
from potluck_cli import connect, join
from potluck_control import schema
from potluck_control.client import ControlClient, ControlError, DaemonAwayError
from potluck_control.method import Method
from potluck_control.methods import swarms
from potluck_control.schema import Status
from potluck_control.states import Reason, State

from potluck.membership.presentation import WORKING


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


def test_it_waits_for_an_engine_that_is_on_its_way_and_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    for states, left, said in (
        ((State.STARTING, State.STARTING, State.JOINING, State.SERVING), 1, 1),  # asked no more once it is found
        ((State.STARTING, State.ERROR, State.STARTING), 1, 1),  # nothing is on its way
        ((State.PAUSED, State.PAUSED), 1, 0),
        ((State.SERVING, State.SERVING), 1, 0),
    ):
        daemon = StartingDaemon(states)
        connect.wait_until_found(cast(ControlClient, daemon), 0.0)
        assert len(daemon.left()) == left
        assert capsys.readouterr().err.count("\n") == said


def test_a_daemon_that_is_away_is_not_waited_for() -> None:
    class Away:
        def call(self, method: object) -> Any:
            raise DaemonAwayError("the daemon is not running")

    with pytest.raises(DaemonAwayError):
        connect.wait_until_found(cast(ControlClient, Away()))


def test_a_process_that_was_stopped_ends_in_order_if_it_can() -> None:
    for handler, code in (("SIG_DFL", -signal.SIGTERM), ("SIG_IGN", -signal.SIGKILL)):
        script = f"import signal, time; signal.signal(15, signal.{handler}); print(flush=True); time.sleep(600)"
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        os.kill(process.pid, signal.SIGSTOP)
        connect.end_process(process.pid, 60.0 if handler == "SIG_DFL" else 0.2)
        assert process.wait() == code


# -- the work for a public swarm ---------------------------------------------------------------------------------------

NO_SWARM = schema.Status(State.IDLE, Reason.NO_SWARM, "No swarm joined yet", 0.0, "1")
STARTING = schema.Status(State.STARTING, Reason.NONE, "Starting the engine", 0.0, "1")
AT_WORK = schema.Status(State.JOINING, Reason.NONE, f"{WORKING.capitalize()}: 7 of about 9 tries", 0.0, "1")
LOADING = schema.Status(State.JOINING, Reason.NONE, "Loading blocks", 0.0, "1")
PAUSED = schema.Status(State.PAUSED, Reason.USER, "Paused by you", 0.0, "1")


class FakeDaemon:
    """Answers with one status after the other, and is interrupted where there is no further one."""

    def __init__(self, statuses: Sequence[schema.Status]) -> None:
        self.left = list(statuses)

    def call(self, method: Method[object, object]) -> schema.Status:
        assert method is schema.STATUS
        if not self.left:
            raise KeyboardInterrupt
        return self.left.pop(0)


def watch(statuses: Sequence[schema.Status], monkeypatch: pytest.MonkeyPatch) -> FakeDaemon:
    fake = FakeDaemon(statuses)
    monkeypatch.setattr(join, "daemon", lambda: fake)
    monkeypatch.setattr(connect.time, "sleep", lambda seconds: None)
    join._watch_work(schema.Joined("friends", "model"))
    return fake


def test_it_watches_until_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watch([NO_SWARM, STARTING, AT_WORK, AT_WORK, LOADING, PAUSED], monkeypatch).left == [PAUSED]


def test_it_does_not_wait_for_a_computer_that_does_not_serve_now(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watch([NO_SWARM, PAUSED, AT_WORK], monkeypatch).left == [AT_WORK]


def test_interrupting_it_says_that_joining_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        watch([STARTING, AT_WORK], monkeypatch)
    assert "To give up: potluck swarm leave friends" in capsys.readouterr().err
