"""The two units under a real systemd: start, kill -9, hang, stop; and what they let the daemon do."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.container import INSTALLED, Container, missing_tool
from potluck_daemon.host.units import unit_text

from potluck.membership.invite import Invite, encode_invite
from potluck.protocol.swarm import new_swarm

reason = missing_tool()
pytestmark = pytest.mark.skipif(reason is not None, reason=reason or "")

WAIT_S = 90.0
MAX_EXPOSURE = 2.0  # of the sandboxed unit, by systemd's own count (0 to 10)
SETTINGS = """
[serve]
checkpoint = "/opt/source/tests/golden/petals/checkpoint"
blocks = "0:4"
listen = ["/ip4/127.0.0.1/tcp/0"]
threads = 1
"""
IMPATIENT = "[Service]\nWatchdogSec=3\nTimeoutAbortSec=1\nRestartSec=100ms\n"  # the same behaviour, sooner
POTLUCK = INSTALLED / "bin" / "potluck"
INVITE = encode_invite(Invite(new_swarm("tiny", "tiny-petals", 4, revision="local")))


AUTOSTART = """
from potluck_daemon.host.units import set_start_at_login, starts_at_login
for is_wanted in (True, True, False, False):
    set_start_at_login(is_wanted)
    assert starts_at_login() is is_wanted
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    with Container() as made:
        made.add_user("donor")
        yield made


def test_autostart_on_and_off_leaves_a_home_as_it_was(machine: Container) -> None:
    home = ("find", "/home/donor", "-printf", "%p %y %l %s\\n")
    before = machine.output(*home)
    machine.output(INSTALLED / "bin" / "python", "-c", AUTOSTART, user="donor")
    assert machine.output(*home) == before


def show(machine: Container, name: str, *, user: str | None = None) -> str:
    scope = ("--user",) if user else ()
    return machine.output("systemctl", *scope, "show", "potluckd", "-p", name, "--value", user=user)


def wait_until(condition: Callable[[], bool], what: str, machine: Container) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(
                f"not {what}\n{machine.run('journalctl', '-n', '80', '--no-pager', '-o', 'cat').stdout}"
            )
        time.sleep(0.05)


def journal(machine: Container) -> str:
    return machine.run("journalctl", "--no-pager", "-o", "cat", "-n", "200").stdout


def status(machine: Container, *, user: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(machine.output(POTLUCK, "status", "--json", user=user))
    return found


def wait_serving(machine: Container, *, user: str | None = None) -> None:
    def is_serving() -> bool:
        return machine.run(POTLUCK, "status", "--json", user=user).stdout.startswith('{"state": "serving"')

    wait_until(is_serving, "serving", machine)


def installed(machine: Container, user: str | None) -> None:
    """Install the unit by the command, with short waits, and serve the golden model."""
    home = "/home/donor/.config" if user else "/etc"
    unit = f"{home}/systemd/{'user' if user else 'system'}/potluckd.service"
    machine.write(f"{unit}.d/impatient.conf", IMPATIENT)
    machine.write(f"{home}/potluck/settings.toml", SETTINGS)
    if user:
        machine.output("chown", "-R", f"{user}:", home)
    if user:
        machine.output(POTLUCK, "start", user=user)  # a daemon whose place the service takes
    done = machine.run(POTLUCK, "service", "install", *(() if user else ("--system",)), user=user)
    assert done.returncode == 0, done.stderr + journal(machine)
    assert show(machine, "ActiveState", user=user) == "active"
    machine.output(POTLUCK, "join", INVITE, user=user)
    wait_serving(machine, user=user)


@pytest.fixture(scope="module", params=["system", "user"])
def service(request: pytest.FixtureRequest, machine: Container) -> Iterator[str | None]:
    """The user as whom it runs; None: the system service."""
    user = "donor" if request.param == "user" else None
    installed(machine, user)
    yield user
    machine.output(POTLUCK, "service", "remove", *(() if user else ("--system",)), user=user)


def test_it_serves_and_says_so_to_systemd(machine: Container, service: str | None) -> None:
    assert show(machine, "StatusText", user=service) == "Serving blocks 0:4 of tiny-petals"
    assert show(machine, "NRestarts", user=service) == "0"
    assert status(machine, user=service)["swarm"]["span"] == [0, 4]


def test_killed_it_is_started_again_and_nothing_old_is_left(machine: Container, service: str | None) -> None:
    engine = str(status(machine, user=service)["engine"]["pid"])
    before = show(machine, "MainPID", user=service)
    machine.output("kill", "-KILL", before)
    wait_until(lambda: show(machine, "MainPID", user=service) not in ("0", before), "restarted", machine)
    wait_serving(machine, user=service)
    assert not machine.run("ps", "-o", "args=", "-p", engine).stdout.count("potluck_engine")
    assert machine.output("pgrep", "-c", "p2pd") == "1"


def test_hung_it_is_found_by_the_watchdog(machine: Container, service: str | None) -> None:
    before = show(machine, "MainPID", user=service)
    machine.output("kill", "-STOP", before)
    wait_until(lambda: show(machine, "MainPID", user=service) not in ("0", before), "restarted", machine)
    wait_serving(machine, user=service)
    assert "Watchdog timeout" in journal(machine)


def test_stopped_it_leaves_in_order_and_stays_stopped(machine: Container, service: str | None) -> None:
    scope = ("--user",) if service else ()
    machine.output("systemctl", *scope, "stop", "potluckd", user=service)
    assert show(machine, "ActiveState", user=service) == "inactive"
    assert show(machine, "Result", user=service) == "success"
    assert machine.run("pgrep", "-f", "potluck_daemon|potluckd|p2pd").stdout == ""
    machine.output("systemctl", *scope, "start", "potluckd", user=service)  # for the tests after this one
    wait_serving(machine, user=service)


def test_the_command_stop_is_no_failure_that_systemd_mends(machine: Container, service: str | None) -> None:
    scope = ("--user",) if service else ()
    machine.output(POTLUCK, "stop", user=service)
    wait_until(lambda: show(machine, "ActiveState", user=service) == "inactive", "inactive", machine)
    machine.output("systemctl", *scope, "start", "potluckd", user=service)


def test_a_stranger_is_not_let_in(machine: Container, service: str | None) -> None:
    machine.run("useradd", "stranger")
    socket = "/run/potluck/potluckd.sock" if service is None else f"/run/user/{machine.output('id', '-u', 'donor')}"
    code = (
        "import sys; from pathlib import Path; from potluck_control import client, schema\n"
        "print(client.ControlClient(Path(sys.argv[1])).call(schema.STATUS))"
    )
    done = machine.run("runuser", "-u", "stranger", "--", INSTALLED / "bin" / "python", "-c", code, socket)
    assert done.returncode != 0
    assert "DaemonAwayError" in done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("is_system", [True, False])
def test_systemd_finds_nothing_to_complain_about(
    is_system: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    unit = tmp_path / "potluckd.service"
    unit.write_text(unit_text(is_system=is_system))
    scope = [] if is_system else ["--user"]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *scope, unit], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")  # it exits with 0 also after a typo, but says so


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_the_system_unit_is_a_tight_sandbox(tmp_path: Path) -> None:
    unit = tmp_path / "potluckd.service"
    unit.write_text(unit_text(is_system=True))
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", f"--threshold={MAX_EXPOSURE * 10:.0f}", "--no-pager", unit],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.splitlines()[-1]
