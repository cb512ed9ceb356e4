"""Keeps the machine busy beside what is measured."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

from potluck.processes import tied_to_parent


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Run so many processes that compute all the time."""
    command = tied_to_parent([sys.executable, "-c", "while True: pass"])
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
