"""Reads the end of the daemon's log from its file, which works without the daemon."""

from __future__ import annotations

import os
from pathlib import Path

_TAIL_BYTES = 512 * 1024


def tail(path: Path, lines: int) -> tuple[str, ...]:
    """Return the last lines of the log, across its newest rotation; none without a log."""
    found: list[str] = []
    for part in (path, path.with_name(path.name + ".1")):
        if len(found) < lines:
            found = _last_lines(part) + found
    return tuple(found[-lines:])


def _last_lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _TAIL_BYTES, 0))
            return file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
