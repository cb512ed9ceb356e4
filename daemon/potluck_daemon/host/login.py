"""Reads and sets what starts at log-in: the desktop starts the tray app, systemd the daemon; launchd both on a Mac.

On macOS each has a LaunchAgent, a file in `~/Library/LaunchAgents` that launchd reads at the next log-in; the system's
settings can switch it off without touching the file. This follows Apple's manual (launchd.plist(5), launchctl(1)), and
only a fake `launchctl` has tested it. The state is always read anew, and nothing starts or ends now. Everything blocks.
Source: freedesktop.org's desktop application autostart specification.
"""

from __future__ import annotations

import os
import plistlib
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from potluck_control.methods.machine import LoginStart
from potluck_control.places import Places

from potluck.errors import PotluckError, UsageError
from potluck.files import remove_empty, write_atomically
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.host import systemd as units
from potluck_daemon.host.systemd import run

DAEMON, APP = "org.potluck.daemon", "org.potluck.app"
_DISABLED_AGENT = re.compile(r'"([^"]+)" => (?:disabled|true)')  # older systems say "true"
ENTRY = "potluck.desktop"
_ON = """\
[Desktop Entry]
Type=Application
Name=Potluck
Comment=Shares spare computing with a swarm of friends
Exec={command}
Icon=potluck
Terminal=false
"""
_OFF = "[Desktop Entry]\nType=Application\nName=Potluck\nHidden=true\n"  # it outranks an entry for all users
_NO_APP = sentence("the tray app is not installed beside this program")
_ONLY_ROOT = sentence("this daemon is the machine's own service, which only root can change")
_SWITCHED_OFF = re.compile(r"(?m)^(Hidden[ \t]*=[ \t]*true|X-GNOME-Autostart-enabled[ \t]*=[ \t]*false)[ \t]*$")


def is_mac() -> bool:
    """Return whether this computer runs macOS."""
    return sys.platform == "darwin"


def agent_path(label: str) -> Path:
    """Return the file of a LaunchAgent."""
    return Path.home() / "Library" / "LaunchAgents" / f"{label}.plist"


def agent(label: str, program: Path) -> bytes:
    """Return the agent's file. launchd starts the program again after a crash, not after an orderly end."""
    keys: dict[str, object] = {"Label": label, "ProgramArguments": [str(program)], "RunAtLoad": True}
    if label == DAEMON:
        keys["KeepAlive"] = {"Crashed": True}
    return plistlib.dumps(keys)


def starts_at_login(label: str) -> bool:
    """Return whether launchd starts the agent at log-in. Raises PotluckError."""
    switched_off = _DISABLED_AGENT.findall(_launchctl("print-disabled", _domain()))
    return agent_path(label).exists() and label not in switched_off


def set_start_at_login(label: str, program: Path | None) -> None:
    """Start `program` at log-in, or no longer if it is None. Nothing starts or ends now.

    Raises:
        PotluckError: launchd refuses.
        OSError: the agent cannot be written.
    """
    path = agent_path(label)
    if program is None:
        path.unlink(missing_ok=True)
        return
    write_atomically(path, agent(label, program), mode=0o644)
    _launchctl("enable", f"{_domain()}/{label}")


def read_login(environment: Mapping[str, str], places: Places) -> LoginStart:
    """Return what starts at the next log-in, and why something can't be changed."""
    starts_daemon, daemon_problem = _read_daemon(places)
    return LoginStart(_starts_app(environment), starts_daemon, NOTHING if _app_command() else _NO_APP, daemon_problem)


def set_app(environment: Mapping[str, str], is_wanted: bool) -> None:
    """Start the tray app at log-in, or no longer. The user gets their own entry only where that for all users differs.

    Raises:
        PotluckError: the app is not installed, or launchd refuses.
        OSError: the entry cannot be written.
    """
    path, command = entry_path(environment), _app_command()
    if is_wanted and not command:
        raise UsageError(_NO_APP, hint=sentence("install the package with the app, see docs/install.md"))
    if is_mac():
        set_start_at_login(APP, Path(command) if is_wanted else None)
    elif any(map(_starts, _entries_for_all(environment))) is is_wanted:
        path.unlink(missing_ok=True)
        remove_empty(path.parent, path.parent.parent)
    else:
        text = _ON.format(command=_quoted(command)) if is_wanted else _OFF
        write_atomically(path, text.encode(errors="surrogateescape"), mode=0o644)


def set_daemon(places: Places, is_wanted: bool) -> None:
    """Start the daemon at log-in, a system's own with the machine, or no longer. Raises PotluckError."""
    if places.is_system and is_mac():
        raise UsageError(sentence("Potluck has no system service on a Mac"))
    if places.is_system and os.geteuid() != 0:
        hint = f"sudo potluck autostart --system --daemon {'on' if is_wanted else 'off'}"
        raise UsageError(_ONLY_ROOT, hint=hint)
    if is_mac():
        set_start_at_login(DAEMON, units.program("potluckd") if is_wanted else None)
    elif is_wanted:
        units.enable(is_system=places.is_system)
    else:
        units.disable(is_system=places.is_system)


def entry_path(environment: Mapping[str, str]) -> Path:
    """Return the user's own autostart entry of the tray app."""
    home = environment.get("HOME") or Path.home()
    return Path(environment.get("XDG_CONFIG_HOME") or Path(home, ".config")) / "autostart" / ENTRY


def _domain() -> str:
    """Return launchd's domain of this user's graphical session."""
    return f"gui/{os.getuid()}"


def _launchctl(*arguments: str) -> str:
    return run("launchctl", *arguments, hint=sentence("are you logged in at the screen?"))


def _starts_app(environment: Mapping[str, str]) -> bool:
    if not is_mac():
        own = entry_path(environment)  # desktops prefer it to others of its name
        return _starts(own) if own.exists() else any(map(_starts, _entries_for_all(environment)))
    try:
        return starts_at_login(APP)
    except PotluckError:
        return False  # the daemon's own line says that launchctl does not answer


def _read_daemon(places: Places) -> tuple[bool, Sentence]:
    """Return whether the daemon starts at log-in or with the machine, and why that can't be changed."""
    try:
        if is_mac():
            return starts_at_login(DAEMON), NOTHING
        is_on = units.is_enabled(is_system=places.is_system)
    except PotluckError as error:
        why = error.sentence
        return False, sentence("{why}: start it in another way, or let the tray app do so", why=why)
    if places.is_system and os.geteuid() != 0:
        return is_on, _ONLY_ROOT
    if is_on and not places.is_system and units.is_for_all_users():
        return is_on, sentence("an administrator starts it for all users")
    return is_on, NOTHING


def _entries_for_all(environment: Mapping[str, str]) -> list[Path]:
    folders = (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    return [Path(folder) / "autostart" / ENTRY for folder in folders if folder]


def _starts(entry: Path) -> bool:
    """Return whether an entry starts the app; desktops switch one off by a line in it."""
    try:
        return not _SWITCHED_OFF.search(entry.read_text(errors="surrogateescape"))
    except OSError:
        return False


def _quoted(path: str) -> str:
    """Quote a path for the Exec key."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`").replace("$", "\\$")
    return f'"{escaped}"'.replace("%", "%%")


def _app_command() -> str:
    try:
        return str(units.program("potluck-app"))
    except PotluckError:
        return ""
