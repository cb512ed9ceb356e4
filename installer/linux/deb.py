"""Builds Debian packages: `potluck` for a desktop, `potluck-headless` for a server. Each is complete in itself.

Good for Debian 12 and 13 and Ubuntu 24.04, whose Python (3.11 to 3.13) runs it. torch is not in them.
"""

from __future__ import annotations

import email
import gzip
import hashlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from installer.linux import shared_files
from installer.tree import SOURCE, XZ_LEVEL, Tree, build_epoch, make_tree, product_version, settle

_HERE = Path(__file__).parent / "debian"
_COMMON = Path("/usr/share/common-licenses")  # Debian's, to which packages refer
_APACHE = ("Apache License", "Version 2.0, January 2004")  # the lines with which its text begins
_BASE_DEPENDS = ("python3 (>= 3.11)", "python3 (<< 3.14)", "libc6 (>= 2.34)", "ca-certificates")
_QT_DEPENDS = (
    *("libdbus-1-3", "libegl1", "libfontconfig1", "libgl1", "libglib2.0-0t64 | libglib2.0-0", "libgssapi-krb5-2"),
    *("libwayland-cursor0", "libwayland-egl1", "libxcb-cursor0", "libxcb-icccm4", "libxcb-image0", "libxcb-keysyms1"),
    *("libxcb-randr0", "libxcb-render-util0", "libxcb-shape0", "libxcb-xinerama0", "libxkbcommon-x11-0"),
    "fonts-dejavu-core | fonts-freefont-ttf | fonts-noto-core",
)


@dataclass(frozen=True, slots=True)
class Package:
    """What differs between the packages. Only one of them can be installed at a time."""

    name: str
    other: str  # the package that it conflicts with
    summary: str
    has_app: bool
    depends: tuple[str, ...]


PACKAGES = (
    Package(
        "potluck",
        "potluck-headless",
        "lend your GPU to run large language models together",
        has_app=True,
        depends=(*_BASE_DEPENDS, *_QT_DEPENDS),
    ),
    Package(
        "potluck-headless",
        "potluck",
        "serve large language models together with others",
        has_app=False,
        depends=(*_BASE_DEPENDS, "systemd", "passwd", "debconf (>= 0.5) | debconf-2.0"),
    ),
)


def build_deb(package: Package, out: Path, *, wheels: Path | None = None) -> Path:
    """Make the package in `out` and return its path. `wheels`: a folder of dependencies to use without a network."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        make_tree(root / "usr/lib/potluck", Tree(has_app=package.has_app), wheels=wheels)
        _link_programs(root / "usr", has_app=package.has_app)
        shared_files.write_all(root / "usr", _files(package))
        _strip(root / "usr/lib/potluck")
        _document(root / "usr", package.name)
        control = root / "DEBIAN"
        control.mkdir()
        _control_files(package, root, control)
        epoch = build_epoch()
        settle(root, epoch)
        made = out / f"{package.name}_{product_version()}_amd64.deb"
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", f"-z{XZ_LEVEL}", "--build", str(root), str(made)],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
        )
    return made


def _files(package: Package) -> dict[str, bytes]:
    both = shared_files.manuals() | shared_files.completions()
    if package.has_app:
        return both | shared_files.desktop() | shared_files.user_unit()
    return both | shared_files.system_unit()


def _link_programs(usr: Path, *, has_app: bool) -> None:
    (usr / "bin").mkdir()
    for name in ("potluck", "potluckd", *(("potluck-app",) if has_app else ())):
        (usr / "bin" / name).symlink_to(f"../lib/potluck/bin/{name}")


def _strip(folder: Path) -> None:
    """Take the symbols for debugging out of the libraries that wheels bring."""
    libraries = [path for path in sorted(folder.rglob("*.so*")) if path.is_file() and not path.is_symlink()]
    subprocess.run(["strip", "--strip-unneeded", *libraries], check=True)


def _document(usr: Path, name: str) -> None:
    folder = usr / "share/doc" / name
    folder.mkdir(parents=True)
    (folder / "copyright").write_text("\n".join(_licences(usr / "lib/potluck")))
    for file, text in (("changelog", _debian_changelog(name)), ("CHANGELOG.md", (SOURCE / "CHANGELOG.md").read_text())):
        (folder / f"{file}.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    overrides = usr / "share/lintian/overrides"
    overrides.mkdir(parents=True)
    sources = (
        _HERE / "lintian-overrides",
        _HERE / f"{name}.lintian-overrides",
    )  # one file for both packages, and one for this package
    (overrides / name).write_bytes(b"".join(source.read_bytes() for source in sources if source.exists()))


def _debian_changelog(name: str) -> str:
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(build_epoch()))
    entry = "  * What changed for users is in CHANGELOG.md.gz beside this file."
    return f"{name} ({product_version()}) unstable; urgency=medium\n\n{entry}\n\n -- {maintainer()}  {date}\n"


def maintainer() -> str:
    """Return who answers for the build, as Debian's tools are told by DEBFULLNAME and DEBEMAIL."""
    name = os.environ.get("DEBFULLNAME", "The Potluck developers")
    return f"{name} <{os.environ.get('DEBEMAIL', 'developers@potluck.invalid')}>"


