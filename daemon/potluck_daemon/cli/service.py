"""`potluck service`: let systemd start the daemon."""

from __future__ import annotations

import argparse
import grp
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from potluck.errors import PotluckError, UsageError
from potluck_daemon.cli.options import add_json, print_json
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.resources import resource
from potluck_daemon.settings.files import write_atomically

DESCRIPTION = """\
Have systemd start the daemon: when you log in, or, with --system, when the machine starts, for a machine that nobody
plays on. The system service runs as a user of its own and sees no games. To install again after an update restarts it.
Settings, swarms and identity stay when it is removed. `loginctl enable-linger` keeps your own one after you log out."""
EXAMPLES = """\
  potluck service install
  potluck service remove
  sudo potluck service install --system"""


@dataclass(frozen=True, slots=True)
class Service:
    """The unit, and whether it is there now."""

    unit: str
    is_installed: bool


RESULT = Service

UNIT = "potluckd.service"
_SYSTEM_TEMPLATE = "potluckd-system.service"
_DAEMON = "@POTLUCKD@"
_COMMAND = "@POTLUCK@"
_GROUPS = "@GPU_GROUPS@"
_GPU_GROUPS = ("render", "video")  # who may use a GPU; a unit that names one this machine lacks does not start
_SYSTEM_FOLDER = Path("/etc/systemd/system")
_SYSTEM_FILES = {  # of `resources/systemd/`, which what systemd makes of them: the user and its folders
    "potluck.sysusers": (Path("/etc/sysusers.d/potluck.conf"), ("systemd-sysusers",)),
    "potluck.tmpfiles": (Path("/etc/tmpfiles.d/potluck.conf"), ("systemd-tmpfiles", "--create")),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, act, summary in (
        ("install", _install, "write the unit, enable and start it, or start it anew"),
        ("remove", _remove, "stop and disable it, delete the unit"),
    ):
        action = actions.add_parser(name, help=summary)
        action.add_argument("--system", action="store_true", help="for the whole machine; needs root")
        add_json(action, "the unit's file")
        action.set_defaults(act=act)


def run(args: argparse.Namespace) -> int:
    if args.system and os.geteuid() != 0:
        raise UsageError("a system service is installed by root", hint="sudo potluck service install --system")
    args.act(args.system)
    path, is_there = unit_path(is_system=args.system), args.action == "install"
    if args.json:
        print_json(Service(str(path), is_there))
    else:
        Terminal(sys.stdout).line(f"Installed and started {path}." if is_there else f"Stopped and removed {path}.")
    return 0


def installed() -> Path | None:
    """The unit that `potluck start` means: for root the system's, else this user's; None without one."""
    unit = unit_path(is_system=os.geteuid() == 0)
    return next((path for path in (unit, unit_path(is_system=False)) if path.exists()), None)


def start_service(unit: Path) -> None:
    """Raises PotluckError."""
    _systemctl(unit == unit_path(is_system=True), "start", UNIT)


def unit_path(*, is_system: bool) -> Path:
    if is_system:
        return _SYSTEM_FOLDER / UNIT
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "systemd" / "user" / UNIT


def unit_text(*, is_system: bool) -> str:
    """The unit with the paths of this installation's programs and this machine's groups in it."""
    text = (resource("systemd") / (_SYSTEM_TEMPLATE if is_system else UNIT)).read_text()
    groups = {group.gr_name for group in grp.getgrall()}
    present = " ".join(name for name in _GPU_GROUPS if name in groups)
    text = text.replace(_DAEMON, str(_program("potluckd"))).replace(_COMMAND, str(_program("potluck")))
    return text.replace(_GROUPS, present)


def _install(is_system: bool) -> None:
    for name, (path, command) in _SYSTEM_FILES.items() if is_system else ():
        _write(path, (resource("systemd") / name).read_text())
        _run(*command, str(path))
    _write(unit_path(is_system=is_system), unit_text(is_system=is_system))
    _systemctl(is_system, "daemon-reload")
    _systemctl(is_system, "enable", UNIT)
    _systemctl(is_system, "restart", UNIT)  # also after an update: the old program still runs


def _remove(is_system: bool) -> None:
    path = unit_path(is_system=is_system)
    if not path.exists():
        raise UsageError(f"there is no {path}")
    _systemctl(is_system, "disable", "--now", UNIT)
    path.unlink()
    for file, _ in _SYSTEM_FILES.values() if is_system else ():
        file.unlink(missing_ok=True)
    _systemctl(is_system, "daemon-reload")


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode(), mode=0o644)
    except OSError as error:
        raise PotluckError(f"cannot write {path}: {error.strerror}", hint="is the disk full?") from error


def _systemctl(is_system: bool, *arguments: str) -> None:
    log = f"journalctl {'' if is_system else '--user '}--unit={UNIT}"
    _run("systemctl", *(() if is_system else ("--user",)), *arguments, hint=log)


def _run(*command: str, hint: str | None = None) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except FileNotFoundError:
        raise PotluckError("this machine has no systemd", hint="start the daemon with: potluck start") from None
    except subprocess.TimeoutExpired:
        raise PotluckError(f"`{' '.join(command)}` does not end") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise PotluckError(f"`{' '.join(command)}` failed: {said[-1] if said else done.returncode}", hint=hint)


def _program(name: str) -> Path:
    beside = Path(sys.executable).with_name(name)
    found = beside if beside.exists() else shutil.which(name)
    if found is None:
        raise PotluckError(f"{name} is not installed beside this Python", hint="reinstall potluck")
    return Path(found)
