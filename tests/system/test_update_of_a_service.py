"""A real `.run` installation run by systemd: it becomes a good version, and comes back from a bad one.

systemd restarts what crashes and gives up after some failures, so this shows that the way back is shorter than that.
"""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from installer.release import MANIFEST, load_key, new_key, release
from installer.tree import product_version
from tests.helpers import installing
from tests.helpers.debian import Debian
from tests.helpers.releases import CRASHES, retitled, waiting

pytestmark = [
    pytest.mark.container,
    pytest.mark.timeout(900, func_only=True),
]

ROOT = "/home/alice/.local/lib/potluck"
POTLUCK = "/home/alice/.local/bin/potluck"
IDENTITY = "/home/alice/.local/state/potluck/identity.key"
GOOD, BAD = "0.98.0", "0.99.0"
HERE = ("127.0.0.1", "8000")
CALL = """
import sys
from potluck_control.api.all_methods import METHODS
from potluck.protocol.codec import CodecError, builtins, decode, encode
from potluck_control.api.client import ControlClient
from potluck_control.places import find_socket
print(encode(ControlClient(find_socket()).call(METHODS[sys.argv[1]])).decode())
"""


class Web:
    """The publisher's server, inside the machine: there is no other way to one."""

    def __init__(self, packages: Path, keys: Path) -> None:
        self.folder = packages / "web"
        self._key = keys / "publisher.key"
        self.folder.mkdir(mode=0o755)
        self.key = new_key(self._key)

    def publish(self, version: str) -> None:
        release(self.folder, version, ["faster"], load_key(self._key))


@pytest.fixture(scope="module")
def web(packages: Path, run_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    made = Web(packages, tmp_path_factory.mktemp("keys"))
    retitled(run_file, GOOD, made.folder)
    retitled(run_file, BAD, made.folder, CRASHES)
    yield made
    shutil.rmtree(made.folder)  # the other packages stay


@pytest.fixture
def machine(packages: Path, run_file: Path, web: Web) -> Iterator[Debian]:
    with installing.fresh_debian(packages) as made:
        installing.get_ready(made, needs_xz=True)
        made.output("systemd-run", "python3", "-m", "http.server", "--directory", "/packages/web", "--bind", *HERE)
        made.output("sh", installing.placed(run_file), user="alice")
        made.output(POTLUCK, "config", "set", "updates.url", f"http://{HERE[0]}:{HERE[1]}/{MANIFEST}", user="alice")
        made.output(POTLUCK, "config", "set", "updates.key", web.key, user="alice")
        made.output(POTLUCK, "autostart", "--daemon", "on", user="alice")
        made.output(POTLUCK, "start", user="alice")
        yield made


def call(machine: Debian, method: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(machine.output(f"{ROOT}/current/bin/python3", "-c", CALL, method, user="alice"))
    return said


def of_service(machine: Debian, name: str) -> str:
    return machine.output("systemctl", "--user", "show", "potluckd", "-p", name, "--value", user="alice")


def wait_for(machine: Debian, version: str) -> dict[str, Any]:
    """Wait until this version runs; return the state of updates. A daemon between two versions doesn't answer."""
    with waiting():
        while True:
            with contextlib.suppress(AssertionError):
                state = call(machine, "updates.state")
                if state["running"] == version and state["progress"] is None:
                    return state


def test_a_service_becomes_the_new_version_and_comes_back_from_one_that_crashes(machine: Debian, web: Web) -> None:
    web.publish(GOOD)
    identity = machine.output("sha256sum", IDENTITY)
    before = of_service(machine, "MainPID")
    assert call(machine, "updates.check")["offered"]["version"] == GOOD
    call(machine, "updates.install")
    state = wait_for(machine, GOOD)
    assert (state["offered"], state["error"]) == (None, None)
    assert (of_service(machine, "ActiveState"), of_service(machine, "MainPID")) == ("active", before)
    assert machine.output("sha256sum", IDENTITY) == identity
    machine.wait_until("sh", "-c", f"test -e {ROOT}/trial.json || echo proved", says="proved")

    web.publish(BAD)
    call(machine, "updates.install")
    machine.wait_until("readlink", f"{ROOT}/current", user="alice", says=f"versions/{BAD}")
    state = wait_for(machine, GOOD)
    assert f"version {BAD} failed; {GOOD} is in use again" in state["error"]["text"]["text"]
    assert (of_service(machine, "ActiveState"), of_service(machine, "Result")) == ("active", "success")
    assert machine.output("ls", f"{ROOT}/versions").split() == [GOOD]
    assert product_version() not in machine.output("readlink", f"{ROOT}/current")
