"""`potluck service`: let systemd start the daemon."""

from __future__ import annotations

import argparse
import grp
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from potluck.errors import PotluckError, UsageError
from potluck_daemon.cli.options import add_json, print_json
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.settings.files import write_atomically

DESCRIPTION = """\
Have systemd start the daemon: when you log in, or, with --system, when the machine starts, for a machine that nobody
plays on. The system service runs as a user of its own and sees no games. Nothing is installed unless you ask for it."""
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
_PROGRAM = "@POTLUCKD@"
_GROUPS = "@GPU_GROUPS@"
_GPU_GROUPS = ("render", "video")  # who may use a GPU; a unit that names one this machine lacks does not start
_SYSTEM_FOLDER = Path("/etc/systemd/system")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, act, summary in (
        ("install", _install, "write the unit, enable and start it"),
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


def is_installed() -> bool:
    """Whether this user's service is."""
    return unit_path(is_system=False).exists()


def start_service() -> None:
    """Raises PotluckError."""
    _systemctl(False, "start", UNIT)


def unit_path(*, is_system: bool) -> Path:
    if is_system:
        return _SYSTEM_FOLDER / UNIT
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "systemd" / "user" / UNIT


def unit_text(*, is_system: bool) -> str:
    """The unit with the path of this installation's `potluckd` and this machine's groups in it."""
    text = _template(_SYSTEM_TEMPLATE if is_system else UNIT)
    groups = {group.gr_name for group in grp.getgrall()}
    present = " ".join(name for name in _GPU_GROUPS if name in groups)
    return text.replace(_PROGRAM, str(_program())).replace(_GROUPS, present)


def _install(is_system: bool) -> None:
    path = unit_path(is_system=is_system)
    try:
        write_atomically(path, unit_text(is_system=is_system).encode(), mode=0o644)
    except OSError as error:
        raise PotluckError(f"cannot write {path}: {error.strerror}") from error
    _systemctl(is_system, "daemon-reload")
    _systemctl(is_system, "enable", "--now", UNIT)


def _remove(is_system: bool) -> None:
    path = unit_path(is_system=is_system)
    if not path.exists():
        raise UsageError(f"there is no {path}")
    _systemctl(is_system, "disable", "--now", UNIT)
    path.unlink()
    _systemctl(is_system, "daemon-reload")


def _systemctl(is_system: bool, *arguments: str) -> None:
    command = ["systemctl", *(() if is_system else ("--user",)), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except FileNotFoundError:
        raise PotluckError("this machine has no systemd", hint="start the daemon with: potluck start") from None
    except subprocess.TimeoutExpired:
        raise PotluckError(f"`{' '.join(command)}` does not end") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        log = f"journalctl {'' if is_system else '--user '}--unit={UNIT}"
        raise PotluckError(f"`{' '.join(command)}` failed: {said[-1] if said else done.returncode}", hint=log)


def _template(name: str) -> str:
    """From the wheel, or from the source tree of an editable installation."""
    packaged = files("potluck_daemon") / "resources" / "systemd" / name
    if packaged.is_file():
        return packaged.read_text()
    return (Path(__file__).parents[3] / "resources" / "systemd" / name).read_text()


def _program() -> Path:
    beside = Path(sys.executable).with_name("potluckd")
    found = beside if beside.exists() else shutil.which("potluckd")
    if found is None:
        raise PotluckError("potluckd is not installed beside this Python", hint="reinstall potluck")
    return Path(found)
