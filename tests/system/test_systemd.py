"""The two units under a real systemd: start, kill -9, hang, stop, restart, removal; and what they let the daemon do."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.container import INSTALLED, Container
from potluck_daemon.host.systemd import unit_text

from potluck.membership.invite import Invite, encode_invite
from potluck.protocol.swarm import new_swarm

pytestmark = pytest.mark.container
of_system = pytest.mark.parametrize("service", ["system"], indirect=True, scope="module")

WAIT_S = 120.0
MAX_EXPOSURE = 2.0  # of the sandboxed unit, by systemd's own count (0 to 10)
STATE = "/var/lib/potluck"
SETTINGS = """\
# written by hand
[serve]
checkpoint = "/opt/source/tests/golden/petals/checkpoint"
blocks = "0:4"
listen = ["/ip4/127.0.0.1/tcp/0"]
threads = 1
"""
IMPATIENT = "[Service]\nWatchdogSec=10\nTimeoutAbortSec=1\nRestartSec=100ms\n"  # the same behaviour, sooner
POTLUCK = INSTALLED / "bin" / "potluck"
INVITE = encode_invite(Invite(new_swarm("tiny", "tiny-petals", 4, revision="local")))


@pytest.fixture(scope="module")
def machine() -> Iterator[Container]:
    with Container() as made:
        made.add_user("donor")
        yield made


@pytest.fixture(scope="module", params=["system", "user"])
def service(request: pytest.FixtureRequest, machine: Container) -> Iterator[str | None]:
    """The user as whom it runs; None: the system service."""
    user = "donor" if request.param == "user" else None
    install(machine, user)
    yield user
    machine.output(POTLUCK, "stop", user=user)
    machine.output(POTLUCK, "autostart", "--daemon", "off", *scope(user), user=user)


def scope(user: str | None) -> tuple[str, ...]:
    return () if user else ("--system",)


def install(machine: Container, user: str | None) -> None:
    """Install the unit by the command, with short waits, and serve the golden model."""
    home = "/home/donor/.config" if user else "/etc"
    unit = f"{home}/systemd/{'user' if user else 'system'}/potluckd.service"
    machine.write(f"{unit}.d/impatient.conf", IMPATIENT)
    machine.write(f"{home}/potluck/settings.toml", SETTINGS)
    if user:
        machine.output("chown", "-R", f"{user}:", home)
    machine.output(POTLUCK, "autostart", "--daemon", "on", *scope(user), user=user)
    done = machine.run(POTLUCK, "start", user=user)
    assert done.returncode == 0, done.stderr + journal(machine)
    assert show(machine, "ActiveState", user) == "active"
    machine.output(POTLUCK, "join", INVITE, user=user)
    serving(machine, user)


def show(machine: Container, name: str, user: str | None = None) -> str:
    words = ("--user",) if user else ()
    return machine.output("systemctl", *words, "show", "potluckd", "-p", name, "--value", user=user)


def wait_until(condition: Callable[[], bool], machine: Container) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, journal(machine)
        time.sleep(0.1)


def journal(machine: Container) -> str:
    return machine.run("journalctl", "--no-pager", "-o", "cat", "-n", "200").stdout


def status(machine: Container, user: str | None = None) -> dict[str, Any]:
    done = machine.run(POTLUCK, "status", "--json", user=user)
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"state": ""}
    return found


def serving(machine: Container, user: str | None = None) -> dict[str, Any]:
    wait_until(lambda: status(machine, user)["state"] == "serving", machine)
    return status(machine, user)


def test_it_serves_and_says_so_to_systemd(machine: Container, service: str | None) -> None:
    assert serving(machine, service)["swarm"]["span"] == [0, 4]
    assert show(machine, "StatusText", service) == "Serving layers 1-4 of tiny-petals"


@pytest.mark.parametrize("signal", ["KILL", "STOP"])
def test_killed_or_hung_it_is_started_again_and_nothing_old_is_left(
    machine: Container, service: str | None, signal: str
) -> None:
    engine = str(serving(machine, service)["engine"]["pid"])
    before = show(machine, "MainPID", service)
    machine.output("kill", f"-{signal}", before)
    wait_until(lambda: show(machine, "MainPID", service) not in ("0", before), machine)
    serving(machine, service)
    assert not machine.run("ps", "-o", "args=", "-p", engine).stdout.count("potluck_engine")
    assert machine.output("pgrep", "-c", "p2pd") == "1"
    assert signal == "KILL" or "Watchdog timeout" in journal(machine)


@pytest.mark.parametrize("command", ["systemctl", "potluck"])
def test_stopped_it_leaves_in_order_and_stays_stopped(machine: Container, service: str | None, command: str) -> None:
    serving(machine, service)
    words = ("systemctl", *(("--user",) if service else ()))
    if command == "systemctl":
        machine.output(*words, "stop", "potluckd", user=service)
    else:
        machine.output(POTLUCK, "stop", user=service)
    wait_until(lambda: show(machine, "ActiveState", service) == "inactive", machine)
    assert show(machine, "Result", service) == "success"
    assert machine.run("pgrep", "-f", "potluck_daemon|potluckd|p2pd").stdout == ""
    assert "potluckd" not in machine.output("cat", "/proc/net/unix")
    if command == "systemctl":
        machine.output(*words, "start", "potluckd", user=service)
    else:
        machine.output(POTLUCK, "start", user=service)
    assert show(machine, "ActiveState", service) == "active"


@of_system
def test_it_serves_as_its_own_user_in_its_own_folders_within_limits(machine: Container, service: str | None) -> None:
    engine = str(serving(machine)["engine"]["pid"])
    assert machine.output("ps", "-o", "user=", "-p", engine) == "potluck"
    assert machine.output("stat", "-c", "%U %a", STATE) == "potluck 700"
    assert machine.output("stat", "-c", "%U:%G %a", "/run/potluck/potluckd.sock") == "potluck:potluck 660"
    limits = machine.output("cat", f"/proc/{engine}/limits")
    rows = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()}
    assert rows["Max core file size"] == "0"
    assert int(rows["Max open files"]) > 4096  # as many as the container itself may have
    allowed = show(machine, "DeviceAllow")
    assert all(f"{device} rw" in allowed for device in ("char-nvidia", "char-drm", "/dev/kfd", "/dev/dxg"))
    assert (show(machine, "DevicePolicy"), show(machine, "PrivateDevices")) == ("closed", "no")


@of_system
def test_the_journal_knows_priorities_and_the_doctor_finds_nothing_wrong(
    machine: Container, service: str | None
) -> None:
    serving(machine)
    entry = json.loads(machine.output("journalctl", "-u", "potluckd", "-g", "^serving", "-o", "json", "-n", "1"))
    assert (entry["PRIORITY"], entry["MESSAGE"].startswith("serving (none): Serving layers 1-4")) == ("6", True)
    found = json.loads(machine.run(POTLUCK, "doctor", "--json").stdout)["findings"]
    wrong = {item["check"]["text"] for item in found if item["severity"] == "error"}
    assert wrong <= {"Can others reach this computer?"}  # there is no network in here
    assert any(item["check"]["text"] == "Does the daemon run?" and item["severity"] == "ok" for item in found)


@of_system
def test_installed_again_it_drains_the_daemon_that_runs_and_keeps_everything(
    machine: Container, service: str | None
) -> None:
    machine.output(POTLUCK, "config", "set", "yield.reserve_mb", "512")  # root changes the service's own settings
    before, main = serving(machine), show(machine, "MainPID")
    port = json.loads(machine.output("cat", f"{STATE}/state.json"))["port"]
    machine.output(POTLUCK, "autostart", "--system", "--daemon", "on")
    machine.output("systemctl", "restart", "potluckd")
    assert show(machine, "MainPID") not in ("0", main)
    after = serving(machine)
    assert after["swarm"]["peer_id"] == before["swarm"]["peer_id"]
    assert after["tokens_today"] >= before["tokens_today"]
    assert json.loads(machine.output("cat", f"{STATE}/state.json"))["port"] == port
    settings = machine.output("cat", "/etc/potluck/settings.toml")
    assert "# written by hand" in settings
    assert "reserve_mb = 512" in settings
    said = machine.output("journalctl", "-u", "potluckd", "--no-pager", "-o", "cat", f"_PID={main}", "-n", "20")
    assert "daemon ended" in said


@of_system
def test_removed_it_leaves_what_belongs_to_the_user_only(machine: Container, service: str | None) -> None:
    machine.output(POTLUCK, "stop")
    machine.output(POTLUCK, "autostart", "--system", "--daemon", "off")
    assert machine.run("systemctl", "cat", "potluckd").returncode != 0
    assert machine.run("pgrep", "-u", "potluck").stdout == ""
    left = machine.run("find", "/etc", "/run", "/tmp", "-iname", "*potluck*", "-newer", "/etc/hostname").stdout.split()
    assert [path for path in left if "impatient" not in path and "service.d" not in path] == ["/etc/potluck"]
    assert machine.run("test", "-s", f"{STATE}/identity.key").returncode == 0
    install(machine, None)


def test_no_other_container_has_its_services_in_the_same_control_groups(machine: Container) -> None:
    groups = Path(f"/proc/{machine._leader.pid}/cgroup").read_text()
    assert f"/{machine.name}/payload" in groups


def test_start_at_log_in_on_and_off_leaves_the_settings_of_a_home_as_they_were(machine: Container) -> None:
    home = ("find", "/home/donor", "-name", ".local", "-prune", "-o", "-name", ".cache", "-prune", "-o", "-print")
    machine.write("/usr/bin/potluck-app", "#!/bin/sh\n")
    machine.output("chmod", "755", "/usr/bin/potluck-app")

    def autostart(state: str) -> bool:
        machine.output(POTLUCK, "autostart", "--daemon", state, "--app", state, user="donor")
        app = machine.run("test", "-e", "/home/donor/.config/autostart/potluck.desktop").returncode == 0
        daemon = machine.run("systemctl", "--user", "is-enabled", "potluckd", user="donor").stdout.strip() == "enabled"
        assert app is daemon
        return app

    machine.output(POTLUCK, "start", user="donor")
    autostart("off")
    before = machine.output(*home)
    assert autostart("on")
    assert not autostart("off")
    assert machine.output(*home) == before
    machine.output(POTLUCK, "stop", user="donor")


@pytest.mark.parametrize("is_system", [True, False])
def test_systemd_finds_nothing_to_complain_about(
    is_system: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    unit = tmp_path / "potluckd.service"
    unit.write_text(unit_text(is_system=is_system))
    words = [] if is_system else ["--user"]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *words, unit], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")  # it exits with 0 also after a typo, but says so


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
