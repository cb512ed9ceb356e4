"""Has launchd on macOS start daemon and tray app when the user logs in, each by a LaunchAgent of its own.

An agent is a file in `~/Library/LaunchAgents`, which launchd reads at the next log-in. The system's settings can switch
it off without touching the file. This follows Apple's manual (launchd.plist(5), launchctl(1)), and only a fake
`launchctl` has tested it. Everything here blocks.
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
_SWITCHED_OFF = re.compile(r'"([^"]+)" => (?:disabled|true)')  # older systems say "true"


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
    switched_off = _SWITCHED_OFF.findall(_launchctl("print-disabled", _domain()))
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


def _domain() -> str:
    """Return launchd's domain of this user's graphical session."""
    return f"gui/{os.getuid()}"


def _launchctl(*arguments: str) -> str:
    return run("launchctl", *arguments, hint=sentence("are you logged in at the screen?"))
