"""The life of a headless installation from the wheel: install, serve, be killed, upgrade, stop, be removed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.container import INSTALLED, REPOSITORY, Container, missing_tool

from potluck.membership.invite import Invite, encode_invite
from potluck.protocol.swarm import new_swarm

reason = missing_tool()
pytestmark = pytest.mark.skipif(reason is not None, reason=reason or "")

WAIT_S = 120.0
POTLUCK = INSTALLED / "bin" / "potluck"
STATE = "/var/lib/potluck"
INVITE = encode_invite(Invite(new_swarm("tiny", "tiny-petals", 4, revision="local")))
SETTINGS = """\
# written by hand
[serve]
checkpoint = "/opt/source/tests/golden/petals/checkpoint"
blocks = "0:4"
threads = 1
public_name = "attic"
"""
PARTS = ("potluck", "daemon", "app", "resources", "pyproject.toml", "README.md", "LICENSE")
NEWER = "0.99.0"


def build(source: Path, out: Path) -> Path:
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", out, source], check=True)
    (wheel,) = out.glob("potluck-*.whl")
    return wheel


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the same source under a later version."""
    source = tmp_path_factory.mktemp("source")
    for part in PARTS:
        here = REPOSITORY / part
        if here.is_dir():
            shutil.copytree(here, source / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(here, source / part)
    project = (source / "pyproject.toml").read_text()
    (source / "pyproject.toml").write_text(project.replace('version = "0.1.0"', f'version = "{NEWER}"', 1))
    return build(source, tmp_path_factory.mktemp("newer"))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with Container(build(REPOSITORY, tmp_path_factory.mktemp("wheel"))) as made:
        made.write("/etc/systemd/system/potluckd.service.d/impatient.conf", "[Service]\nRestartSec=100ms\n")
        made.write("/etc/potluck/settings.toml", SETTINGS)
        done = made.run(POTLUCK, "service", "install", "--system", "--json")
        assert done.returncode == 0, done.stderr + made.run("journalctl", "-o", "cat", "-n", "80").stdout
        assert json.loads(done.stdout)["is_installed"]
        made.output(POTLUCK, "join", INVITE)
        yield made


def status(machine: Container) -> dict[str, Any]:
    done = machine.run(POTLUCK, "status", "--json")
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"state": "", "engine": {"pid": None}}
    return found


def wait_until(condition: Callable[[], bool], machine: Container) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, machine.run("journalctl", "-n", "80", "--no-pager", "-o", "cat").stdout
        time.sleep(0.1)


def serving(machine: Container) -> dict[str, Any]:
    wait_until(lambda: status(machine)["state"] == "serving", machine)
    return status(machine)


def test_it_serves_as_its_own_user_in_its_own_folders(machine: Container) -> None:
    engine = str(serving(machine)["engine"]["pid"])
    assert machine.output("ps", "-o", "user=", "-p", engine) == "potluck"
    assert machine.output("stat", "-c", "%U %a", STATE) == "potluck 700"
    assert machine.output("stat", "-c", "%U:%G %a", "/run/potluck/potluckd.sock") == "potluck:potluck 660"


def test_limits_hold_for_the_engine_too(machine: Container) -> None:
    limits = machine.output("cat", f"/proc/{serving(machine)['engine']['pid']}/limits")
    rows = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()}
    assert rows["Max core file size"] == "0"
    assert int(rows["Max open files"]) > 4096  # as many as the container itself may have


def test_the_sandbox_lets_devices_of_gpus_through_and_no_others(machine: Container) -> None:
    allowed = machine.output("systemctl", "show", "potluckd", "-p", "DeviceAllow", "--value")
    for device in ("char-nvidia rw", "char-nvidia-uvm rw", "char-drm rw", "/dev/kfd rw", "/dev/dxg rw"):
        assert device in allowed
    assert machine.output("systemctl", "show", "potluckd", "-p", "DevicePolicy", "--value") == "closed"
    assert machine.output("systemctl", "show", "potluckd", "-p", "PrivateDevices", "--value") == "no"


def test_the_journal_knows_priorities(machine: Container) -> None:
    serving(machine)
    entry = json.loads(machine.output("journalctl", "-u", "potluckd", "-g", "^serving", "-o", "json", "-n", "1"))
    assert (entry["PRIORITY"], entry["MESSAGE"].startswith("serving (none): Serving blocks 0:4")) == ("6", True)


