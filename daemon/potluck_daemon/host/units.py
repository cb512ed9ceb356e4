"""Has systemd start the daemon, for one user or for the machine: texts of the units, and calls of systemctl."""

from __future__ import annotations

import grp
import os
import shutil
import subprocess
import sys
from pathlib import Path

from potluck_control.resources import resource

from potluck.errors import PotluckError, UsageError
from potluck.files import remove_empty, write_atomically
from potluck.sentences import Sentence, sentence

UNIT = "potluckd.service"
STARTS_WITH_MACHINE = "It starts with the machine from now on (undo: systemctl disable potluckd)."
_SYSTEM_TEMPLATE = "potluckd-system.service"
_DAEMON = "@POTLUCKD@"
_COMMAND = "@POTLUCK@"
_MARKS = ("# Made by `potluck autostart`", "# Installed by `potluck service install")  # now and formerly
_GROUPS = "@GPU_GROUPS@"
_GPU_GROUPS = ("render", "video")  # may use a GPU; a unit that names a missing group does not start
_SYSTEM_FOLDER = Path("/etc/systemd/system")
_ALL_USERS = Path("/etc/systemd/user")
_BOOTED = Path("/run/systemd/system")  # sd_booted(3)
_PACKAGED = Path("/usr/lib/systemd")  # where a package of the distribution puts its units
_HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # by ProtectHome and PrivateTmp in the system's unit
_SYSTEM_FILES = {  # of `resources/systemd/`: systemd makes the service's user and its folders from them
    "potluck.sysusers": (Path("/etc/sysusers.d/potluck.conf"), ("systemd-sysusers",)),
    "potluck.tmpfiles": (Path("/etc/tmpfiles.d/potluck.conf"), ("systemd-tmpfiles", "--create")),
}


def installed() -> Path | None:
    """Return the unit of `potluck start`: the system's for root, else this user's; None without unit or systemd."""
    if not _BOOTED.is_dir():
        return None
    unit = unit_path(is_system=os.geteuid() == 0)
    return next((path for path in (unit, unit_path(is_system=False)) if path.exists()), None)


def start_service(unit: Path) -> None:
    """Start the daemon by its unit. Raises PotluckError."""
    _systemctl(unit == unit_path(is_system=True), "start", UNIT)


def enable_system_service() -> bool:
    """Have the machine's own service start with the machine, if this is root; returns whether that is new.

    Raises:
        PotluckError: systemd cannot.
    """
    unit = installed()
    if os.geteuid() != 0 or unit is None or unit != unit_path(is_system=True):
        return False
    if _answer("systemctl", "is-enabled", UNIT) != "disabled":
        return False
    _systemctl(True, "enable", UNIT)
    return True


def stop_service(unit: Path) -> None:
    """Stop the daemon and forget its failures, so that the next start is not refused. Raises PotluckError."""
    is_system = unit == unit_path(is_system=True)
    _systemctl(is_system, "stop", UNIT)
    _systemctl(is_system, "reset-failed", UNIT)


def unit_path(*, is_system: bool) -> Path:
    """Return the unit that counts: the one written here, else a package's, else where one would be written."""
    own = (_SYSTEM_FOLDER if is_system else _user_folder()) / UNIT
    packaged = _packaged(is_system=is_system)
    return packaged if packaged.exists() and not own.exists() else own


def unit_text(*, is_system: bool) -> str:
    """Return the unit with the paths of this installation's programs and this machine's groups."""
    text = (resource("systemd") / (_SYSTEM_TEMPLATE if is_system else UNIT)).read_text()
    groups = {group.gr_name for group in grp.getgrall()}
    present = " ".join(name for name in _GPU_GROUPS if name in groups)
    text = text.replace(_DAEMON, str(program("potluckd"))).replace(_COMMAND, str(program("potluck")))
    return text.replace(_GROUPS, present)


def enable(*, is_system: bool) -> None:
    """Have systemd start the daemon at log-in, or with the machine; nothing starts now.

    The unit is written anew unless a package or a person made it.

    Raises:
        PotluckError: systemd refuses, or the machine's own service could not read Potluck's files.
        OSError: the unit cannot be written.
    """
    _require_systemd(is_system=is_system)
    path = unit_path(is_system=is_system)
    if _is_ours(path, is_system=is_system) or not path.exists():
        if is_system:
            _require_visible()
        for name, (file, command) in _SYSTEM_FILES.items() if is_system else ():
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
    if _is_ours(path, is_system=is_system):
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
    _require_systemd(is_system=is_system)
    scope = () if is_system else ("--user",)
    return unit_path(is_system=is_system).exists() and _answer("systemctl", *scope, "is-enabled", UNIT) == "enabled"


def is_for_all_users() -> bool:
    """Return whether an administrator enabled the unit of all users, which one user can't disable."""
    return any(_ALL_USERS.glob(f"*.wants/{UNIT}"))


def _require_systemd(*, is_system: bool) -> None:
    """Raise PotluckError where no systemd answers."""
    hint = sentence("start the daemon with: potluck start")
    run("systemctl", *(() if is_system else ("--user",)), "show-environment", hint=hint)


def _require_visible() -> None:
    """Raise UsageError where the sandbox of the system's unit hides Potluck's programs, packages or interpreter."""
    for path in (program("potluckd"), Path(__file__), Path(sys.base_prefix)):
        if any(path.resolve().is_relative_to(os.path.realpath(folder)) for folder in _HIDDEN):
            text = sentence(
                "the system service can't see {path}: its sandbox hides home and temporary folders", path=path
            )
            hint = sentence("install Potluck elsewhere, for example in /opt, see docs/headless.md")
            raise UsageError(text, hint=hint)


def _is_ours(path: Path, *, is_system: bool) -> bool:
    """Return whether Potluck wrote the unit, and no package or person."""
    try:
        return path != _packaged(is_system=is_system) and path.read_text().startswith(_MARKS)
    except (OSError, UnicodeDecodeError):
        return False


def _user_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd" / "user"


def _packaged(*, is_system: bool) -> Path:
    return _PACKAGED / ("system" if is_system else "user") / UNIT


def _systemctl(is_system: bool, *arguments: str) -> None:
    log = f"journalctl {'' if is_system else '--user '}--unit={UNIT}"
    run("systemctl", *(() if is_system else ("--user",)), *arguments, hint=log)


def _answer(*command: str) -> str:
    """Return the output of a command, whatever its exit code. Raises PotluckError."""
    return run(*command, fine=(), timeout_s=20).strip()


def run(*command: str, hint: str | Sentence | None = None, fine: tuple[int, ...] = (0,), timeout_s: float = 120) -> str:
    """Return the output of a command that ends with one of the codes `fine`, or any. Raises PotluckError."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except FileNotFoundError:
        raise PotluckError(
            sentence("this machine has no {program}", program=command[0]),
            hint=sentence("start the daemon with: potluck start"),
        ) from None
    except subprocess.TimeoutExpired:
        raise PotluckError(sentence("`{what}` does not end", what=" ".join(command))) from None
    if fine and done.returncode not in fine:
        said = " ".join(done.stderr.split())
        raise PotluckError(
            sentence("`{what}` failed: {why}", what=" ".join(command), why=said or done.returncode), hint=hint
        )
    return done.stdout


def program(name: str) -> Path:
    beside = Path(sys.executable).with_name(name)
    found = beside if beside.exists() else shutil.which(name)
    if found is None:
        raise PotluckError(
            sentence("{what} is not installed beside this Python", what=name), hint=sentence("reinstall potluck")
        )
    return Path(found)
