"""Ending one daemon and starting another; and processes that outlive the daemon that starts them."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

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


@pytest.fixture
def hung_daemon(tmp_path: Path) -> Iterator[Path]:
    """Somebody listens and never answers."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "hung.sock"))
        listening.listen()
        yield tmp_path / "hung.sock"


def test_a_daemon_that_is_not_there_need_not_be_ended(folder: Path) -> None:
    assert not LocalSuccessor(folder / "socket", None).drain()


def test_a_daemon_that_hangs_is_not_passed_over(hung_daemon: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(succession, "_ANSWER_S", 0.1)
    with pytest.raises(DaemonAwayError, match="does not answer"):
        LocalSuccessor(hung_daemon, None).drain()


def test_a_daemon_that_ends_at_once_is_told_with_its_last_words(folder: Path) -> None:
    program(folder, "echo first; echo 'the reason' >&2; exit 1")
    with pytest.raises(PotluckError, match="its daemon ended: the reason"):
        LocalSuccessor(folder / "socket", None).start(folder)


def test_it_is_started_again_while_the_one_before_holds_the_lock(folder: Path) -> None:
    program(folder, f"test -e {folder}/tried && exit 1; touch {folder}/tried; exit 3")
    with pytest.raises(PotluckError, match="its daemon ended"):
        LocalSuccessor(folder / "socket", None).start(folder)
    assert (folder / "tried").exists()


def test_one_that_never_answers_is_given_up_and_killed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(succession, "START_TIMEOUT_S", 2.0)  # in which a shell surely notes its number
    program(folder, f"echo $$ >{folder}/pid; exec sleep 600")
    successor = LocalSuccessor(folder / "socket", None)
    with pytest.raises(PotluckError, match="does not answer"):
        successor.start(folder)
    successor.end()
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)


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
