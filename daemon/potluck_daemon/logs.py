"""The daemon's log: a file of bounded size, and standard error when a person or a service manager reads that."""

from __future__ import annotations

import logging
import logging.handlers
import os
import sys
from pathlib import Path

MAX_BYTES = 1 << 20
NUM_OLD = 2
_TAIL_BYTES = 512 * 1024


def set_up(path: Path, *, is_verbose: bool) -> None:
    """Log to `path`, and to standard error unless that goes nowhere. Called once, by the daemon's entry point."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if is_verbose else logging.INFO)
    file = logging.handlers.RotatingFileHandler(path, maxBytes=MAX_BYTES, backupCount=NUM_OLD, delay=True)
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(file)
    has_journal = "JOURNAL_STREAM" in os.environ  # which stamps each line itself
    if has_journal or sys.stderr.isatty():
        stream = logging.StreamHandler()
        stream.setFormatter(logging.Formatter(("" if has_journal else "%(asctime)s ") + "%(levelname)s %(message)s"))
        root.addHandler(stream)


def tail(path: Path, lines: int) -> tuple[str, ...]:
    """The last lines of the log, across its newest rotation. Nothing if there is no log yet."""
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
