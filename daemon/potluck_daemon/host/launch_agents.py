"""Has launchd on macOS start daemon and tray app when the user logs in, each by a LaunchAgent of its own.

An agent is a file in `~/Library/LaunchAgents`, which launchd reads at the next log-in. The system's settings can switch
it off without touching the file. Written from Apple's manual (launchd.plist(5), launchctl(1)) and tested with a fake
`launchctl` only. Everything here blocks.
"""

from __future__ import annotations

import os
import plistlib
import re
import sys
from pathlib import Path

from potluck.files import write_atomically
from potluck.sentences import sentence
from potluck_daemon.host.units import run

DAEMON, APP = "org.potluck.daemon", "org.potluck.app"
_NOT_LOADED = (3, 113)  # exit codes of older and newer `launchctl bootout` then
_DISABLED = re.compile(r'"([^"]+)" => (?:disabled|true)')


def is_mac() -> bool:
    return sys.platform == "darwin"


def agent_path(label: str) -> Path:
    return Path.home() / "Library" / "LaunchAgents" / f"{label}.plist"


def agent(label: str, program: Path) -> bytes:
    """Return the agent's file. launchd starts the program again after a crash, not after an orderly end."""
    keys: dict[str, object] = {"Label": label, "ProgramArguments": [str(program)], "RunAtLoad": True}
    if label == DAEMON:
        keys["KeepAlive"] = {"Crashed": True}
    return plistlib.dumps(keys)


def starts_at_login(label: str) -> bool:
    """Return whether launchd starts the agent at log-in. Raises PotluckError."""
    switched_off = disabled(_launchctl("print-disabled", _domain()))
    return agent_path(label).exists() and label not in switched_off


def disabled(said: str) -> frozenset[str]:
    """Return the labels that `launchctl print-disabled` lists as switched off."""
    return frozenset(_DISABLED.findall(said))


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


def install(label: str, program: Path) -> None:
    """Start the program at each log-in and now, or restart it. Raises PotluckError."""
    set_start_at_login(label, program)
    _unload(label)
    _launchctl("bootstrap", _domain(), str(agent_path(label)))


def remove(label: str) -> None:
    """End the program and don't start it again. Raises PotluckError."""
    _unload(label)
    set_start_at_login(label, None)


def _unload(label: str) -> None:
    _launchctl("bootout", f"{_domain()}/{label}", also_fine=_NOT_LOADED)


def _domain() -> str:
    """Return launchd's domain of this user's graphical session."""
    return f"gui/{os.getuid()}"


def _launchctl(*arguments: str, also_fine: tuple[int, ...] = ()) -> str:
    return run("launchctl", *arguments, hint=sentence("are you logged in at the screen?"), fine=(0, *also_fine))
