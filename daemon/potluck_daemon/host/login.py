"""Reads and sets what starts at log-in: the desktop starts the tray app, systemd the daemon; launchd both on a Mac.

The state is always read anew. Everything here blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from potluck_control.methods.machine import LoginStart
from potluck_control.places import Places, system_places

from potluck.errors import PotluckError, UsageError
from potluck.files import remove_empty, write_atomically
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.host import launch_agents, units
from potluck_daemon.host.login_entry import is_on, switched_off, switched_on

ENTRY = "potluck.desktop"


def read_login(environment: Mapping[str, str], places: Places) -> LoginStart:
    """Return what starts at the next log-in, and why something can't be changed."""
    starts_daemon, daemon_problem = _daemon(places)
    starts_app = _app(environment)
    return LoginStart(
        app=starts_app,
        daemon=starts_daemon,
        app_problem=NOTHING if _app_command() else sentence("the tray app is not installed beside this program"),
        daemon_problem=daemon_problem,
        app_by=str(_app_file(environment)) if starts_app else "",
        daemon_by=str(_daemon_file(places) or "") if starts_daemon else "",
    )


def set_app(environment: Mapping[str, str], is_wanted: bool) -> None:
    """Start the tray app at log-in, or no longer. Raises PotluckError, OSError."""
    path, command = entry_path(environment), _app_command()
    if is_wanted and not command:
        raise UsageError(
            sentence("the tray app is not installed beside this program"),
            hint=sentence("install the package with the app, see docs/install.md"),
        )
    if launch_agents.is_mac():
        launch_agents.set_start_at_login(launch_agents.APP, Path(command) if is_wanted else None)
        return
    others = tuple(filter(None, map(_text, _entries_for_all(environment))))
    before = _text(path)
    after = switched_on(before, command, others=others) if is_wanted else switched_off(before, others=others)
    if after is None:
        path.unlink(missing_ok=True)
        remove_empty(path.parent, path.parent.parent)
    elif after != before:
        write_atomically(path, after.encode(errors="surrogateescape"), mode=0o644)


def set_daemon(places: Places, is_wanted: bool) -> None:
    """Start the daemon at log-in, or no longer. Raises PotluckError."""
    if places == system_places():
        hint = "sudo potluck service remove --system" if not is_wanted else "sudo potluck service install --system"
        raise UsageError(sentence("this daemon is the machine's own service"), hint=hint)
    if launch_agents.is_mac():
        launch_agents.set_start_at_login(launch_agents.DAEMON, units.program("potluckd") if is_wanted else None)
    else:
        units.set_start_at_login(is_wanted)


def entry_path(environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME") or Path.home()
    return Path(environment.get("XDG_CONFIG_HOME") or Path(home, ".config")) / "autostart" / ENTRY


def _app(environment: Mapping[str, str]) -> bool:
    if not launch_agents.is_mac():
        text = _text(_app_file(environment))
        return text is not None and is_on(text)
    try:
        return launch_agents.starts_at_login(launch_agents.APP)
    except PotluckError:
        return False  # the daemon's own line says that launchctl does not answer


def _app_file(environment: Mapping[str, str]) -> Path:
    """Return the entry that decides whether the app starts; the user's own comes before others of its name."""
    if launch_agents.is_mac():
        return launch_agents.agent_path(launch_agents.APP)
    own = entry_path(environment)
    return next((path for path in (own, *_entries_for_all(environment)) if path.exists()), own)


def _entries_for_all(environment: Mapping[str, str]) -> tuple[Path, ...]:
    folders = (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    return tuple(Path(folder) / "autostart" / ENTRY for folder in folders if folder)


def _text(path: Path) -> str | None:
    """Return a file's text; None if it is missing or unreadable."""
    try:
        return path.read_text(errors="surrogateescape")
    except OSError:
        return None


def _daemon(places: Places) -> tuple[bool, Sentence]:
    try:
        if places == system_places():
            problem = sentence("this daemon is the machine's own service, which only root can change")
            return units.is_system_service(), problem
        if launch_agents.is_mac():
            return launch_agents.starts_at_login(launch_agents.DAEMON), NOTHING
        is_on, link = units.starts_at_login(), units.started_by(is_system=False)
        if is_on and link is not None and units.is_for_all(link):
            return True, sentence("an administrator starts it for all users")
        return is_on, NOTHING
    except PotluckError as error:
        why = error.sentence
        return False, sentence("{why}: start it in another way, or let the tray app do so", why=why)


def _daemon_file(places: Places) -> Path | None:
    if places != system_places() and launch_agents.is_mac():
        return launch_agents.agent_path(launch_agents.DAEMON)
    return units.started_by(is_system=places == system_places())


def _app_command() -> str:
    try:
        return str(units.program("potluck-app"))
    except PotluckError:
        return ""
