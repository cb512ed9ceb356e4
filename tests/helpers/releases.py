"""Small releases of Potluck, a server that offers them, and an installation that changes over to them.

A release is a real `.run` file with the real programs of this checkout; only the packages they depend on are those of
this environment. It may have a fault built in.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from potluck_control.api import schema
from potluck_control.api.client import ControlClient, DaemonAwayError
from potluck_control.api.schema import Status
from potluck_control.places import Places
from potluck_daemon.updates.versions import Versions

from installer.linux.run import pack_run
from installer.tree import SOURCE
from potluck.files import write_atomically
from tests.helpers.killing import kill_all

WAIT_S = 300.0  # a busy machine takes long to start what needs torch
# Move both to the newest release whenever a release is made.
VERSION_BEFORE = "1770a61ece78ed9367030bfb3279c81b678840ec"  # updates itself to this version and keeps its files
VERSION_BESIDE = "f042dda33895ed7133266332afe8d22dbda61b72"  # serves swarms together with this version
_SCRIPT = "#!/bin/sh\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
_DAEMON = "potluck_cli/daemon.py"
_PARSED = "    args = parser().parse_args(arguments)\n"
_MAIN = "    confine()\n"
_STARTED = "    loop = asyncio.get_running_loop()\n"
_VERSIONS = "potluck_daemon/updates/versions.py"
Change = tuple[str, str, str]
"""File, text in it, what stands there instead."""

_SHORT: tuple[Change, ...] = (
    (_VERSIONS, "PROVED_S = 30.0", "PROVED_S = 3.0"),  # longer than a version lives that crashes soon
    (_VERSIONS, "TRIAL_S = 120", "TRIAL_S = 45"),  # a busy machine takes half of it to start a daemon
)

CRASHES_UNCOUNTED: Change = (_DAEMON, _PARSED, f"{_PARSED}    raise SystemExit('a fault of this version')\n")
CRASHES: Change = (_DAEMON, _MAIN, f"{_MAIN}    raise SystemExit('a fault of this version')\n")
HANGS: Change = (_DAEMON, _MAIN, f"{_MAIN}    signal.pause()\n")
NEVER_PROVED: Change = (_VERSIONS, "PROVED_S = 3.0", "PROVED_S = 300.0")
CRASHES_SOON: Change = (_DAEMON, _STARTED, f"{_STARTED}    loop.call_later(1.0, os._exit, 7)\n")


def make_release(
    out: Path,
    version: str,
    *faults: Change,
    named: str = "",
    says: str = "",
    source: Path = SOURCE,
) -> Path:
    """Make `potluck-VERSION.run` in `out` from the checkout `source`.

    Its trials are short. `named`, `says`: another version that its installer, or its programs, take it for.
    """
    tree = out / f"tree-{version}"
    packages = tree / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    _copy_sources(source, packages)
    for change in (*(_SHORT if source == SOURCE else _SHORT[:1]), *faults):
        _change(packages, change)
    info = packages / f"potluck-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: potluck\nVersion: {says or version}\n")
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    (tree / "bin").mkdir()
    programs = tomllib.loads((source / "pyproject.toml").read_text())["project"]["scripts"]
    programs["potluck-app"] = programs["potluck"]  # there is no app in it
    for name, entry in programs.items():
        module, _, function = entry.partition(":")
        script = tree / "bin" / name
        script.write_text(_SCRIPT.format(module=module, function=function))
        script.chmod(0o755)
    (tree / "share" / "applications").mkdir(parents=True)
    (tree / "share" / "applications" / "potluck.desktop").write_text("[Desktop Entry]\nExec=potluck-app\n")
    shutil.copy(SOURCE / "installer" / "linux" / "uninstall.in", tree)
    made = pack_run(tree, named or version, out, level=0)
    shutil.rmtree(tree)
    return made.rename(out / f"potluck-{version}.run")


def retitled(release: Path, version: str, out: Path, *faults: Change) -> Path:
    """The same release as another version, with these faults."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        subprocess.run(["sh", release, "--extract", tree], check=True)
        packages = tree / "lib" / "python3" / "site-packages"
        (info,) = packages.glob("potluck-*.dist-info")
        described = (info / "METADATA").read_text()
        (info / "METADATA").write_text(re.sub(r"(?m)^Version: .*", f"Version: {version}", described, count=1))
        info.rename(packages / f"potluck-{version}.dist-info")
        for fault in faults:
            _change(packages, fault)
        return pack_run(tree, version, out, level=0)


