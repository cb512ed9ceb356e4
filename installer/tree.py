"""Makes the files of an installation: Potluck, its dependencies and uv, for the system's own Python to run.

    PREFIX/bin/python3 -> the system's, PREFIX/pyvenv.cfg    together they make PREFIX an environment, as venv does
    PREFIX/bin/potluck, potluckd, potluck-app, uv
    PREFIX/lib/python3/site-packages                         for all supported Pythons: 3.11 to 3.13 are links to it

One tree serves all of them: extension modules have the version in their name, or are made for all. torch is not in it;
the engine's environment is made on the machine (`potluck setup`). The same inputs give the same bytes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from potluck_daemon.environment.uv import find_uv

from potluck.files import remove_empty

SOURCE = Path(__file__).parents[1]
REQUIREMENTS = Path(__file__).parent / "requirements"
PYTHONS = ("3.11", "3.12", "3.13")
XZ_LEVEL = 2  # compared with the usual 6, packing takes a sixth of the time for 9 % more bytes (measured)
_PLATFORM = "x86_64-manylinux_2_36"  # Debian 12's C library, the oldest of those that packages are made for
_PROGRAMS = {
    "potluck": ("potluck_cli.entry", "program"),
    "potluckd": ("potluck_cli.daemon", "main"),
}
_APP = {"potluck-app": ("potluck_app.start", "main")}
_SCRIPT = """\
#!{python} -Es
import sys
from {module} import {function}
sys.exit({function}())
"""
# The app uses these modules of Qt's wheel; the rest, most of its size, is deleted.
_QT_KEPT = ("Core", "DBus", "Gui", "Network", "OpenGL", "Svg", "WaylandClient", "Widgets", "XcbQpa")
# It also needs these plug-ins for pictures, screens and typing, and the libraries that they need.
_QT_PLUGINS = (
    *("iconengines/libqsvgicon", "imageformats/libqsvg", "platforms/libqoffscreen", "platforms/libqxcb"),
    *("platforms/libqwayland", "platforminputcontexts/libcompose", "platforminputcontexts/libibus"),
    *("platformthemes/libqgtk3", "platformthemes/libqxdgdesktopportal", "wayland-decoration-client/libadwaita"),
    *("wayland-decoration-client/libbradient", "wayland-shell-integration/libxdg-shell"),
    "wayland-graphics-integration-client/libqt-plugin-wayland-egl",
)


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree to make. Its scripts name the interpreter `python`; installers without a fixed place fill it in."""

    prefix: str = "/usr/lib/potluck"
    system_python: str = "/usr/bin/python3"
    has_app: bool = False

    @property
    def python(self) -> str:
        """The interpreter of its scripts."""
        return f"{self.prefix}/bin/python3"


def product_version() -> str:
    """Return the version of a build: the source's, unless POTLUCK_VERSION names another."""
    named = os.environ.get("POTLUCK_VERSION")
    if named:
        return named
    return str(tomllib.loads((SOURCE / "pyproject.toml").read_text())["project"]["version"])


def build_epoch() -> int:
    """Return the time for all files of a build: that of the last commit, or SOURCE_DATE_EPOCH."""
    named = os.environ.get("SOURCE_DATE_EPOCH")
    if named:
        return int(named)
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=SOURCE, capture_output=True, text=True, check=True)
    return int(done.stdout)


def make_tree(folder: Path, tree: Tree, *, wheels: Path | None = None) -> None:
    """Fill `folder`, which stands for the prefix. `wheels`: a folder to take dependencies from without a network."""
    packages = folder / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    for python in PYTHONS:
        (folder / "lib" / f"python{python}").symlink_to("python3")
        install_locked("base", packages, python, wheels)
    if tree.has_app:
        install_locked("app", packages, PYTHONS[0], wheels)
        _trim_qt(packages / "PySide6")
    for other in ("bin", "share"):  # tools of the dependencies, and their manuals
        shutil.rmtree(packages / other, ignore_errors=True)
    add_potluck(packages, has_app=tree.has_app)
    programs = folder / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(tree.system_python)
    home = os.path.dirname(tree.system_python)
    (folder / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    _add_uv(programs, wheels)
    for name, (module, function) in (_PROGRAMS | (_APP if tree.has_app else {})).items():
        script = programs / name
        script.write_text(_SCRIPT.format(python=tree.python, module=module, function=function))
        script.chmod(0o755)


def settle(folder: Path, epoch: int) -> None:
    """Give all files one time and plain permissions, so that two builds are equal."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if not path.is_symlink():
            is_program = path.is_dir() or (path.stat().st_mode & 0o100 and ".so" not in path.suffixes)
            path.chmod(0o755 if is_program else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    folder.chmod(0o755)
    os.utime(folder, (epoch, epoch))


def make_wheel(out: Path) -> Path:
    """Build Potluck's own wheel in `out`, and return its path."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(find_uv()), "build", "--quiet", "--wheel", "--out-dir", folder, str(SOURCE)]
        subprocess.run(command, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(build_epoch())})
        (made,) = Path(folder).glob("potluck-*.whl")
        return Path(shutil.copy(made, out))


