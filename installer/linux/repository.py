"""Lays out an apt repository of the built packages and signs it, so that Debian's own tools install and update Potluck.

It is flat: packages and indexes lie in one folder, which any web server can serve. Source: Debian's wiki, page
DebianRepository/Format.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from installer.tree import build_epoch
from potluck.errors import PotluckError, UsageError

FOLDER = "apt"
PUBLIC_KEY = "potluck.asc"


def lay_out(packages: Iterable[Path], out: Path, key: str) -> Path:
    """Add packages to the repository in `out`, sign its indexes with gpg's secret `key`, and return the folder.

    Raises:
        PotluckError: gpg has no such key, or cannot sign with it.
    """
    folder = out / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        shutil.copy(package, folder)
    files = sorted(folder.glob("*.deb"))
    if not files:
        raise UsageError(f"there is no package in {folder}", hint="build potluck or potluck-headless as well")
    listed = "\n".join(_entry(file) for file in files).encode()
    indexes = {"Packages": listed, "Packages.gz": gzip.compress(listed, mtime=0)}
    for name, content in indexes.items():
        (folder / name).write_bytes(content)
    release = folder / "Release"
    release.write_text(_release(indexes))
    _gpg("--clearsign", "--local-user", key, "--output", str(folder / "InRelease"), str(release))
    _gpg("--armor", "--export", "--output", str(folder / PUBLIC_KEY), key)
    release.unlink()  # apt reads the signed one
    return folder


def _entry(package: Path) -> str:
    """Return what the index says about a package."""
    about = subprocess.run(["dpkg-deb", "--field", package], capture_output=True, text=True, check=True).stdout
    content = package.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return f"{about.rstrip()}\nFilename: ./{package.name}\nSize: {len(content)}\nSHA256: {digest}\n"


def _release(indexes: dict[str, bytes]) -> str:
    date = time.strftime("%a, %d %b %Y %H:%M:%S UTC", time.gmtime(build_epoch()))
    fields = ["Origin: Potluck", "Label: Potluck", "Suite: stable", "Architectures: amd64", f"Date: {date}", "SHA256:"]
    sums = [f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}" for name, content in indexes.items()]
    return "\n".join([*fields, *sums]) + "\n"


def _gpg(*arguments: str) -> None:
    try:
        command = ["gpg", "--batch", "--yes", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    except FileNotFoundError:
        raise UsageError("gpg is not installed", hint="apt install gnupg") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise PotluckError(f"gpg cannot sign: {said[-1] if said else done.returncode}", hint="gpg --list-secret-keys")
