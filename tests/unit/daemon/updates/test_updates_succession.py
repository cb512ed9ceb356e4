"""Ending one daemon and starting another; and processes that outlive the daemon that starts them."""

import socket
import subprocess
from pathlib import Path

import psutil
import pytest
from potluck_control.client import DaemonAwayError
from potluck_daemon.updates import succession
from potluck_daemon.updates.succession import LocalSuccessor, start_outside

from potluck.errors import PotluckError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path


def program(folder: Path, script: str) -> None:
    path = folder / "bin" / "potluckd"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_daemon_that_is_not_there_need_not_be_ended_and_one_that_hangs_is_not_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CONFIG_HOME", "STATE_HOME", "RUNTIME_DIR"):
        monkeypatch.setenv(f"XDG_{name}", str(folder))
    assert not LocalSuccessor(folder / "socket", None).drain()
    monkeypatch.setattr(succession, "_ANSWER_S", 0.1)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "hung.sock"))
        listening.listen()
        with pytest.raises(DaemonAwayError, match="does not answer"):
            LocalSuccessor(folder / "hung.sock", None).drain()


def test_it_is_started_again_while_the_one_before_holds_the_lock_and_its_last_words_are_told(folder: Path) -> None:
    holds_lock = f"test -e {folder}/tried || {{ touch {folder}/tried; exit 3; }}"
    program(folder, f"{holds_lock}\necho first\necho 'the reason' >&2\nexit 1")
    with pytest.raises(PotluckError, match="does not start: the reason"):
        LocalSuccessor(folder / "socket", None).start(folder)


def test_one_that_never_answers_is_given_up_and_killed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(succession, "START_TIMEOUT_S", 1.0)
    program(folder, "exec sleep 600")
    others = psutil.Process().children()
    successor = LocalSuccessor(folder / "socket", None)
    with pytest.raises(PotluckError, match="does not answer"):
        successor.start(folder)
    (daemon,) = set(psutil.Process().children()) - set(others)
    successor.end()
    assert not daemon.is_running()


def test_under_systemd_it_becomes_a_unit_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        called.append(words)
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(subprocess, "run", run)
    for is_service in (False, True):
        monkeypatch.setattr(succession, "_is_in_unit", lambda is_service=is_service: is_service)
        start_outside(["python", "x"], {"XDG_STATE_HOME": "/s", "SECRET": "no"})
    detached, unit = called
    assert detached == ["setsid", "--fork", "python", "x"]
    assert unit[:2] == ["systemd-run", "--user"]
    assert unit[-4:] == ["--setenv=XDG_STATE_HOME=/s", "--", "python", "x"]


def test_a_process_that_cannot_be_started_outside_is_told() -> None:
    with pytest.raises(PotluckError, match="cannot be started from here") as caught:
        start_outside(["python"], {"PATH": "/nowhere"})
    assert caught.value.hint == "in a terminal: potluck update"
