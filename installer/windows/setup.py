"""Builds `potluck-VERSION-windows.exe`, an installer for one user that needs no administrator.

makensis makes it, from `setup.nsi`, and before that the launcher that it installs, from `launcher.nsi`. The same files
give the same bytes: they are named one by one in order, and their times are that of the commit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from installer.icon import ico
from installer.tree import build_epoch, product_version, settle
from installer.windows.files import PYTHON, make_files

_HERE = Path(__file__).parent


def build_setup(out: Path, *, wheels: Path | None = None) -> Path:
    """Make the installer in `out` and return its path. `wheels`: a folder of dependencies to use without a network."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "files"
        files.mkdir()
        make_files(files, wheels=wheels)
        return pack(files, out)


def pack(files: Path, out: Path) -> Path:
    """Make an installer of these files and the launcher. Raises CalledProcessError if makensis finds a mistake."""
    made = (out / f"potluck-{product_version()}-windows.exe").resolve()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        icon = work / "potluck.ico"
        icon.write_bytes(ico())
        (files / "potluck.ico").write_bytes(icon.read_bytes())
        _compile("launcher.nsi", files / "Potluck.exe", {"ICON": icon, "PYTHON": PYTHON})
        settle(files, build_epoch())
        (work / "files.nsh").write_text(_commands(files))
        size_kb = sum(path.stat().st_size for path in files.rglob("*") if path.is_file()) // 1024
        defined = {"ICON": icon, "FILES": work / "files.nsh", "VERSION": product_version(), "SIZE_KB": size_kb}
        _compile("setup.nsi", made, defined)
    return made


def _commands(files: Path) -> str:
    """Return the instructions that unpack the files, folder by folder."""
    lines = []
    for folder in sorted({path.parent for path in files.rglob("*") if path.is_file()}):
        place = str(folder.relative_to(files)).replace("/", "\\").removeprefix(".")
        lines.append(f'SetOutPath "$INSTDIR\\{place}"')
        lines += [f'File "{path}"' for path in sorted(folder.iterdir()) if path.is_file()]
    return "\n".join(lines) + "\n"


def _compile(script: str, out: Path, defined: dict[str, object]) -> None:
    """Run makensis with warnings as errors."""
    if shutil.which("makensis") is None:
        sys.exit("makensis is missing; install it with: apt-get install nsis")
    names = [f"-D{name}={value}" for name, value in {**defined, "OUT": out}.items()]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(build_epoch())}
    subprocess.run(["makensis", "-V2", "-WX", *names, str(_HERE / script)], check=True, env=environment)
