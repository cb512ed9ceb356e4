"""End this process when the one that started it dies (Linux: PR_SET_PDEATHSIG, prctl(2))."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from potluck.errors import UsageError

_PR_SET_PDEATHSIG = 1


def exit_with_parent(parent_pid: int) -> None:
    """Ask the kernel for SIGTERM when the parent dies; call it early, on the main thread.

    The kernel watches the *thread* that started this process, so the parent must start it from a thread that lives as
    long as itself.

    Args:
        parent_pid: of the parent as it named itself, so that a parent which is already dead is noticed.

    Raises:
        UsageError: this system has no such signal.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError("ending with the parent process is supported on Linux only")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise UsageError(f"cannot watch the parent process: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent_pid:
        os.kill(os.getpid(), signal.SIGTERM)
