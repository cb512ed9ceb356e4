"""macOS: what launchd starts when the user logs in, the daemon and the tray app, each by a LaunchAgent of its own.

An agent is a file in `~/Library/LaunchAgents`; launchd reads it at the next log-in, and the system's settings can
switch it off without touching the file. Written from Apple's manual (launchd.plist(5), launchctl(1)) and tested with a
fake `launchctl` only. Everything here blocks.
"""

from __future__ import annotations

import os
import plistlib
import re
import subprocess
import sys
from pathlib import Path

from potluck.errors import PotluckError
from potluck.files import write_atomically

DAEMON, APP = "org.potluck.daemon", "org.potluck.app"
_NOT_LOADED = (3, 113)  # what `launchctl bootout` ends with then, older and newer
_DISABLED = re.compile(r'"([^"]+)" => (?:disabled|true)')


def is_mac() -> bool:
    return sys.platform == "darwin"


def agent_path(label: str) -> Path:
    return Path.home() / "Library" / "LaunchAgents" / f"{label}.plist"


def agent(label: str, program: Path) -> bytes:
    """The agent's file. It is started again after a crash, not when it ended by itself or found another running."""
    keys: dict[str, object] = {"Label": label, "ProgramArguments": [str(program)], "RunAtLoad": True}
    if label == DAEMON:
        keys["KeepAlive"] = {"Crashed": True}
    return plistlib.dumps(keys)


def starts_at_login(label: str) -> bool:
    """Whether launchd will start it. Raises PotluckError."""
    switched_off = disabled(_launchctl("print-disabled", _domain()))
    return agent_path(label).exists() and label not in switched_off


def disabled(said: str) -> frozenset[str]:
    """The labels that `launchctl print-disabled` names as switched off."""
    return frozenset(_DISABLED.findall(said))


def set_start_at_login(label: str, program: Path | None) -> None:
    """None: not any more. What runs now goes on, and nothing is started. Raises PotluckError."""
    path = agent_path(label)
    try:
        if program is None:
            path.unlink(missing_ok=True)
            return
        write_atomically(path, agent(label, program), mode=0o644)
    except OSError as error:
        raise PotluckError(f"cannot write {path}: {error.strerror}", hint="does the folder belong to you?") from error
    _launchctl("enable", f"{_domain()}/{label}")


def install(label: str, program: Path) -> None:
    """Start it at each log-in, and now, or anew if it runs. Raises PotluckError."""
    set_start_at_login(label, program)
    _unload(label)
    _launchctl("bootstrap", _domain(), str(agent_path(label)))


def remove(label: str) -> None:
    """End it, and do not start it again. Raises PotluckError."""
    _unload(label)
    set_start_at_login(label, None)


def _unload(label: str) -> None:
    _launchctl("bootout", f"{_domain()}/{label}", also_fine=_NOT_LOADED)


def _domain() -> str:
    """The one of this user's session with a screen."""
    return f"gui/{os.getuid()}"


def _launchctl(*arguments: str, also_fine: tuple[int, ...] = ()) -> str:
    try:
        done = subprocess.run(["launchctl", *arguments], capture_output=True, text=True, timeout=60, check=False)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        raise PotluckError("launchd does not answer", hint="start the daemon with: potluck start") from None
    if done.returncode not in (0, *also_fine):
        said = " ".join(done.stderr.split()) or str(done.returncode)
        raise PotluckError(f"`launchctl {' '.join(arguments)}` failed: {said}", hint="are you logged in at the screen?")
    return done.stdout