def _copy_sources(source: Path, packages: Path) -> None:
    project = tomllib.loads((source / "pyproject.toml").read_text())
    shutil.copytree(source / "potluck", packages / "potluck", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(source / "daemon", packages, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    resources = packages / project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]["resources"]
    resources.mkdir()
    for name in ("demo-model", "engine", "systemd"):
        (resources / name).symlink_to(source / "resources" / name)


def checkout(commit: str, folder: Path) -> Path | None:
    """Unpack a commit into `folder`; None if this copy of the source has no history."""
    archive = subprocess.run(["git", "archive", commit], cwd=SOURCE, capture_output=True, check=False)
    if archive.returncode != 0:
        return None
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return folder


def _change(packages: Path, change: Change) -> None:
    path, before, after = change
    text = (packages / path).read_text()
    assert text.count(before) >= 1, f"{path} has no {before!r} any more"
    (packages / path).write_text(text.replace(before, after, 1))


@contextlib.contextmanager
def waiting(timeout_s: float = WAIT_S) -> Iterator[None]:
    """Fails if the body takes longer; it may look as often as it likes."""

    def give_up(*_: object) -> None:
        raise AssertionError("what was waited for does not come")

    before = signal.signal(signal.SIGUSR1, give_up)
    timer = threading.Timer(timeout_s, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGUSR1, before)


class Installation:
    """Potluck installed from a `.run` file into `folder`, with places of its own; ends what it started."""

    def __init__(self, folder: Path, release: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "POTLUCK_"))},
            "HOME": str(folder),
            "PYTHON": sys.executable,
            "POTLUCK_AS_ROOT": "1",
            "OMP_NUM_THREADS": "1",
            **{f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CONFIG", "STATE", "CACHE", "DATA")},
            "XDG_RUNTIME_DIR": str(folder / "run"),
        }
        self.places = Places(*(folder / name / "potluck" for name in ("config", "state", "run", "cache")))
        self.places.config.mkdir(parents=True)
        (folder / "run").mkdir(mode=0o700)
        done = self._run("sh", str(release), "--root", str(self.root))
        assert done.returncode == 0, done.stderr

    def __enter__(self) -> Installation:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut_power()

    def set(self, settings: str) -> None:
        """Write the settings; a daemon that runs finds them by itself."""
        write_atomically(self.places.settings_file, settings.encode())

    def command(self, *arguments: str, program: str = "potluck") -> subprocess.CompletedProcess[str]:
        """`potluck ARGUMENTS` of the version in use."""
        return self._run(str(self.root / "current" / "bin" / program), *arguments)

    def begin_update(self, out: Path) -> subprocess.Popen[bytes]:
        """`potluck update`, without waiting for its end; what it says goes to `out`."""
        with out.open("wb") as file:
            return subprocess.Popen(
                [self.root / "current" / "bin" / "potluck", "update"],
                cwd=self.root.parent,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.DEVNULL,
            )

    @property
    def client(self) -> ControlClient:
        return ControlClient(self.places.socket)

    def running(self) -> str | None:
        """The version that answers; None: no daemon."""
        try:
            return self.client.call(schema.HELLO).version
        except DaemonAwayError:
            return None

    def in_use(self) -> str:
        return Path(os.readlink(self.root / "current")).name

    def state(self) -> dict[str, Any]:
        """What the daemon remembers."""
        found: dict[str, Any] = json.loads(self.places.state_file.read_text())
        return found

    def wait_until(self, is_there: Callable[[], object]) -> None:
        with waiting():
            while not is_there():
                time.sleep(0.01)

    def prove(self) -> None:
        """Start the daemon whenever it is gone, as systemd does, until a version has proved itself."""
        self.wait_until(lambda: not Versions(self.root).is_on_trial() or (self.running() is None and not self.start()))

    def wait_for(self, wanted: Callable[[Status], bool]) -> Status:
        """The first status that is as wanted."""
        with waiting():
            for event in self.client.events():
                if isinstance(event, Status) and wanted(event):
                    return event
        raise AssertionError(f"the daemon ended\n{self.places.log_file.read_text()}")

    def start(self) -> str:
        """Start the daemon as often as it takes, at most as often as a broken version is tried; returns its version."""
        for _ in range(4):
            self.command("start")
            if (version := self.running()) is not None:
                return version
        raise AssertionError(f"no daemon comes up: {self.places.log_file.read_text()}")

    def cut_power(self) -> None:
        """Everything of it ends at once."""
        while found := self.processes():
            kill_all(found)

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("XDG_STATE_HOME") == self.environment["XDG_STATE_HOME"]:
                    found.append(process)
        return found

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.root.parent,  # not the source's folder, whose packages `-m` would find first
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
