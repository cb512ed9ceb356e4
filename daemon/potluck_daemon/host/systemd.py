"""Has systemd start the daemon, for one user or for the machine, and reports the daemon's state to it.

The units are written here, and systemctl is called. The reports follow sd_notify(3).
"""

from __future__ import annotations

import grp
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from potluck_control.resources import resource

from potluck.errors import PotluckError, UsageError
from potluck.files import remove_empty, write_atomically
from potluck.sentences import Sentence, sentence

UNIT = "potluckd.service"
STARTS_WITH_MACHINE = "It starts with the machine from now on (undo: systemctl disable potluckd)."
_MARKS = ("# Made by `potluck autostart`", "# Installed by `potluck service install")  # beginnings of our units
_GPU_GROUPS = ("render", "video")  # they may use a GPU; a unit that names a missing group does not start
_SYSTEM_FOLDER = Path("/etc/systemd/system")
_ALL_USERS = Path("/etc/systemd/user")
_BOOTED = Path("/run/systemd/system")  # sd_booted(3)
_PACKAGED = Path("/usr/lib/systemd")  # where a package of the distribution puts its units
_TIMEOUT_S = 120.0
_START_BY_HAND = sentence("start the daemon with: potluck start")
_HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # ProtectHome and PrivateTmp hide them
_SYSTEM_FILES = {  # systemd makes the service's user and its folders from these files of `resources/systemd/`
    "potluck.sysusers": (Path("/etc/sysusers.d/potluck.conf"), ("systemd-sysusers",)),
    "potluck.tmpfiles": (Path("/etc/tmpfiles.d/potluck.conf"), ("systemd-tmpfiles", "--create")),
}


class ServiceManager:
    """Reports the daemon's state to the service manager, if there is one that listens.

    Attributes:
        watchdog_s: how often it wants a sign of life; None: never.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        usec = environment.get("WATCHDOG_USEC", "")
        self.watchdog_s = int(usec) / 1e6 if usec.isdecimal() else None

    def ready(self) -> None:
        """Report that the daemon has started."""
        self._send("READY=1")

    def alive(self) -> None:
        """Send the watchdog a sign of life."""
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Report that the daemon ends."""
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """Send the line that `systemctl status` shows."""
        self._send(f"STATUS={text}")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            try:
                sender.sendto(message.encode(), socket.MSG_DONTWAIT, self._address)
            except OSError:
                return  # the manager is restarting and doesn't ask again


def start_service() -> bool:
    """Start the daemon by its unit, if there is one. Return whether there is. Raises PotluckError."""
    return _command_service("start")


def stop_service() -> None:
    """Stop a daemon that has a unit, and forget its failures, so that the next start is not refused.

    Raises:
        PotluckError: systemd refuses.
    """
    _command_service("stop", "reset-failed")


def enable_system_service() -> bool:
    """Have the machine's own service start with the machine, if this is root. Return whether that is new.

    Raises:
        PotluckError: systemd refuses.
    """
    is_disabled = _installed_unit() == unit_path(is_system=True) and _enablement(True) == "disabled"
    if is_disabled:
        _systemctl(True, "enable", UNIT)
    return is_disabled


def unit_path(*, is_system: bool) -> Path:
    """Return the unit that systemd uses: the one written here, else a package's, else the one to be written."""
    own = (_SYSTEM_FOLDER if is_system else _user_folder()) / UNIT
    packaged = _PACKAGED / ("system" if is_system else "user") / UNIT
    return packaged if packaged.exists() and not own.exists() else own


def unit_text(*, is_system: bool) -> str:
    """Return the unit with the paths of this installation's programs and this machine's groups."""
    text = (resource("systemd") / ("potluckd-system.service" if is_system else UNIT)).read_text()
    groups = {group.gr_name for group in grp.getgrall()}
    present = " ".join(name for name in _GPU_GROUPS if name in groups)
    text = text.replace("@POTLUCKD@", str(program("potluckd"))).replace("@POTLUCK@", str(program("potluck")))
    return text.replace("@GPU_GROUPS@", present)


def enable(*, is_system: bool) -> None:
    """Have systemd start the daemon at log-in, or with the machine; nothing starts now.

    The unit is written anew unless a package or a person made it.

    Raises:
        PotluckError: systemd refuses, or the machine's own service could not read Potluck's files.
        OSError: the unit cannot be written.
    """
    _systemctl(is_system, "show-environment", hint=_START_BY_HAND)  # raises where no systemd answers
    path = unit_path(is_system=is_system)
    if _is_ours(path) or not path.exists():
        if is_system:
            _require_visible()
            for name, (file, command) in _SYSTEM_FILES.items():
                write_atomically(file, (resource("systemd") / name).read_bytes(), mode=0o644)
                run(*command, str(file))
        write_atomically(path, unit_text(is_system=is_system).encode(), mode=0o644)
    _systemctl(is_system, "daemon-reload")
    _systemctl(is_system, "enable", UNIT)


