"""docs/examples/ansible.yaml, played by Ansible on this machine against a booted Debian 12."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.helpers import installing
from tests.helpers.debian import CACHE, REPOSITORY, Debian, alone

pytestmark = [
    pytest.mark.container,
    pytest.mark.timeout(900, func_only=True),
    pytest.mark.soak,
]

ANSIBLE = "ansible-core==2.19.14"
PLAYBOOK = REPOSITORY / "docs" / "examples" / "ansible.yaml"
HOST = "server"
# Ansible gives ssh many options, the name of the host and one command; here the command begins inside the machine.
SSH = '#!/bin/sh\nfor command; do :; done\nexec {words} sh -c "$command"\n'
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.fixture
def server(packages: Path, headless: Path) -> Iterator[Debian]:
    with installing.fresh_debian(packages) as made:
        installing.get_ready(made)
        installing.install_needs(made, headless)
        installing.install(made, "python3-apt")  # Ansible would, but from a network that it does not have here
        folder = " ".join(f"{name}={value}" for name, value in installing.FROM_FOLDER.items())
        made.write("/etc/systemd/system/potluck-join.service.d/folder.conf", f"[Service]\nEnvironment={folder}\n")
        yield made


def test_the_playbook_makes_a_server_and_leaves_it_alone_afterwards(
    server: Debian, headless: Path, tmp_path: Path
) -> None:
    invite = tmp_path / "invite"
    invite.write_text(f"{installing.INVITE}\n")
    assert changed(play(server, tmp_path, package=headless, invite=invite)) > 0
    status = json.loads(server.wait_until("potluck", "status", "--json", says=installing.SERVING))
    assert status["swarm"]["name"] == "friends"
    assert server.run("test", "-e", "/etc/potluck/invite").returncode == 1
    assert changed(play(server, tmp_path, package=headless, invite=invite)) == 0


def play(server: Debian, folder: Path, **variables: Path) -> str:
    """Run the playbook as its first lines say, and return Ansible's summary of the machine."""
    ssh = folder / "ssh"
    words = server.inside("env", "-i", f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8")
    ssh.write_text(SSH.format(words=shlex.join(words)))
    ssh.chmod(0o755)
    given = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
    done = subprocess.run(
        [ansible() / "bin" / "ansible-playbook", "-i", f"{HOST},", "-u", "root", PLAYBOOK, *given],
        capture_output=True,
        text=True,
        check=False,
        env=settings(folder) | {"ANSIBLE_SSH_EXECUTABLE": str(ssh)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert installing.INVITE not in done.stdout + done.stderr
    return done.stdout.rpartition("PLAY RECAP")[2]


def settings(folder: Path) -> Mapping[str, str]:
    """What Ansible reads and writes lies in `folder`; pipes carry its files."""
    return {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "HOME": str(folder),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_SSH_TRANSFER_METHOD": "piped",
    }


def changed(summary: str) -> int:
    found = re.search(rf"^{HOST} .*changed=(\d+) .*failed=0 ", summary, re.MULTILINE)
    assert found is not None, summary
    return int(found[1])


def ansible() -> Path:
    """Return an environment with Ansible, made once, from where pip looks here."""
    folder = CACHE / ANSIBLE.replace("==", "-")
    with alone(folder.name):
        if not (folder / "bin" / "ansible-playbook").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", ANSIBLE], check=True)
    return folder
