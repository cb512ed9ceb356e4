"""Writes files that must survive a crash at any moment: whole or not at all. Keeps broken ones for people to see."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_TEMPORARY = re.compile(r"\.[^.].*\.[a-z0-9_]{8}")  # names that mkstemp makes in `replacing`
_LITTER_AGE_S = 60.0  # nobody takes so long to write a small file


def write_atomically(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write `data` to `path` as `replacing` does."""
    with replacing(path, mode=mode) as file:
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o600, syncs_folder: bool = True) -> Iterator[BinaryIO]:
    """Replace `path` by what the body writes: a reader sees the old bytes or the new ones, also after a power cut.

    Without `syncs_folder` the caller does that, after another change in the same folder.

    Raises:
        OSError: the folder is not writable or full; the old file is untouched.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)  # not by its name, which others may exchange in a folder of theirs
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except OSError as error:
        if error.filename in (None, name):
            error.filename = str(path)
        raise
    finally:
        Path(name).unlink(missing_ok=True)
    if syncs_folder:
        _sync_folder(path.parent)


def nearest_existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that can be seen."""
    return next(path for path in (folder, *folder.parents) if os.path.exists(path))


def free_bytes(folder: Path) -> int:
    """Return what is free on the disk of a folder, which need not exist yet."""
    return shutil.disk_usage(nearest_existing(folder)).free


def disk_usage_bytes(folder: Path) -> int:
    """Return what the files below a folder take on the disk; 0 if it does not exist."""
    total, seen = 0, set[tuple[int, int]]()
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(os.path.join(root, name))
            except OSError:  # deleted while we looked
                continue
            if (found.st_dev, found.st_ino) not in seen:  # one file may have two names
                seen.add((found.st_dev, found.st_ino))
                total += found.st_blocks * 512
    return total


def replace_link(link: Path, target: str) -> None:
    """Make `link` lead to `target` in one step that survives a power cut."""
    new = link.with_name(f".{link.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(link)
    _sync_folder(link.parent)


def remove_temporary_files(folder: Path, now: float) -> None:
    """Delete what writers left in one of our folders when they were killed. `now`: Unix seconds."""
    for path in folder.glob(".*"):
        with contextlib.suppress(OSError):
            if _TEMPORARY.fullmatch(path.name) and path.stat().st_mtime < now - _LITTER_AGE_S:
                path.unlink()


def make_private(folder: Path) -> None:
    """Make `folder`, or take its rights and those of its files from everybody but the owner.

    Raises:
        OSError: the folder cannot be made, or belongs to somebody else.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in (folder, *folder.iterdir()):
        with contextlib.suppress(FileNotFoundError):  # a running daemon replaces its files
            mode = path.lstat().st_mode
            if mode & 0o077 and (stat.S_ISREG(mode) or path == folder):
                path.chmod(mode & 0o700)


def remove_empty(*folders: Path) -> None:
    """Remove each of `folders` that is empty by the time it is its turn."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def rename_aside(path: Path, why: str) -> Path:
    """Rename a file, so that it is not overwritten; the new name says `why` and when."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    aside = path.with_name(f"{path.name}.{why}-{stamp}")
    os.replace(path, aside)
    return aside


def _sync_folder(folder: Path) -> None:
    """Force what was renamed in `folder` to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
