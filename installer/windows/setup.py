"""Builds `potluck-VERSION-windows.exe`, an installer for one user that needs no administrator.

makensis makes it, from `setup.nsi`, and before that the launcher that it installs, from `launcher.nsi`. The same files
give the same bytes: they are named one by one in order, and their times are that of the commit.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from installer.tree import SOURCE, build_epoch, product_version, settle
from installer.windows.files import PYTHON, make_files

_HERE = Path(__file__).parent
_ICON_PIXELS = 256


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
        icon.write_bytes(_icon(SOURCE / "resources/icons/serving.svg"))
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


def _icon(drawing: Path) -> bytes:
    """Return an icon file with one picture of 256 pixels, which Windows scales (ICONDIR, ICONDIRENTRY)."""
    picture = _png(drawing)
    entry = struct.pack("<BBBBHHII", 0, 0, 0, 0, 1, 32, len(picture), 22)  # 0 pixels stands for 256
    return struct.pack("<HHH", 0, 1, 1) + entry + picture


def _png(drawing: Path) -> bytes:
    from PySide6.QtCore import QBuffer, QIODevice
    from PySide6.QtGui import QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    image = QImage(_ICON_PIXELS, _ICON_PIXELS, QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(str(drawing)).render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())
