"""The packages in fresh Debians, mostly without a running systemd, and on the Python of each: 3.11 and 3.13."""

import re
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

PYTHON = "/opt/python3.11"
PYTHON_LIBRARY = "/etc/ld.so.conf.d/python.conf"
needs_3_11 = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="there is a build of torch for Python 3.11 only"
)
ALICE = ("potluck", "status", "--json")


@pytest.fixture
def machine(request: pytest.FixtureRequest, packages: Path) -> Iterator[Debian]:
    with installing.fresh_debian(packages, request.param, is_booted=False) as made:
        installing.get_ready(made)
        yield made


@needs_3_11
@pytest.mark.parametrize("machine", ["trixie", pytest.param("bookworm", marks=pytest.mark.soak)], indirect=True)
def test_a_server_s_package_serves_without_systemd_and_leaves_nothing(machine: Debian, headless: Path) -> None:
    installing.install_needs(machine, headless)
    before = installing.snapshot(machine)
    installing.install(machine, installing.placed(headless))
    assert machine.output("potluck", "--version", user="alice").startswith("potluck ")
    if machine.suite == "trixie":
        set_up_with_another_python(machine)
    else:
        said = machine.output("potluck", "setup", "--wheels", "/wheels", user="alice")
        assert "ready: the engine computes on cpu" in said
    machine.output("potluck", "start", "--demo", user="alice")
    machine.wait_until(*ALICE, user="alice", says=installing.SERVING)
    said = machine.output("potluck", "generate", "Count from 7 to 18:", user="alice")
    assert "7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18." in said
    daemon = machine.output("pgrep", "-f", "^[^ ]*python.* -m potluck_cli.daemon")
    running = machine.output("readlink", "-f", f"/proc/{daemon}/exe")
    assert running.endswith(f"python{PYTHONS[machine.suite]}")
    machine.output("potluck", "stop", user="alice")
    installing.purge(machine, "potluck-headless")
    machine.output("rm", "-f", PYTHON_LIBRARY)  # this test's own
    assert installing.left_behind(before, installing.snapshot(machine)) == []


def set_up_with_another_python(machine: Debian) -> None:
    """The engine may have another Python than the daemon: the one that `potluck setup` was run with."""
    machine.write(PYTHON_LIBRARY, f"{PYTHON}/lib\n")
    machine.output("ldconfig")
    packages = {"PYTHONPATH": "/usr/lib/potluck/lib/python3/site-packages", "POTLUCK_UV": "/usr/lib/potluck/bin/uv"}
    command = (f"{PYTHON}/bin/python3.11", "-m", "potluck_cli.main", "setup", "--wheels", "/wheels")
    assert "ready: the engine computes on cpu" in machine.output(*command, user="alice", environment=packages)


@pytest.mark.parametrize("machine", ["bookworm", pytest.param("trixie", marks=pytest.mark.soak)], indirect=True)
def test_a_desktop_s_package_brings_an_app_that_starts_and_leaves_nothing(machine: Debian, desktop: Path) -> None:
    installing.install_needs(machine, desktop)
    before = installing.snapshot(machine)
    installing.install(machine, installing.placed(desktop))
    every_library_is_there(machine)
    installing.install(machine, "xvfb", "xauth", "xdotool", "desktop-file-utils", "appstream", "man-db")
    is_known_to_the_desktop(machine)
    is_known_to_shells_and_manuals(machine)
    its_app_shows_a_window(machine)
    installing.purge(machine, "potluck")
    tools = set(installing.left_behind(before, installing.snapshot(machine)))
    assert not [line for line in tools if "potluck" in line.lower() or "PySide6" in line]


def every_library_is_there(machine: Debian) -> None:
    """Before the tools of this test bring some along: of Qt's modules, and of the plug-ins that a desktop loads."""
    plugins = ("platforms/libq{xcb,wayland,offscreen}", "wayland-shell-integration/libxdg-shell")
    files = " ".join(("Qt*.so", "Qt/lib/*.so*", *(f"Qt/plugins/{name}.so" for name in plugins)))
    qt = "/usr/lib/potluck/lib/python3/site-packages/PySide6"
    said = machine.output("bash", "-c", f"cd {qt} && ldd {files}")
    assert "libQt6Core" in said
    assert "not found" not in said, said


def is_known_to_the_desktop(machine: Debian) -> None:
    machine.output("desktop-file-validate", "/usr/share/applications/potluck.desktop")
    said = machine.run("appstreamcli", "validate", "--no-net", "/usr/share/metainfo/potluck.metainfo.xml").stdout
    complaints = [line for line in said.splitlines() if line.startswith(("E:", "W:"))]
    assert "Validation" in said
    assert all("url-homepage-missing" in line for line in complaints), said  # there is none yet
    assert "<svg" in machine.output("cat", "/usr/share/icons/hicolor/scalable/apps/potluck.svg")
    unit = machine.output("cat", "/usr/lib/systemd/user/potluckd.service")
    assert "ExecStart=/usr/bin/potluckd\n" in unit
    said = machine.run("systemd-analyze", "--user", "verify", "--man=no", "/usr/lib/systemd/user/potluckd.service")
    assert "potluckd" not in said.stderr


def is_known_to_shells_and_manuals(machine: Debian) -> None:
    for page in ("potluck", "potluckd"):
        assert page.upper() in machine.output("sh", "-c", f"zcat /usr/share/man/man[18]/{page}.[18].gz").upper()
        assert machine.output("man", "-w", page).endswith(".gz")
    script = "source /usr/share/bash-completion/completions/potluck && complete -p potluck"
    assert "potluck" in machine.output("bash", "-c", script)


def its_app_shows_a_window(machine: Debian) -> None:
    """On a virtual screen, with the pictures and the plug-ins that the package brings; it ends when it is told to."""
    script = """
        potluck-app >app.log 2>&1 & app=$!
        window=$(timeout 90 xdotool search --sync --onlyvisible --name Potluck | head -1)
        kill -TERM $app
        wait $app
        echo "window=$window ended=$?"
        cat app.log"""
    said = machine.output("xvfb-run", "-a", "sh", "-c", script, user="alice")
    assert re.search(r"window=\d+ ended=0", said), said


@needs_3_11
def test_a_desktop_s_user_serves_after_two_commands_and_a_purge_ends_what_runs(packages: Path, desktop: Path) -> None:
    with installing.fresh_debian(packages) as machine:
        installing.get_ready(machine)
        installing.install_needs(machine, desktop)
        before = installing.snapshot(machine)
        way = installing.by_package(desktop, "alice")
        installing.walk(machine, way)
        assert len(way.commands) == 2
        asked = ("systemctl", "--user", "is-enabled", "potluckd")
        assert machine.run(*asked, user="alice").stdout.strip() == "disabled"
        assert machine.output("systemctl", "--user", "is-active", "potluckd", user="alice") == "active"
        installing.purge(machine, "potluck")
        assert installing.left_behind(before, installing.snapshot(machine)) == []