def _licences(folder: Path) -> Iterator[str]:
    """Yield the lines about Potluck's licence and about those of each part that the package brings."""
    year = time.gmtime(build_epoch()).tm_year
    yield f"Potluck: Copyright {year} the Potluck developers. Licence: Apache-2.0."
    yield f"The text of the Apache licence, version 2.0, is in {_COMMON}/Apache-2.0."
    for info in sorted(folder.glob("lib/python3/site-packages/*.dist-info")):
        about = email.message_from_string((info / "METADATA").read_text())
        if about["Name"] != "potluck":
            licence = about["License-Expression"] or about["License"] or "see its text below"
            yield from ("", "-" * 79, f"{about['Name']} {about['Version']}, licence: {licence.splitlines()[0]}")
            yield from _texts(info)
    yield from ("", "-" * 79, "uv, licence: Apache-2.0 or MIT", *_texts(folder / "licenses"))
    if (folder / "lib/python3/site-packages/PySide6").exists():
        yield from ("", "-" * 79, "Qt, shiboken6 and PySide6: Copyright the Qt Company Ltd. and others.")
        yield "They are used under the GNU Lesser General Public License, version 3, whose text is in"
        yield f"{_COMMON}/LGPL-3, and replaceable: put other builds of the libraries into PySide6/Qt/lib."
        yield "Their source: https://download.qt.io/official_releases/"


def _texts(folder: Path) -> Iterator[str]:
    """Yield the texts of the licences in a folder, those that Debian has by their names."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name.upper().startswith(("LICEN", "COPYING")):
            text = path.read_text()
            if all(line in text for line in _APACHE):
                yield f"{path.name}: {_COMMON}/Apache-2.0"
            else:
                yield from ("", text.strip())


def _control_files(package: Package, root: Path, control: Path) -> None:
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    text = (_HERE / "control").read_text()
    for place, value in {
        "@PACKAGE@": package.name,
        "@VERSION@": product_version(),
        "@SIZE_KB@": str(size // 1024),
        "@DEPENDS@": ", ".join(package.depends),
        "@OTHER@": package.other,
        "@SUMMARY@": package.summary,
        "@MAINTAINER@": maintainer(),
    }.items():
        text = text.replace(place, value)
    (control / "control").write_text(text)
    (control / "md5sums").write_text("".join(_sums(root)))
    for script in ("postinst", "prerm", "postrm", "templates"):
        for source in (_HERE / script, _HERE / f"{package.name}.{script}"):  # for both packages, or for this one
            if source.exists():
                target = control / script
                target.write_bytes(source.read_bytes())
                target.chmod(0o644 if script == "templates" else 0o755)


def _sums(root: Path) -> list[str]:
    lines = []
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink() and "DEBIAN" not in path.parts:
            digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
            lines.append(f"{digest}  {path.relative_to(root)}\n")
    return lines
