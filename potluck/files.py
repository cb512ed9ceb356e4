"""Small files that must survive a crash at any moment: written whole or not at all, kept aside when broken."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from pathlib import Path

_TEMPORARY = re.compile(r"\.[^.].*\.[a-z0-9_]{8}")  # as mkstemp makes them below
_LITTER_AGE_S = 60.0  # nobody takes so long to write a small file


def write_atomically(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace `path`: a reader sees the old bytes or the new ones, also after a power cut.

    Raises:
        OSError: the folder is not writable or full; the old file is untouched.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)  # not by its name, which others may exchange in a folder of theirs
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    sync_folder(path.parent)


def remove_litter(folder: Path, now: float) -> None:
    """Delete what writers left in one of our folders who were killed before they were done. `now`: Unix."""
    for path in folder.glob(".*"):
        with contextlib.suppress(OSError):
            if _TEMPORARY.fullmatch(path.name) and path.stat().st_mtime < now - _LITTER_AGE_S:
                path.unlink()


def remove_empty(*folders: Path) -> None:
    """Those of `folders`, in this order, that are there and have nothing in them."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def keep_aside(path: Path) -> Path:
    """Rename a file that cannot be read, so that it is not overwritten; the new name says when."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    aside = path.with_name(f"{path.name}.broken-{stamp}")
    os.replace(path, aside)
    return aside


def sync_folder(folder: Path) -> None:
    """What was renamed in it lies on the disk after this."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
