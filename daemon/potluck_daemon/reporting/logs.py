"""The daemon's log: a file of bounded size and age, and standard error if that is the journal or a terminal.

Invites, keys, addresses and peer ids are removed from every line, also from those of the engine and of libraries, so
that anybody may read the log.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from potluck_control.redaction import RedactingFormatter

MAX_BYTES = 1 << 20
NUM_OLD = 2
MAX_AGE_S = 14 * 86400.0
_DAY = "%Y-%m-%d"
# sd-daemon(3): systemd reads the priority from the start of a line, and notes time and program itself.
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


def set_up(path: Path, *, is_verbose: bool, to_stderr: bool = False) -> None:
    """Log to `path`, and to standard error if that is the journal or a terminal, or if `to_stderr`.

    Called once, by the daemon's entry point.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if is_verbose else logging.INFO)
    file = _LogFile(path, maxBytes=MAX_BYTES, backupCount=NUM_OLD, delay=True)
    file.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(file)
    is_journal = leads_to_journal(2)
    if is_journal or to_stderr or sys.stderr.isatty():
        stream = logging.StreamHandler()
        stream.setFormatter(
            JournalFormatter() if is_journal else RedactingFormatter("%(asctime)s %(levelname)s %(message)s")
        )
        root.addHandler(stream)


class _LogFile(logging.handlers.RotatingFileHandler):
    """A file of bounded size that is made again when somebody has removed it, as WatchedFileHandler does."""

    def emit(self, record: logging.LogRecord) -> None:
        stream = self.stream
        if stream is not None and not _is_named(stream.fileno(), self.baseFilename):
            self.stream = None  # opened again for the line
            with contextlib.suppress(OSError):
                stream.close()
            with contextlib.suppress(OSError):
                Path(self.baseFilename).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        super().emit(record)


def _is_named(file: int, path: str) -> bool:
    """Return whether `path` is the name of an open file."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except OSError:
        return False


def leads_to_journal(handle: int, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether `handle` leads to the journal; the variable alone proves nothing, because children inherit it."""
    device, _, inode = environment.get("JOURNAL_STREAM", "").partition(":")
    with contextlib.suppress(OSError, ValueError):
        found = os.fstat(handle)
        return (found.st_dev, found.st_ino) == (int(device), int(inode))
    return False


class JournalFormatter(RedactingFormatter):
    """Marks each line with its priority for the journal."""

    def format(self, record: logging.LogRecord) -> str:
        mark = f"<{_PRIORITIES.get(record.levelno, 6)}>"
        return "\n".join(mark + line for line in super().format(record).splitlines())


def drop_old(path: Path, now: float) -> None:
    """Begin a new file once the first line is too old, and remove files that are. `now`: Unix seconds."""
    oldest = time.strftime(_DAY, time.localtime(now - MAX_AGE_S))
    for handler in logging.getLogger().handlers:
        is_ours = isinstance(handler, logging.handlers.RotatingFileHandler) and handler.baseFilename == str(path)
        if is_ours and _first_day(path) < oldest:
            handler.doRollover()  # type: ignore[attr-defined]
    for number in range(1, NUM_OLD + 1):
        old = path.with_name(f"{path.name}.{number}")
        if old.exists() and old.stat().st_mtime < now - MAX_AGE_S:
            old.unlink()


def _first_day(path: Path) -> str:
    """Return the date at the start of the file, or today's if there is none."""
    try:
        with path.open("rb") as file:
            start = file.read(10).decode("ascii", "replace")
        return time.strftime(_DAY, time.strptime(start, _DAY))
    except (FileNotFoundError, ValueError):
        return time.strftime(_DAY)
