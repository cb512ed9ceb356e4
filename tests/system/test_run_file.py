"""The `.run` file, by an ordinary user of a booted Debian: installed, serving, removed with either answer."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import installing
from tests.helpers.debian import PYTHONS, Debian

pytestmark = [
    pytest.mark.container,
    pytest.mark.timeout(900, func_only=True),
]

POTLUCK = "/home/alice/.local/bin/potluck"
UNINSTALL = "/home/alice/.local/lib/potluck/uninstall"
STATE = "/home/alice/.local/state/potluck"
SETTINGS = "/home/alice/.config/potluck/settings.toml"
MODEL = "/home/alice/.cache/potluck/model"


@pytest.fixture(params=["bookworm", pytest.param("trixie", marks=pytest.mark.soak)])
def machine(request: pytest.FixtureRequest, packages: Path) -> Iterator[Debian]:
    with installing.fresh_debian(packages, request.param) as made:
        installing.get_ready(made, needs_xz=True)
        yield made


def uninstall(machine: Debian, *, answers: str) -> None:
    machine.output("sh", "-c", f"printf '{answers}' | {UNINSTALL}", user="alice")


def is_there(machine: Debian, path: str) -> bool:
    return machine.run("test", "-e", path).returncode == 0


def test_it_needs_no_rights_and_leaves_what_its_user_wants_to_keep(machine: Debian, run_file: Path) -> None:
    before = installing.snapshot(machine, with_homes=True)
    assert machine.run("sh", installing.placed(run_file)).returncode == 1  # root is sent away
    if machine.suite == "bookworm" and sys.version_info[:2] == (3, 11):
        installing.walk(machine, installing.by_run_file(run_file, "alice"))
        said = machine.output(POTLUCK, "generate", "Count from 7 to 18:", user="alice")
        assert "7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18." in said
    else:
        machine.output("sh", installing.placed(run_file), user="alice")
        machine.output(POTLUCK, "start", user="alice")
    assert PYTHONS[machine.suite] in machine.output("readlink", "/home/alice/.local/lib/potluck/current/bin/python3")
    machine.output(POTLUCK, "config", "set", "yield.reserve_mb", "512", user="alice")
    machine.output("sh", "-c", f"mkdir -p $(dirname {MODEL}) && echo x > {MODEL}", user="alice")
    uninstall(machine, answers="n\\nn\\n")
    assert all(is_there(machine, path) for path in (MODEL, SETTINGS, f"{STATE}/identity.key"))
    assert not is_there(machine, f"{STATE}/engines")
    assert not is_there(machine, POTLUCK)
    machine.output("sh", installing.placed(run_file), user="alice")
    machine.output(POTLUCK, "start", user="alice")
    uninstall(machine, answers="n\\ny\\n")
    assert [is_there(machine, path) for path in (MODEL, SETTINGS, STATE)] == [True, False, False]
    machine.output("sh", installing.placed(run_file), user="alice")
    uninstall(machine, answers="y\\ny\\n")
    assert installing.left_behind(before, installing.snapshot(machine, with_homes=True)) == []
