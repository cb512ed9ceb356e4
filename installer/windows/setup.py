"""Builds `potluck-VERSION-windows.exe`, an installer for one user that needs no administrator.

    Potluck.exe                 fetches Python at its first start, then starts the app (launcher.nsi)
    bin/uv.exe                  has the addresses and hashes of Python's builds in it
    app/__main__.py             the app; the packages for Python 3.12 lie beside it
    linux/potluck-headless.deb  installed in WSL2

makensis makes the launcher from `launcher.nsi` and the installer from `setup.nsi`. The same files give the same bytes:
they are named one by one in order, and their times are that of the commit.

Python itself is not in it: its builds are on no package index, so nobody could check here what would be packed. uv
fetches it once on the user's machine and checks it against the hash that uv was built with.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from installer.icon import ico
from installer.linux.deb import PACKAGES, build_deb
from installer.tree import add_potluck, build_epoch, install_locked, product_version, remove, settle

PYTHON = "3.12"  # launcher.nsi names the same
_PLATFORM = "x86_64-pc-windows-msvc"
_HEADLESS = next(package for package in PACKAGES if not package.has_app)
_MAIN = """\
import sys

from potluck_app.main import main

sys.exit(main())
"""
# The app loads these parts of Qt's wheel, and they need each other (by their import tables).
_QT = ("Core", "Gui", "Network", "Svg", "Widgets")
_PLUGINS = {
    "iconengines": ("qsvgicon.dll",),
    "imageformats": ("qico.dll", "qsvg.dll"),
    "platforms": ("qwindows.dll",),
    "styles": ("qmodernwindowsstyle.dll",),
    "tls": ("qschannelbackend.dll",),
}
_HERE = Path(__file__).parent


def make_files(folder: Path, *, wheels: Path | None = None) -> None:
    """Fill `folder`. `wheels`: a folder to take dependencies from without a network."""
    make_app(folder / "app", wheels)
    programs, linux = folder / "bin", folder / "linux"
    programs.mkdir()
    with tempfile.TemporaryDirectory() as unpacked:
        install_locked("uv", Path(unpacked), PYTHON, wheels, _PLATFORM)
        shutil.copy(Path(unpacked) / "bin" / "uv.exe", programs)
    linux.mkdir()
    build_deb(_HEADLESS, linux, wheels=wheels).rename(linux / f"{_HEADLESS.name}.deb")


def make_app(folder: Path, wheels: Path | None) -> None:
    """Install the app and its packages."""
    folder.mkdir()
    for name in ("base", "app"):
        install_locked(name, folder, PYTHON, wheels, _PLATFORM)
    for other in ("bin", "share"):  # tools of the dependencies, and their manuals
        shutil.rmtree(folder / other, ignore_errors=True)
    _trim_qt(folder)
    add_potluck(folder, has_app=True)
    (folder / "__main__.py").write_text(_MAIN)


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


def _trim_qt(app: Path) -> None:
    qt = app / "PySide6"
    kept = {f"Qt{name}.pyd" for name in _QT} | {f"Qt6{name}.dll" for name in _QT} | {"pyside6.abi3.dll", "plugins"}
    for path in sorted(qt.iterdir()):
        is_runtime = path.name.startswith(("msvcp", "vcruntime"))
        if path.name not in kept and path.suffix != ".py" and not is_runtime and path.name != "support":
            remove(path)
    for plugins in (qt / "plugins").iterdir():
        for plugin in plugins.iterdir():
            if plugin.name not in _PLUGINS.get(plugins.name, ()):
                remove(plugin)
        if not any(plugins.iterdir()):
            plugins.rmdir()
    for extra in ("include", "lib"):
        shutil.rmtree(app / "shiboken6" / extra, ignore_errors=True)


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
