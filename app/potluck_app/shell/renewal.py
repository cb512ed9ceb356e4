"""The app after an update: the running version, the installed one, and a restart as that one.

An update exchanges files below an open app, except on Windows, which keeps the files of a running program.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from potluck.own_version import own_version

_HIDDEN = "--hidden"


class Renewal:
    """Knows the running version, which is the installed one when it is made."""

    def __init__(self) -> None:
        self.running = own_version()

    def installed(self) -> str:
        """Return the version that a restart would run; the running one while files are being exchanged."""
        try:
            return own_version()
        except ModuleNotFoundError:
            return self.running


def command(*, hidden: bool) -> list[str]:
    """Return the command that started this process, which leads to the installed version; `hidden`: in the tray."""
    _, *arguments = sys.orig_argv
    kept = [argument for argument in arguments if argument != _HIDDEN]
    return [sys.executable, *kept, *([_HIDDEN] if hidden else [])]


def start_again(*, hidden: bool) -> NoReturn:
    """Replace this process by the new version; systemd, which watches it, sees the same process."""
    words = command(hidden=hidden)
    os.execv(words[0], words)
