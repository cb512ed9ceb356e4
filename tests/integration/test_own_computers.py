"""One person's three computers: the second joins with a code, the third gets the keys from a backup. All serve."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.daemon_process import LOOPBACK, DaemonProcess, giving_up_after
from potluck_control import schema
from potluck_control.methods import members
from potluck_control.states import State

_PASSWORD = "correct horse battery"
_CLI = (sys.executable, "-m", "potluck_cli.main")


@pytest.fixture(scope="module")
def computers() -> Iterator[tuple[DaemonProcess, ...]]:
    """Three daemons; the first has founded a swarm and serves it."""
    with contextlib.ExitStack() as stack:
        made = tuple(stack.enter_context(DaemonProcess(LOOPBACK)) for _ in range(3))
        made[0].client.call(schema.CREATE)
        made[0].wait_state(State.SERVING)
        yield made


def told(computer: DaemonProcess, said: str, *arguments: str) -> str:
    """Return what a command printed that was told something on its standard input."""
    done = subprocess.run([*_CLI, *arguments], env=computer.environment, input=said, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def machines_known_to(computer: DaemonProcess) -> list[int]:
    """Return how many computers each person has, as one computer knows it."""
    return [len(each.machines) for each in computer.client.call(members.LIST).members]


def test_a_code_and_a_backup_make_computers_the_same_persons(
    computers: tuple[DaemonProcess, ...], tmp_path: Path
) -> None:
    desktop, laptop, tower = computers
    command = [*_CLI, "members", "add-computer", "--address", "127.0.0.1"]
    with subprocess.Popen(command, env=desktop.environment, stdout=subprocess.PIPE, text=True) as adding:
        assert adding.stdout is not None
        with giving_up_after(120, adding):  # type: ignore[arg-type]
            code = next(
                line.strip() for line in adding.stdout if re.fullmatch(r"\s*([0-9A-Z]{4}-){4}[0-9A-Z]{4}\s*", line)
            )
            assert "Joined home" in told(laptop, code, "join", "--code")
            assert "It is one of your computers in home now." in adding.stdout.read()
            assert adding.wait() == 0
    assert machines_known_to(desktop) == [2]
    laptop.wait_state(State.SERVING)

    backup = tmp_path / "keys"
    told(desktop, f"{_PASSWORD}\n", "members", "backup", str(backup))
    assert backup.stat().st_mode & 0o777 == 0o600
    told(tower, f"{_PASSWORD}\n", "members", "restore", str(backup))
    tower.wait_state(State.SERVING)
    tower.wait_for(lambda _: machines_known_to(tower) == [3])
    desktop.wait_for(lambda _: machines_known_to(desktop) == [3])
    assert tower.client.call(members.LIST).is_founder
    assert not laptop.client.call(members.LIST).may_lead
