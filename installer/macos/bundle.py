"""Builds `Potluck.app` in a .zip for Macs with Apple's processor, the only ones that torch still supports.

    Potluck.app/Contents/Info.plist
    Potluck.app/Contents/MacOS/start, uv          what is opened, and what it fetches the rest with
    Potluck.app/Contents/Resources/Potluck.icns, requirements.txt, potluck-VERSION-py3-none-any.whl, uninstall, LICENSE

Unsigned: signing, and a .dmg or .pkg, take Apple's own tools and an account there. The same inputs give the same bytes.
"""

from __future__ import annotations

import hashlib
import plistlib
import shutil
import tempfile
import time
import zipfile
from pathlib import Path

from potluck_daemon.environment.plan import MIN_MACOS
from potluck_daemon.host.login import APP, DAEMON

from installer.icon import icns
from installer.tree import REQUIREMENTS, SOURCE, build_epoch, install_locked, make_wheel, product_version

PYTHON = "3.12"  # which uv fetches; torch has wheels of it for Macs
_PLATFORM = "aarch64-apple-darwin"
_HERE = Path(__file__).parent
_PROGRAMS = ("MacOS/start", "MacOS/uv", "Resources/uninstall")
_LOCAL_NETWORK = "Potluck talks to the other members of your swarm, some of whom may be in this network."


def build_macos(out: Path, *, wheels: Path | None = None) -> Path:
    """Make `potluck-VERSION-macos-arm64.zip` in `out` and return its path. `wheels`: has uv's wheel for macOS."""
    with tempfile.TemporaryDirectory() as folder:
        contents = Path(folder) / "Potluck.app" / "Contents"
        install_locked("uv", Path(folder) / "uv", PYTHON, wheels, _PLATFORM)
        fill(contents, uv=Path(folder) / "uv" / "bin" / "uv", wheel=make_wheel(Path(folder)))
        made = out / f"potluck-{product_version()}-macos-arm64.zip"
        _pack(contents.parent, made)
    return made


def fill(contents: Path, *, uv: Path, wheel: Path) -> None:
    """Make everything below `Potluck.app/Contents`."""
    programs, resources = contents / "MacOS", contents / "Resources"
    programs.mkdir(parents=True)
    resources.mkdir()
    (contents / "Info.plist").write_bytes(plistlib.dumps(info()))
    locked = "".join((REQUIREMENTS / f"{name}.txt").read_text() for name in ("base", "app"))
    (resources / "requirements.txt").write_text(locked)
    (resources / "Potluck.icns").write_bytes(icns())
    shutil.copy(SOURCE / "LICENSE", resources / "LICENSE")
    shutil.copy(wheel, resources / wheel.name)
    shutil.copy(uv, programs / "uv")
    build = hashlib.sha256(wheel.read_bytes() + locked.encode()).hexdigest()
    filled = {"@VERSION@": product_version(), "@PYTHON@": PYTHON, "@WHEEL@": wheel.name, "@BUILD@": build}
    _write(programs / "start", (_HERE / "start.sh").read_text(), filled)
    _write(resources / "uninstall", (_HERE / "uninstall.sh").read_text(), {"@LABELS@": f"{DAEMON} {APP}"})
    for name in _PROGRAMS:
        (contents / name).chmod(0o755)


def info() -> dict[str, object]:
    """Return the properties that macOS reads of an application."""
    return {
        "CFBundleDisplayName": "Potluck",
        "CFBundleExecutable": "start",
        "CFBundleIconFile": "Potluck.icns",
        "CFBundleIdentifier": APP,
        "CFBundleInfoDictionaryVersion": "6.0",
        "CFBundleName": "Potluck",
        "CFBundlePackageType": "APPL",
        "CFBundleShortVersionString": product_version(),
        "CFBundleVersion": product_version(),
        "LSApplicationCategoryType": "public.app-category.utilities",
        "LSArchitecturePriority": ["arm64"],  # what is opened is a script; without it, Rosetta would be asked for
        "LSMinimumSystemVersion": ".".join(map(str, MIN_MACOS)),
        "NSHighResolutionCapable": True,
        "NSLocalNetworkUsageDescription": _LOCAL_NETWORK,
    }


def _write(path: Path, text: str, filled: dict[str, str]) -> None:
    for place, value in filled.items():
        text = text.replace(place, value)
    path.write_text(text)


def _pack(application: Path, made: Path) -> None:
    """Pack the files, sorted, with one time and plain permissions."""
    then = time.gmtime(build_epoch())[:6]
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in application.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(str(path.relative_to(application.parent)), then)
            entry.create_system = 3  # Unix: the permissions count
            entry.external_attr = (0o100755 if path.stat().st_mode & 0o100 else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