def disable(*, is_system: bool) -> None:
    """No longer have systemd start the daemon, and delete a unit that `enable` wrote; nothing ends now.

    Raises:
        PotluckError: systemd refuses, or an administrator starts the daemon for all users.
    """
    path = unit_path(is_system=is_system)
    if path.exists():
        _systemctl(is_system, "disable", UNIT)
    if _is_ours(path):
        path.unlink()
        for file, _ in _SYSTEM_FILES.values() if is_system else ():
            file.unlink(missing_ok=True)
        _systemctl(is_system, "daemon-reload")
    if is_system:
        return
    remove_empty(*[_user_folder(), *_user_folder().parents][:3])
    if is_for_all_users():
        hint = f"for you alone: systemctl --user mask {UNIT}"
        raise UsageError(sentence("an administrator has the daemon started for all users"), hint=hint)


def is_enabled(*, is_system: bool) -> bool:
    """Return whether systemd starts the daemon at log-in, or with the machine. Raises PotluckError without systemd."""
    _systemctl(is_system, "show-environment", hint=_START_BY_HAND)  # raises where no systemd answers
    return unit_path(is_system=is_system).exists() and _enablement(is_system) == "enabled"


def is_for_all_users() -> bool:
    """Return whether an administrator enabled the unit of all users, which one user can't disable."""
    return any(_ALL_USERS.glob(f"*.wants/{UNIT}"))


def run(*command: str, hint: str | Sentence | None = None, may_fail: bool = False) -> str:
    """Return what a command prints. Raises PotluckError if it is missing, hangs, or fails although it must not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except FileNotFoundError:
        raise PotluckError(sentence("this machine has no {program}", program=command[0]), hint=_START_BY_HAND) from None
    except subprocess.TimeoutExpired:
        raise PotluckError(sentence("`{what}` does not end", what=" ".join(command))) from None
    if done.returncode != 0 and not may_fail:
        errors = " ".join(done.stderr.split())
        raise PotluckError(
            sentence("`{what}` failed: {why}", what=" ".join(command), why=errors or done.returncode), hint=hint
        )
    return done.stdout


def program(name: str) -> Path:
    """Return the path of one of Potluck's programs. Raises PotluckError."""
    beside = Path(sys.executable).with_name(name)
    found = beside if beside.exists() else shutil.which(name)
    if found is None:
        raise PotluckError(
            sentence("{what} is not installed beside this Python", what=name), hint=sentence("reinstall potluck")
        )
    return Path(found)


def _installed_unit() -> Path | None:
    """Return the unit that `potluck start` uses: for root the system's if there is one, else this user's.

    None: there is no unit, or no systemd.
    """
    scopes = (os.geteuid() == 0, False) if _BOOTED.is_dir() else ()
    return next((unit for is_system in scopes if (unit := unit_path(is_system=is_system)).exists()), None)


def _command_service(*commands: str) -> bool:
    """Give systemd commands about the unit, if there is one. Return whether there is. Raises PotluckError."""
    unit = _installed_unit()
    for command in commands if unit is not None else ():
        _systemctl(unit == unit_path(is_system=True), command, UNIT)
    return unit is not None


def _enablement(is_system: bool) -> str:
    """Return systemd's word for whether it starts the unit by itself, such as "disabled". Raises PotluckError."""
    return _systemctl(is_system, "is-enabled", UNIT, may_fail=True).strip()


def _require_visible() -> None:
    """Raise UsageError where the sandbox of the system's unit hides Potluck's programs, packages or interpreter."""
    for path in (program("potluckd"), Path(__file__), Path(sys.base_prefix)):
        if any(path.resolve().is_relative_to(os.path.realpath(folder)) for folder in _HIDDEN):
            text = sentence(
                "the system service can't see {path}: its sandbox hides home and temporary folders", path=path
            )
            hint = sentence("install Potluck elsewhere, for example in /opt, see docs/headless.md")
            raise UsageError(text, hint=hint)


def _is_ours(path: Path) -> bool:
    """Return whether Potluck wrote the unit, and no package or person."""
    try:
        return not path.is_relative_to(_PACKAGED) and path.read_text().startswith(_MARKS)
    except (OSError, UnicodeDecodeError):
        return False


def _user_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"


def _systemctl(is_system: bool, *arguments: str, hint: Sentence | None = None, may_fail: bool = False) -> str:
    scope = () if is_system else ("--user",)
    log = " ".join(("journalctl", *scope, f"--unit={UNIT}"))
    return run("systemctl", *scope, *arguments, hint=hint or log, may_fail=may_fail)
