"""A real `.run` installation whose daemon systemd looks after: it is updated from inside, and left alone by a bad one.

systemd ends with a service whatever the service started, so this shows that the process that updates is not among it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from installer.tree import product_version
from tests.helpers import installing
from tests.helpers.debian import Debian, missing_tool
from tests.helpers.releases import CRASHES, retitled
from tests.helpers.update_server import UpdateServer

pytestmark = [
    pytest.mark.skipif(missing_tool() is not None, reason=str(missing_tool())),
    pytest.mark.timeout(900),
]

ROOT = "/home/alice/.local/lib/potluck"
POTLUCK = "/home/alice/.local/bin/potluck"
IDENTITY = "/home/alice/.local/state/potluck/identity.key"
GOOD, BAD = "0.98.0", "0.99.0"
CALL = """
import sys
from potluck_daemon.codec import dumps
from potluck_daemon.control import schema
from potluck_daemon.control.client import ControlClient
from potluck_daemon.settings.places import find_socket
print(dumps(ControlClient(find_socket()).call(schema.METHODS[sys.argv[1]])).decode())
"""


@pytest.fixture(scope="module")
def server(run_file: Path) -> Iterator[UpdateServer]:
    with tempfile.TemporaryDirectory() as folder, UpdateServer(Path(folder)) as made:
        retitled(run_file, GOOD, made.folder)
        retitled(run_file, BAD, made.folder, CRASHES)
        yield made


@pytest.fixture
def machine(packages: Path, run_file: Path, server: UpdateServer) -> Iterator[Debian]:
    with installing.fresh_debian(packages) as made:  # with this machine's network, and so its loopback
        installing.get_ready(made, needs_xz=True)
        made.output("sh", installing.placed(run_file), user="alice")
        made.output(POTLUCK, "config", "set", "updates.url", server.url, user="alice")
        made.output(POTLUCK, "config", "set", "updates.key", server.key, user="alice")
        made.output(POTLUCK, "service", "install", user="alice")
        yield made


def call(machine: Debian, method: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(machine.output(f"{ROOT}/current/bin/python3", "-c", CALL, method, user="alice"))
    return said


def of_service(machine: Debian, name: str) -> str:
    return machine.output("systemctl", "--user", "show", "potluckd", "-p", name, "--value", user="alice")


def wait_updated(machine: Debian) -> None:
    """Until the unit that updates is gone."""
    machine.wait_until("systemctl", "--user", "is-active", "potluck-update", user="alice", says="inactive")


def test_the_update_outlives_the_service_that_it_replaces(machine: Debian, server: UpdateServer) -> None:
    server.publish(GOOD)
    identity = machine.output("sha256sum", IDENTITY)
    before = of_service(machine, "MainPID")
    assert call(machine, "updates.check")["offered"]["version"] == GOOD
    call(machine, "updates.install")
    wait_updated(machine)
    state = call(machine, "updates.state")
    assert (state["running"], state["offered"], state["error"]) == (GOOD, None, None)
    assert of_service(machine, "ActiveState") == "active"
    assert of_service(machine, "MainPID") not in ("0", before)
    assert machine.output("sha256sum", IDENTITY) == identity

    server.publish(BAD)
    call(machine, "updates.install")
    wait_updated(machine)
    state = call(machine, "updates.state")
    assert state["running"] == GOOD
    assert f"version {BAD} did not come up" in state["error"]["text"]
    assert (of_service(machine, "ActiveState"), of_service(machine, "Result")) == ("active", "success")
    assert machine.output("ls", f"{ROOT}/versions").split() == [GOOD]
    assert product_version() not in machine.output("readlink", f"{ROOT}/current")
