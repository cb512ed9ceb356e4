"""docs/headless.md under a real systemd: its commands in their order, by root and by a user."""

import shlex
import subprocess
from collections.abc import Iterator

import pytest
from helpers.container import Container
from helpers.documents import Kind, Passage, passages

from potluck.membership.invite import Invite, encode_invite
from potluck.protocol.swarm import new_swarm

pytestmark = pytest.mark.container

SETTINGS = """
[serve]
checkpoint = "/opt/source/tests/golden/petals/checkpoint"
blocks = "0:4"
threads = 1
"""
PATH = "/usr/local/bin:/opt/potluck/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INVITE = encode_invite(Invite(new_swarm("tiny", "tiny-petals", 4, revision="local")))
CODES = {"sudo potluck doctor": (0, 1)}  # 1: it found something
LASTING = ("sudo potluck top", "journalctl -u potluckd -f")
USERS_OWN = ("potluck autostart --daemon on", "potluck start")
# `test_server_package` and `test_wheel` try those of packages.
PACKAGERS = ("sudo apt ", "sudo python3 -m venv", "sudo /opt/potluck/bin/pip", "docker ")
EDITOR = "#!/bin/sh\nprintf '[Service]\\nNice=5\\n' > $1\n"


@pytest.fixture
def machine() -> Iterator[Container]:
    with Container() as made:
        made.write("/usr/local/bin/sudo", '#!/bin/sh\nexec "$@"\n')
        made.write("/usr/local/bin/editor", EDITOR)
        made.output("chmod", "755", "/usr/local/bin/sudo", "/usr/local/bin/editor")
        made.write("/etc/potluck/settings.toml", SETTINGS)
        made.add_user("donor")
        yield made


def typed(machine: Container, command: str) -> subprocess.CompletedProcess[str]:
    """Run it in a terminal; what ends with Ctrl-C only, until it has shown a line."""
    user = "donor" if command in USERS_OWN else None
    if command in LASTING:
        command = f"{command} | head -n 1"
    command = f"echo {INVITE} | {command}" if command.endswith("potluck join") else command
    shell = f"export PATH={PATH} USER=donor SYSTEMD_EDITOR=/usr/local/bin/editor; {command}"
    terminal = ("script", "--quiet", "--return", "--command", f"sh -c {shlex.quote(shell)}", "/dev/null")
    return machine.run(*terminal, user=user)


@pytest.mark.timeout(600)
def test_a_server_is_kept_as_the_page_says(machine: Container) -> None:
    for passage in passages("headless"):
        if passage.kind is Kind.SHELL and not passage.text.startswith(PACKAGERS):
            done = typed(machine, passage.text)
            assert done.returncode in CODES.get(passage.text, (0,)), f"{passage}\n{done.stdout}{done.stderr}"
            assert_done(machine, passage, done.stdout)


def assert_done(machine: Container, passage: Passage, said: str) -> None:
    """What a few of the commands are there for."""
    match passage.text:
        case "sudo potluck status":
            assert "tiny" in said
        case "sudo systemctl edit potluckd":
            assert machine.output("systemctl", "show", "potluckd", "-p", "Nice", "--value") == "5"
        case "sudo potluck drain --within 1h":
            assert "The daemon has ended." in said
        case "potluck start":
            assert machine.output("systemctl", "--user", "is-active", "potluckd", user="donor") == "active"
