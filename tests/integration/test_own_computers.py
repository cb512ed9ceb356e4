"""One person's three computers: the second joins with an invite for one machine, the third gets the keys from a backup.

The first pauses: an invite that names nobody but it still leads somebody else to the second one, which serves.
"""

import contextlib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.command_line import CommandLine
from helpers.daemon_process import LOOPBACK, DaemonProcess, giving_up_after
from potluck_control.api import schema
from potluck_control.methods import members
from potluck_control.methods import members as own
from potluck_control.states import State

from tests.helpers.fork_server import start_python

_PASSWORD = "correct horse battery"
_CLI = ("-m", "potluck_cli.main")
_PIPE = subprocess.PIPE


@pytest.fixture
def port() -> Iterator[int]:
    """A port for processes that follow each other: nobody else gets it while a socket has it that does not listen."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def computers(port: int) -> Iterator[tuple[DaemonProcess, ...]]:
    """Three daemons; the first has founded a swarm and serves it. The third is paused."""
    with contextlib.ExitStack() as stack:
        settings = (LOOPBACK.replace("tcp/0", f"tcp/{port}"), LOOPBACK, LOOPBACK)
        made = tuple(stack.enter_context(DaemonProcess(each)) for each in settings)
        made[2].client.call(schema.PAUSE, schema.PauseParams(None))
        made[0].client.call(schema.CREATE)
        made[0].wait_state(State.SERVING)
        yield made


def told(computer: DaemonProcess, said: str, *arguments: str) -> str:
    """Return what a command printed that was told something on its standard input."""
    with start_python(
        [*_CLI, *arguments], env=computer.environment, stdin=_PIPE, stdout=_PIPE, stderr=_PIPE, text=True
    ) as command:
        out, errors = command.communicate(said)
    assert command.returncode == 0, errors
    return str(out)


def machines_known_to(computer: DaemonProcess) -> list[int]:
    """Return how many computers each person has, as one computer knows it."""
    return [len(each.machines) for each in computer.client.call(members.LIST).members]


@pytest.mark.timeout(900)  # of a busy machine, which starts two engines; half a minute else
def test_an_invite_for_one_machine_and_a_backup_make_computers_the_same_persons_and_they_stand_in_for_each_other(
    computers: tuple[DaemonProcess, ...], tmp_path: Path
) -> None:
    desktop, laptop, tower = computers
    invite = desktop.client.call(schema.INVITE, schema.InviteParams(people=2)).invite
    made = desktop.client.call(own.ADD_COMPUTER, members.SwarmParams())
    with (
        start_python(
            [*_CLI, "join"], env=laptop.environment, stdin=_PIPE, stdout=_PIPE, stderr=_PIPE, text=True
        ) as joining,
        giving_up_after(300, joining),
    ):
        assert joining.stdin is not None
        joining.stdin.write(made.invite + "\n")
        joining.stdin.close()
        desktop.wait_for(lambda _: desktop.client.call(members.LIST).asking != "")
        name = desktop.client.call(members.LIST).asking
        desktop.client.call(own.CONFIRM_COMPUTER, own.ConfirmParams(name))
        assert joining.stdout is not None
        assert "Joined home" in joining.stdout.read()
    assert machines_known_to(desktop) == [2]
    laptop.wait_state(State.SERVING)

    backup = tmp_path / "keys"
    told(desktop, f"{_PASSWORD}\n", "members", "backup", str(backup))
    assert backup.stat().st_mode & 0o777 == 0o600
    told(tower, f"{_PASSWORD}\n", "members", "restore", str(backup))
    tower.wait_for(lambda _: machines_known_to(tower) == [3])
    desktop.wait_for(lambda _: machines_known_to(desktop) == [3])
    assert tower.client.call(members.LIST).is_founder
    assert not laptop.client.call(members.LIST).may_lead

    desktop.client.call(schema.PAUSE, schema.PauseParams(None))
    desktop.wait_for(lambda status: status.state is State.PAUSED and status.engine.pid is None)
    friend = desktop.folder / "friend"
    friend.mkdir()
    (friend / "invite").write_text(invite)
    asked = ("generate", "2 3 4 5", "--invite-file", str(friend / "invite"), "--max-new-tokens", "4")
    answer = CommandLine(friend).run(*asked)
    assert answer.code == 0, answer.err
    assert desktop.status().state is State.PAUSED
