"""What a server has to come back from by itself: `comes_back`.

A server is installed in a fresh Debian by the two commands of the README. Then each event happens to it. With `soak`,
one of them is what an upgrade of the distribution does to the engine: its Python goes.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Measured, figure
from tests.helpers import installing
from tests.helpers.debian import Debian
from tests.programs import why_not

NEWEST = "0.99.1"
_STATUS = ("potluck", "status", "--json")
_FROM_FOLDER = "[Service]\nEnvironment=UV_FIND_LINKS=/wheels UV_OFFLINE=1\n"
_PYTHON = "/var/lib/potluck/engines/current/bin/python"

Event = Callable[[Debian], object]


@figure("comes_back", unit="events", reach=0, shown=True)
def lost(soak: bool) -> Measured:
    """Of a kill, a power cut, upgrades and a downgrade (in soak the loss of Python): those after which the server stays
    away.

    Raises AssertionError if it never served.
    """
    assert why_not("container") is None, why_not("container")
    with tempfile.TemporaryDirectory() as folder:
        packages = Path(folder)
        packages.chmod(0o755)
        first = installing.build("potluck-headless", packages)
        newer, newest = (_renamed(first, version) for version in (installing.NEWER, NEWEST))
        with installing.fresh_debian(packages, has_disk=True) as machine:
            installing.get_ready(machine)
            installing.install_needs(machine, first)
            installing.walk(machine, installing.by_package(first, user=None))
            machine.write("/etc/systemd/system/potluckd.service.d/folder.conf", _FROM_FOLDER)
            machine.output("systemctl", "daemon-reload")
            events = _events(*map(installing.placed, (first, newer, newest)), soak=soak)
            came_back = {name: _comes_back(machine, event) for name, event in events.items()}
    return Measured(list(came_back.values()).count(False), {"came_back": came_back})


def _events(first: str, newer: str, newest: str, *, soak: bool) -> dict[str, Event]:
    def drain_and_upgrade(machine: Debian) -> None:
        machine.output("potluck", "drain", "--within", "5s")
        installing.install(machine, newest)

    def lose_python(machine: Debian) -> None:
        machine.output("ln", "-sfn", "/usr/bin/python3.2", _PYTHON)
        machine.output("systemctl", "restart", "potluckd")

    events: dict[str, Event] = {
        "kill": lambda machine: machine.output("kill", "-KILL", _main_pid(machine)),
        "power cut": lambda machine: machine.cut_power(),
        "upgrade": lambda machine: installing.install(machine, newer),
        "drain and upgrade": drain_and_upgrade,
        "downgrade": lambda machine: installing.install(machine, "--allow-downgrades", first),
    }
    return events | ({"distribution upgrade": lose_python} if soak else {})


def _comes_back(machine: Debian, event: Event) -> bool:
    """Return whether the server serves after the event; it is started by hand if it does not."""
    before = _start(machine)
    event(machine)
    try:
        machine.wait_until(*_STATUS, says=installing.SERVING)
    except AssertionError:
        machine.output("systemctl", "restart", "potluckd")
        return False
    return _start(machine) != before


def _start(machine: Debian) -> str:
    """Return what differs after each start: of the machine, and of the daemon."""
    return machine.output("cat", "/proc/1/stat").split()[21] + " " + _main_pid(machine)


def _main_pid(machine: Debian) -> str:
    return machine.output("systemctl", "show", "potluckd", "-p", "MainPID", "--value")


def _renamed(package: Path, version: str) -> Path:
    """Make the same package with a higher version, beside it."""
    with tempfile.TemporaryDirectory() as folder:
        root, made = Path(folder) / "root", package.with_name(f"potluck-headless_{version}_amd64.deb")
        subprocess.run(["dpkg-deb", "--raw-extract", package, root], check=True)
        control = root / "DEBIAN" / "control"
        lines = control.read_text().splitlines(keepends=True)
        control.write_text("".join(f"Version: {version}\n" if line.startswith("Version:") else line for line in lines))
        command = ["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", str(root), str(made)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return made
