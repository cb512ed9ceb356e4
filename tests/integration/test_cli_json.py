"""What commands print with --json has the shape that the manual promises, to a script's eyes: types and all fields."""

import json
from collections.abc import Iterator
from dataclasses import fields

import pytest
from helpers.daemon_process import LOOPBACK, DaemonProcess
from potluck_cli.upkeep.config import ConfigPage
from potluck_control.api.client import DaemonAwayError

from installer.manual import result_of
from potluck.membership.invite import Invite, encode_invite
from potluck.protocol.codec import builtins, decode, encode
from potluck.protocol.swarm import new_swarm

OFF = LOOPBACK.replace("[serve]", "[serve]\nenabled = false")  # no engine: this is about words
INVITE = encode_invite(Invite(new_swarm("friends", "owner/model", 4, "local")))


@pytest.fixture(scope="module")
def started() -> Iterator[DaemonProcess]:
    with DaemonProcess(OFF) as made:
        yield made


@pytest.fixture
def daemon(started: DaemonProcess) -> DaemonProcess:
    """One that runs, whatever the commands before have done to it."""
    try:
        started.client.hello("test")
    except DaemonAwayError:
        started.wait_ended()
        started.start()
    return started


def shape(name: str, action: str | None = None) -> type:
    result = result_of(["potluck", name, *([action] if action and not action.startswith("-") else [])])
    return result[0] if isinstance(result, tuple) else result  # by options; what comes without any is the first


@pytest.mark.parametrize(
    "line",
    [
        "start",
        "status",
        "top -n 1",
        "pause for 1h",
        "pause forever",
        "resume",
        "history",
        "logs -n 5",
        f"join {INVITE}",
        f"swarm join {INVITE}",
        "swarm list",
        f"join {INVITE} && leave friends",
        "programs list",
        "programs never mpv",
        "models list",
        "earnings",
        "autostart",
        "gateway status",
        "doctor",
        "diag --output /dev/null",
        "drain --within 0s",
        "stop",
    ],
)
def test_the_output_has_the_promised_fields(daemon: DaemonProcess, line: str) -> None:
    *before, words = (command.split() for command in line.split(" && "))
    for others in before:
        assert daemon.command(*others).returncode == 0
    done = daemon.command(*words, "--json")
    assert done.returncode in (0, 1 if words[0] == "doctor" else 0), done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    kind = shape(words[0], words[1] if len(words) > 1 else None)
    assert set(found) == set(builtins(decode(kind, encode(found))))


def test_settings_have_it_too(daemon: DaemonProcess) -> None:
    found = json.loads(daemon.command("config", "list", "--json").stdout)
    assert set(found) == {field.name for field in fields(ConfigPage)}
