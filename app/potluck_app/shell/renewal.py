"""The app after an update: which version runs, which one a start would bring, and starting as that one.

An update exchanges files below an open app. Windows keeps those of a program that runs: it never comes to this there.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

_HIDDEN = "--hidden"


class Renewal:
    """Made at the start: what is installed then is what runs."""

    def __init__(self) -> None:
        self.running = version("potluck")

    def installed(self) -> str:
        """The version that a start would bring; the running one while files are being exchanged."""
        importlib.invalidate_caches()  # all files of two builds may have the same time
        try:
            return version("potluck")
        except PackageNotFoundError:
            return self.running


def command(*, hidden: bool) -> list[str]:
    """What this process was started with, which leads to the version in use; in the tray, or with its window."""
    _, *arguments = sys.orig_argv
    kept = [argument for argument in arguments if argument != _HIDDEN]
    return [sys.executable, *kept, *([_HIDDEN] if hidden else [])]


def start_again(*, hidden: bool) -> NoReturn:
    """This process becomes the new version; whoever watches it, such as systemd, sees the same process."""
    words = command(hidden=hidden)
    os.execv(words[0], words)
