"""The real version before, which spoke HTTP on the control socket: its programs beside our daemon, and ours beside its.

Goes together with `older_daemon` and `older_protocol`, once that version is two behind.
"""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from helpers.daemon_process import LOOPBACK, DaemonProcess
from helpers.releases import VERSION_BESIDE, checkout
from potluck_app.windows.piped_line import PipedLine
from potluck_control.api import schema
from potluck_control.api.client import ControlClient, ControlError
from potluck_control.states import State

from potluck.errors import PotluckError

ASK = """\
import sys
from pathlib import Path
from potluck_control import schema
from potluck_control.client import ControlClient, ControlError
client = ControlClient(Path(sys.argv[1]))
print(client.call(schema.HELLO).api)
for ask in (lambda: client.hello("app"), lambda: client.call(schema.PAUSE), lambda: next(client.events())):
    try:
        ask()
    except ControlError as error:
        print(error, "|", error.hint)
"""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with the packages of the version before."""
    source = checkout(VERSION_BESIDE, tmp_path_factory.mktemp("source"))
    if source is None:
        pytest.skip("this copy of the source has no history to make the version before from")
    return {
        **os.environ,
        "PYTHONPATH": f"{source}:{source / 'daemon'}",
        "PYTHONSAFEPATH": "1",
    }  # nothing of this folder


@pytest.fixture
def old_daemon(before: dict[str, str]) -> Iterator[DaemonProcess]:
    with DaemonProcess(LOOPBACK, before) as daemon:
        yield daemon


def potluck(daemon: DaemonProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of this version."""
    command = [sys.executable, "-m", "potluck_cli.main", *arguments]
    environment = {name: value for name, value in daemon.environment.items() if name != "PYTHONPATH"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_an_older_daemon_is_recognised_at_once_and_asked_nothing_but_to_end(
    old_daemon: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ControlClient(old_daemon.socket, timeout_s=4.0)  # it waits 5 s for the rest of what it takes for a request
    with pytest.raises(ControlError, match="The daemon runs version") as refused:
        client.hello("test")
    assert refused.value.hint == "restart the daemon: potluck drain, then potluck start"
    assert client.call(schema.STATUS).state is State.IDLE
    with pytest.raises(ControlError, match="older than this program"):
        client.call(schema.PAUSE)
    assert "potluck drain" in potluck(old_daemon, "status").stderr
    monkeypatch.setenv("XDG_RUNTIME_DIR", old_daemon.environment["XDG_RUNTIME_DIR"])
    line = PipedLine((sys.executable, "-m", "potluck_cli.main", "control"), lambda said: PotluckError(said.decode()))
    assert ControlClient(line).call(schema.HELLO).api == schema.API_VERSION - 1
    line.close()
    done = potluck(old_daemon, "drain", "--within", "1h")
    assert done.returncode == 0, done.stderr
    assert old_daemon.wait_ended() == 0


def test_an_older_daemon_can_be_stopped(old_daemon: DaemonProcess) -> None:
    done = potluck(old_daemon, "stop")
    assert done.returncode == 0, done.stderr
    assert old_daemon.wait_ended() == 0


def test_an_older_program_is_told_that_it_is_older_and_can_do_nothing(before: dict[str, str]) -> None:
    with DaemonProcess(LOOPBACK) as daemon:
        command = [sys.executable, "-c", ASK, daemon.socket]
        said = subprocess.run(command, env=before, capture_output=True, text=True, timeout=120, check=True).stdout
        api, hello, pause, events = said.splitlines()
        assert api == str(schema.API_VERSION)
        assert hello.startswith("The daemon runs version ")
        assert hello.endswith("| start this program again")
        assert pause == "the daemon is newer than this program | start this program again"
        assert "the daemon is newer than this program" in events
        environment = daemon.environment | {name: before[name] for name in ("PYTHONPATH", "PYTHONSAFEPATH")}
        status = [sys.executable, "-m", "potluck_cli.main", "status"]
        shown = subprocess.run(status, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert "start this program again" in shown.stderr
        assert daemon.status().state is State.IDLE
