"""The app's entry point, which first checks that the system has the libraries that the window needs.

Qt ends the process when its plug-in for the screen cannot be loaded, so what is missing is shown instead, in a dialog
where nobody sees the terminal. No part of Qt is loaded before, so the texts cannot be translated.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

_LOADED = ("lib/libQt6Widgets.so.6", "lib/libQt6DBus.so.6", "lib/libQt6Network.so.6")
_PLUGINS = {"xcb": "plugins/platforms/libqxcb.so", "wayland": "plugins/platforms/libqwayland.so"}
_DEBIAN = {  # the packages of Debian and Ubuntu whose names don't follow from the library's
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgobject-2.0.so.0": "libglib2.0-0",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
}
_DIALOGS = (
    ("zenity", "--error", "--no-markup", "--title=Potluck", "--text={text}"),
    ("kdialog", "--title", "Potluck", "--error", "{text}"),
    ("xmessage", "-center", "{text}"),
    ("notify-send", "Potluck", "{text}"),
)
_TIMEOUT_S = 30.0


def main() -> int:
    """Run the app, or show what it lacks; return the exit code."""
    if text := complaint():
        print(text, file=sys.stderr)
        if not sys.stderr.isatty():
            _show(text)
        return 1
    from potluck_app.main import main as run

    return run()


def complaint() -> str:
    """Return what is missing and how to install it, or "" if nothing is."""
    qt = _qt_folder()
    missing = missing_libraries(_needed(qt, os.environ)) if qt is not None else ()
    return advice(missing) if missing else ""


def missing_libraries(needed: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of the system's libraries without which one of the files cannot be loaded."""
    found: dict[str, None] = {}
    for path in needed:
        try:
            ctypes.CDLL(str(path))
        except OSError:
            found |= dict.fromkeys(_not_found(path))
    return tuple(found)


def advice(missing: Sequence[str]) -> str:
    """Return what is missing, and the command that installs it."""
    packages = " ".join(dict.fromkeys(_package(name) for name in missing))
    command = f"On Debian and Ubuntu: sudo apt install {packages}"
    return f"Potluck's window needs libraries that are not installed: {', '.join(missing)}.\n{command}"


def _package(library: str) -> str:
    """Return a library's package by Debian's rule: name and version, joined by a dash after a digit."""
    if library in _DEBIAN:
        return _DEBIAN[library]
    name, _, version = library.partition(".so.")
    return f"{name.lower().replace('_', '-')}{'-' if name[-1:].isdigit() else ''}{version}"


def _qt_folder() -> Path | None:
    """Return Qt's folder in PySide6, which is not imported; None where it brings no files of Linux."""
    spec = find_spec("PySide6") if sys.platform == "linux" else None
    return Path(spec.submodule_search_locations[0]) / "Qt" if spec and spec.submodule_search_locations else None


def _needed(qt: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    usual = "wayland" if environment.get("WAYLAND_DISPLAY") else "xcb"
    platform = environment.get("QT_QPA_PLATFORM", usual).partition(";")[0].partition(":")[0]
    files = (*_LOADED, *((_PLUGINS[platform],) if platform in _PLUGINS else ()))
    return tuple(path for file in files if (path := qt / file).exists())


def _not_found(path: Path) -> list[str]:
    import subprocess  # imported late, here and below, so that the app starts sooner

    try:
        done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.split()[0] for line in done.stdout.splitlines() if line.endswith("=> not found")]


def _show(text: str) -> None:
    """Show a dialog with the first of the known programs that is installed."""
    import shutil
    import subprocess

    for program, *words in _DIALOGS:
        if shutil.which(program) is not None:
            subprocess.run([program, *(word.format(text=text) for word in words)], check=False)
            return
