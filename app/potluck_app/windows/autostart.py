"""Starting the app at log-in: a value below the user's Run key, which Windows' own `reg.exe` sets.

Tests under Wine run the same program. The task manager can switch an entry off without removing it.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import potluck_app
from potluck.errors import PotluckError

RUN = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Run"
APPROVED = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
LAUNCHER = Path(potluck_app.__file__).parents[2] / "Potluck.exe"  # see installer/windows/setup.nsi
NAME = "Potluck"  # the uninstaller removes the entry of this name
_LIMIT_S = 30.0
_NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)


class Autostart:
    """The log-in entry of this app. `program`: the command that runs reg.exe."""

    def __init__(self, program: Sequence[str] = ("reg.exe",)) -> None:
        self._program = tuple(program)

    def is_on(self) -> bool:
        if self._ask("query", RUN, "/v", NAME) is None:
            return False
        switched_off = re.search(r"REG_BINARY\s+([0-9A-Fa-f]{2})", self._ask("query", APPROVED, "/v", NAME) or "")
        return switched_off is None or int(switched_off[1], 16) % 2 == 0  # odd: the task manager switched it off

    def switch(self, command: str | None) -> None:
        """Run `command` at log-in, or nothing if it is None. Raises PotluckError."""
        if self._ask("query", APPROVED, "/v", NAME) is not None:
            self._ask("delete", APPROVED, "/v", NAME, "/f")
        if command is not None:
            done = self._ask("add", RUN, "/v", NAME, "/t", "REG_SZ", "/d", command, "/f")
        else:
            done = self._ask("delete", RUN, "/v", NAME, "/f") if self.is_on() else ""
        if done is None:
            raise PotluckError("Windows refused to change what starts at log-in", hint="ask its administrator")

    def _ask(self, *arguments: str) -> str | None:
        """Return what reg.exe prints; None if there is no such value or it is refused."""
        done = subprocess.run(
            [*self._program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            creationflags=_NO_WINDOW,
        )
        return done.stdout if done.returncode == 0 else None
