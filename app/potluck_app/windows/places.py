"""Where things are on Windows, as the installer and the uninstaller know them too (installer/windows/setup.nsi)."""

from __future__ import annotations

import os
from pathlib import Path

import potluck_app

INSTALLATION = Path(potluck_app.__file__).parents[2]
PACKAGE = INSTALLATION / "linux" / "potluck-headless.deb"
LAUNCHER = INSTALLATION / "Potluck.exe"


def disk_folder() -> Path:
    """Return the folder where Windows keeps the disk of our Linux."""
    return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"), "Potluck", "linux")
