"""Has systemd start the daemon, for one user or for the machine: texts of the units, and calls of systemctl."""

from __future__ import annotations

import grp
import hashlib
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
_MARK = "# Made by `potluck autostart`, which removes it again unless it is changed: "
_GROUPS = "@GPU_GROUPS@"
_GPU_GROUPS = ("render", "video")  # may use a GPU; a unit that names a missing group does not start
_SYSTEM_FOLDER = Path("/etc/systemd/system")
_ALL_USERS = Path("/etc/systemd/user")
_BOOTED = Path("/run/systemd/system")  # sd_booted(3)
_PACKAGED = Path("/usr/lib/systemd")  # where a package of the distribution puts its units
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


def install(*, is_system: bool) -> None:
    """Write and enable the unit, and start it now. Raises PotluckError."""
    if unit_path(is_system=is_system) != _packaged(is_system=is_system):
        for name, (path, command) in _SYSTEM_FILES.items() if is_system else ():
            write_atomically(path, (resource("systemd") / name).read_bytes(), mode=0o644)
            run(*command, str(path))
        write_atomically(unit_path(is_system=is_system), unit_text(is_system=is_system).encode(), mode=0o644)
    _systemctl(is_system, "daemon-reload")
    _systemctl(is_system, "enable", UNIT)
    _systemctl(is_system, "restart", UNIT)  # restart, because the old program runs on after an update


def remove(*, is_system: bool) -> None:
    """Stop the daemon and delete the unit; a package's own unit is only disabled. Raises PotluckError."""
    path = unit_path(is_system=is_system)
    if not path.exists():
        raise UsageError(sentence("there is no {path}", path=str(path)))
    _systemctl(is_system, "disable", "--now", UNIT)
    if path == _packaged(is_system=is_system):
        return
    path.unlink()
    for file, _ in _SYSTEM_FILES.values() if is_system else ():
        file.unlink(missing_ok=True)
    _systemctl(is_system, "daemon-reload")


def starts_at_login() -> bool:
    """Return whether systemd starts this user's daemon. Raises PotluckError without systemd."""
    if not unit_path(is_system=False).exists():
        run("systemctl", "--user", "show-environment")  # fails without systemd
        return False
    return _answer("systemctl", "--user", "is-enabled", UNIT) == "enabled"


def is_system_service() -> bool:
    """Return whether the machine's own service is installed and starts with the machine."""
    return unit_path(is_system=True).exists() and _answer("systemctl", "is-enabled", UNIT) == "enabled"


def started_by(*, is_system: bool) -> Path | None:
    """Return the link that enables the unit, this user's own or one that an administrator made for all users."""
    folders = (_SYSTEM_FOLDER,) if is_system else (_user_folder(), _ALL_USERS)
    return next((link for folder in folders for link in sorted(folder.glob(f"*.wants/{UNIT}"))), None)


def is_for_all(link: Path) -> bool:
    """Return whether an administrator made the link, so that this user can't remove it."""
    return link.is_relative_to(_ALL_USERS)


def set_start_at_login(is_wanted: bool) -> None:
    """Start this user's daemon at log-in, or no longer; nothing starts or ends now.

    An existing unit stays as it is. One that was written here is deleted when it is switched off, unless somebody
    changed it.

    Raises:
        PotluckError: systemd refuses, or an administrator starts the daemon for all users.
    """
    path = unit_path(is_system=False)
    if is_wanted:
        if path != _packaged(is_system=False) and (not path.exists() or _is_marked(path)):
            write_atomically(path, _marked(unit_text(is_system=False)).encode(), mode=0o644)
        _systemctl(False, "daemon-reload")
        _systemctl(False, "enable", UNIT)
        return
    if path.exists():
        _systemctl(False, "disable", UNIT)
    if _is_marked(path):
        path.unlink()
        _systemctl(False, "daemon-reload")
    remove_empty(*[_user_folder(), *_user_folder().parents][:3])
    link = started_by(is_system=False)
    if link is not None and is_for_all(link):
        hint = f"for you alone: systemctl --user mask {UNIT}"
        raise UsageError(sentence("an administrator has the daemon started for all users"), hint=hint)


def _marked(text: str) -> str:
    """Add a first line that identifies the text as ours as long as nobody changes it."""
    return f"{_MARK}{hashlib.sha256(text.encode()).hexdigest()[:16]}\n{text}"


def _is_marked(path: Path) -> bool:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError):
        return False
    return text.startswith(_MARK) and text == _marked(text.partition("\n")[2])


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
