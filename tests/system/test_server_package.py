"""The package for servers in a booted Debian 12, told in order: two commands, serving, upgraded, removed, purged."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from installer.tree import product_version
from tests.helpers import installing
from tests.helpers.debian import Debian

pytestmark = [
    pytest.mark.container,
    pytest.mark.timeout(900, func_only=True),
]

PACKAGE = "potluck-headless"
MODEL = "/var/cache/potluck/huggingface/model"
STATE = "/var/lib/potluck"
KEPT = (f"{STATE}/identity.key", f"{STATE}/ledger.sqlite", f"{STATE}/swarms.json", "/etc/potluck/settings.toml")


@pytest.fixture(scope="module")
def machine(packages: Path, headless: Path) -> Iterator[Debian]:
    with installing.fresh_debian(packages) as made:
        installing.get_ready(made)
        installing.install_needs(made, headless)
        folder = " ".join(f"{name}={value}" for name, value in installing.FROM_FOLDER.items())
        made.write("/run/systemd/system/potluck-join.service.d/folder.conf", f"[Service]\nEnvironment={folder}\n")
        yield made


@pytest.fixture(scope="module")
def before(machine: Debian) -> frozenset[str]:
    return installing.snapshot(machine)


@pytest.fixture
def bare(machine: Debian, before: frozenset[str]) -> Debian:
    """Nothing of ours is installed or left, whatever ran before."""
    if machine.run("dpkg-query", "-W", PACKAGE).returncode == 0:
        installing.purge(machine, PACKAGE)
    machine.run("sh", "-c", "rm -rf /etc/potluck /var/lib/potluck /var/cache/potluck; userdel potluck")  # what it kept
    return machine


@pytest.fixture
def served(machine: Debian, before: frozenset[str], headless: Path) -> Debian:
    """A version is installed there and serves, with a setting of its owner's; also if no test ran before."""
    if machine.run("potluck", "status").returncode != 0:
        installing.walk(machine, installing.by_package(headless, user=None))
    machine.output("potluck", "config", "set", "yield.reserve_mb", "512")
    return machine


def show(machine: Debian, name: str) -> str:
    return machine.output("systemctl", "show", "potluckd", "-p", name, "--value")


def status(machine: Debian) -> dict[str, object]:
    said = machine.wait_until("potluck", "status", "--json", says=installing.SERVING)
    found: dict[str, object] = json.loads(said)
    return found


def sums(machine: Debian, *paths: str) -> str:
    return machine.output("sha256sum", *paths)


def test_the_package_alone_starts_nothing(bare: Debian, headless: Path) -> None:
    installing.install(bare, installing.placed(headless))
    assert bare.run("systemctl", "is-enabled", "potluckd").stdout.strip() == "disabled"
    assert bare.run("systemctl", "is-active", "potluckd").stdout.strip() == "inactive"
    assert bare.run("pgrep", "-f", "[p]otluckd").stdout == ""


def test_after_joining_the_service_serves_as_its_own_user(machine: Debian, headless: Path) -> None:
    installing.walk(machine, installing.by_package(headless, user=None))
    assert show(machine, "ActiveState") == "active"
    assert machine.output("ps", "-o", "user=", "-p", show(machine, "MainPID")) == "potluck"
    assert machine.output("find", "/var/lib/potluck", "-not", "-user", "potluck") == ""
    assert "serving" in machine.output("potluck", "status").lower()
    answer = machine.output("potluck", "generate", "Count from 7 to 18:")
    assert "7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18." in answer
    assert "friends" in machine.output("potluck", "swarm", "show")
    assert machine.output("find", "/root", "-iname", "*potluck*") == ""


def test_somebody_outside_the_services_group_is_told_that_it_is_not_theirs(served: Debian) -> None:
    said = served.run("potluck", "status", user="alice")
    assert said.returncode == 1
    assert "the daemon is not running" in said.stderr


def test_an_upgrade_drains_the_old_version_and_keeps_everything(served: Debian, newer_headless: Path) -> None:
    machine = served
    old, main, kept = status(machine), show(machine, "MainPID"), sums(machine, *KEPT[:1], *KEPT[2:])
    installing.install(machine, installing.placed(newer_headless))
    new = status(machine)
    assert (old["version"], new["version"]) == (product_version(), installing.NEWER)
    assert new["swarm"]["peer_id"] == old["swarm"]["peer_id"]  # type: ignore[index]
    assert sums(machine, *KEPT[:1], *KEPT[2:]) == kept
    assert show(machine, "MainPID") not in ("0", main)
    assert show(machine, "NRestarts") == "0"
    said = machine.output("journalctl", "-u", "potluckd", "--no-pager", "-o", "cat", f"_PID={main}", "-n", "20")
    assert "daemon ended" in said
    assert machine.run("systemctl", "is-enabled", "potluckd").stdout.strip() == "enabled"  # by `join`


def test_removed_it_stops_and_keeps_what_is_its_owners(served: Debian) -> None:
    machine = served
    machine.output("systemctl", "enable", "--quiet", "potluckd")
    machine.output("apt-get", "remove", "-y", "-qq", PACKAGE)
    assert machine.run("pgrep", "-u", "potluck").stdout == ""
    assert machine.run("systemctl", "cat", "potluckd").returncode != 0
    assert machine.run("find", "/etc/systemd", "-iname", "*potluck*").stdout == ""
    sums(machine, *KEPT)


@pytest.mark.parametrize(("keep_models", "keep_identity"), [(True, False), (False, True)])
def test_a_purge_keeps_what_was_asked_for(
    bare: Debian, before: frozenset[str], newer_headless: Path, keep_models: bool, keep_identity: bool
) -> None:
    installing.install(bare, installing.placed(newer_headless))
    bare.output("potluck", "start")
    bare.output("sh", "-c", f"mkdir -p $(dirname {MODEL}) && echo x > {MODEL}")
    bare.wait_until("ls", STATE, says="identity.key")
    installing.answer(bare, PACKAGE, keep_models=keep_models, keep_identity=keep_identity)
    installing.purge(bare, PACKAGE)
    kept = [bare.run("test", "-s", path).returncode == 0 for path in (MODEL, *KEPT[:2])]
    assert kept == [keep_models, keep_identity, keep_identity]
    left = installing.left_behind(before, installing.snapshot(bare))
    kept_and_whose = r"/(var/cache|var/lib)/potluck|^user .*\bpotluck\b"
    assert [line for line in left if not re.search(kept_and_whose, line)] == []


def test_a_machine_that_was_given_an_invite_joins_by_itself(bare: Debian, headless: Path) -> None:
    line = f"{PACKAGE} {PACKAGE}/invite password {installing.INVITE}"
    bare.output("sh", "-c", f"echo '{line}' | debconf-set-selections")
    installing.install(bare, installing.placed(headless))
    status(bare)
    assert bare.run("test", "-e", "/etc/potluck/invite").returncode == 1
    assert bare.run("grep", "-r", installing.INVITE, "/var/cache/debconf").returncode == 1
