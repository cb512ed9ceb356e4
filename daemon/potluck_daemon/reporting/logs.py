"""The daemon's log: a file of bounded size, and standard error if that is the journal or a terminal.

Invites, keys, addresses and peer ids are redacted in every line, including lines of the engine and of libraries, so
that anybody may read the log.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import sys
from pathlib import Path

from potluck_control.logs import RedactingFormatter

MAX_BYTES = 1 << 20
NUM_OLD = 2
# sd-daemon(3): systemd reads the priority from the start of a line, and notes time and program itself.
_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}


def set_up_logging(path: Path, *, is_verbose: bool, to_stderr: bool = False) -> None:
    """Log to `path`, and to standard error if that is the journal or a terminal, or if `to_stderr`.

    Called once, by the daemon's entry point.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if is_verbose else logging.INFO)
    file = _LogFile(path, maxBytes=MAX_BYTES, backupCount=NUM_OLD, delay=True)
    file.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(file)
    is_for_people = to_stderr or sys.stderr.isatty()
    if is_for_people or "JOURNAL_STREAM" in os.environ:
        stream = logging.StreamHandler()
        plain = RedactingFormatter("%(asctime)s %(levelname)s %(message)s")
        stream.setFormatter(plain if is_for_people else JournalFormatter())
        root.addHandler(stream)


class _LogFile(logging.handlers.RotatingFileHandler):
    """A file of bounded size that is made again when somebody has removed it."""

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream is not None and not os.path.exists(self.baseFilename):
            with contextlib.suppress(OSError):
                self.stream.close()
                Path(self.baseFilename).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.stream = None  # the line below opens it again
        super().emit(record)


class JournalFormatter(RedactingFormatter):
    """A formatter that marks each line with its priority for the journal."""

    def format(self, record: logging.LogRecord) -> str:
        mark = f"<{_PRIORITIES.get(record.levelno, 6)}>"
        return "\n".join(mark + line for line in super().format(record).splitlines())
