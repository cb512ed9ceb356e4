"""The end of processes that a test started, all at once."""

import contextlib
from collections.abc import Sequence

import psutil


def kill_all(processes: Sequence[psutil.Process]) -> None:
    """kill -9; returns when they are gone: who still writes would put a file into a folder that is being removed."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(processes)