def install_locked(name: str, packages: Path, python: str, wheels: Path | None, platform: str = _PLATFORM) -> None:
    """Install the locked packages of a list for one Python, beside those for others. `platform`: by uv's name."""
    source = ["--no-index", "--find-links", str(wheels)] if wheels is not None else []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                *(str(find_uv()), "pip", "install", "--quiet", "--target", folder, "--python-version", python),
                *("--python-platform", platform, "--only-binary=:all:", "--no-deps", "--require-hashes", *source),
                *("--link-mode=copy", "-r", str(REQUIREMENTS / f"{name}.txt")),
            ],
            check=True,
            env={**os.environ, "UV_PYTHON_DOWNLOADS": "never"},
        )
        (Path(folder) / ".lock").unlink(missing_ok=True)
        shutil.copytree(folder, packages, dirs_exist_ok=True, symlinks=True)
    for cache in packages.rglob("__pycache__"):
        shutil.rmtree(cache)
    for info in packages.glob("*.dist-info"):  # written by uv on each installation, and never the same
        for note in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"):
            (info / note).unlink(missing_ok=True)


def add_potluck(packages: Path, *, has_app: bool) -> None:
    """Install Potluck itself."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(make_wheel(Path(folder))) as archive:
        archive.extractall(packages)
    for extra in packages.glob("potluck-*.data"):  # manual pages, which packages put elsewhere
        shutil.rmtree(extra)
    _name_version(packages)
    if not has_app:
        shutil.rmtree(packages / "potluck_app")


def _name_version(packages: Path) -> None:
    """Write the build's version where the programs look it up."""
    (info,) = packages.glob("potluck-*.dist-info")
    described = (info / "METADATA").read_text()
    (info / "METADATA").write_text(re.sub(r"(?m)^Version: .*", f"Version: {product_version()}", described, count=1))
    info.rename(packages / f"potluck-{product_version()}.dist-info")


def _add_uv(programs: Path, wheels: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        install_locked("uv", Path(folder), PYTHONS[0], wheels)
        shutil.copy(Path(folder) / "bin" / "uv", programs / "uv")
        (info,) = Path(folder).glob("uv-*.dist-info")
        shutil.copytree(info / "licenses", programs.parent / "licenses" / "uv")
    (programs / "uv").chmod(0o755)


def _trim_qt(qt: Path) -> None:
    """Delete all of Qt but what the app loads: a few modules, their libraries, plug-ins for screens and pictures."""
    for path in qt.iterdir():
        if not _is_kept_of_qt(path):
            remove(path)
    for path in (qt / "Qt").iterdir():
        if path.name not in ("lib", "plugins"):
            remove(path)
    for library in (qt / "Qt" / "lib").glob("libQt6*"):
        if not library.name.removeprefix("libQt6").startswith(_QT_KEPT):
            library.unlink()
    plugins = qt / "Qt" / "plugins"
    for path in sorted(plugins.rglob("*"), reverse=True):
        if path.is_dir():
            remove_empty(path)
        elif not str(path.relative_to(plugins)).startswith(_QT_PLUGINS):
            path.unlink()


def _is_kept_of_qt(path: Path) -> bool:
    name = path.name
    if name.startswith("Qt") and path.suffix == ".so":
        return name.split(".")[0].removeprefix("Qt") in _QT_KEPT
    return name in ("Qt", "support") or path.suffix == ".py" or name.startswith("libpyside6.abi3.so")


def remove(path: Path) -> None:
    """Delete a file or a folder with its contents."""
    shutil.rmtree(path) if path.is_dir() else path.unlink()