def test_a_killed_engine_and_a_killed_daemon_come_back(machine: Container) -> None:
    before = serving(machine)["engine"]["pid"]
    machine.output("kill", "-KILL", str(before))
    wait_until(lambda: status(machine)["engine"]["pid"] not in (None, before), machine)
    serving(machine)
    main = machine.output("systemctl", "show", "potluckd", "-p", "MainPID", "--value")
    machine.output("kill", "-KILL", main)
    wait_until(
        lambda: machine.output("systemctl", "show", "potluckd", "-p", "MainPID", "--value") not in ("0", main), machine
    )
    serving(machine)
    assert machine.output("pgrep", "-c", "p2pd") == "1"


def test_the_doctor_finds_nothing_that_does_not_work(machine: Container) -> None:
    serving(machine)
    found = json.loads(machine.run(POTLUCK, "doctor", "--json").stdout)
    assert [item for item in found["findings"] if item["severity"] == "error"] in (
        [],
        [
            item
            for item in found["findings"]
            if item["check"] == "NAT"  # there is no network in here
        ],
    )
    assert any(item["check"] == "daemon" and item["severity"] == "ok" for item in found["findings"])


def test_root_changes_the_settings_of_the_service(machine: Container) -> None:
    assert machine.output(POTLUCK, "config", "get", "serve.name") == "attic"
    machine.output(POTLUCK, "config", "set", "yield.reserve_mb", "512")
    text = machine.output("cat", "/etc/potluck/settings.toml")
    assert "# written by hand" in text
    assert "reserve_mb = 512" in text


def test_an_upgrade_in_place_keeps_identity_settings_and_state(machine: Container, newer: Path) -> None:
    before = serving(machine)
    state, settings = (machine.output("cat", path) for path in (f"{STATE}/state.json", "/etc/potluck/settings.toml"))
    machine.output("systemctl", "stop", "potluckd")
    machine.install_wheel(newer)
    machine.output(POTLUCK, "service", "install", "--system")
    after = serving(machine)
    assert (before["version"], after["version"]) == ("0.1.0", NEWER)
    assert after["swarm"]["peer_id"] == before["swarm"]["peer_id"]
    assert after["tokens_today"] >= before["tokens_today"]
    assert machine.output("cat", "/etc/potluck/settings.toml") == settings
    assert json.loads(machine.output("cat", f"{STATE}/state.json"))["port"] == json.loads(state)["port"]


def test_an_upgrade_under_a_running_service_drains_the_old_one(machine: Container, newer: Path) -> None:
    serving(machine)
    main = machine.output("systemctl", "show", "potluckd", "-p", "MainPID", "--value")
    machine.install_wheel(newer)
    machine.output(POTLUCK, "service", "install", "--system")
    assert machine.output("systemctl", "show", "potluckd", "-p", "MainPID", "--value") not in ("0", main)
    serving(machine)
    assert machine.output("systemctl", "show", "potluckd", "-p", "NRestarts", "--value") == "0"
    said = machine.output("journalctl", "-u", "potluckd", "--no-pager", "-o", "cat", f"_PID={main}", "-n", "20")
    assert "daemon ended" in said


def test_stop_and_start_of_root_mean_the_service(machine: Container) -> None:
    serving(machine)
    machine.output(POTLUCK, "stop")
    wait_until(lambda: machine.run("systemctl", "is-active", "potluckd").stdout.strip() == "inactive", machine)
    assert "service" in machine.output(POTLUCK, "start")
    serving(machine)
    assert machine.run("pgrep", "-u", "root", "-f", "potluckd|potluck_daemon").stdout == ""


def test_stopped_nothing_runs_and_nothing_listens(machine: Container) -> None:
    serving(machine)
    machine.output("systemctl", "stop", "potluckd")
    assert machine.output("systemctl", "show", "potluckd", "-p", "Result", "--value") == "success"
    assert machine.run("pgrep", "-u", "potluck").stdout == ""
    assert machine.run("ls", "/run/potluck").returncode != 0
    assert "potluck" not in machine.output("cat", "/proc/net/unix")
    machine.output("systemctl", "start", "potluckd")


def test_removed_it_leaves_what_belongs_to_the_user_only(machine: Container) -> None:
    serving(machine)
    machine.output(POTLUCK, "service", "remove", "--system")
    assert machine.run("systemctl", "cat", "potluckd").returncode != 0
    assert machine.run("pgrep", "-u", "potluck").stdout == ""
    left = machine.run("find", "/etc", "/run", "/tmp", "-iname", "*potluck*", "-newer", "/etc/hostname").stdout.split()
    assert [path for path in left if "impatient" not in path and "service.d" not in path] == ["/etc/potluck"]
    assert machine.run("test", "-s", f"{STATE}/identity.key").returncode == 0
