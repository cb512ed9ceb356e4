"""Ends child processes with the process that started them, also when that one is killed.

On Linux the kernel does it (PR_SET_PDEATHSIG, prctl(2)). It watches the *thread* that started the child, so start
children from a thread that lives as long as the process.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Sequence

from potluck.errors import UsageError

_PR_SET_PDEATHSIG = 1
_PARENT_CHECK = '[ "$PPID" = "$0" ] && exec "$@"'
_SHELL_GUARD = '"$@" </dev/null & child=$!; read -r _; kill -9 $child 2>/dev/null'


def tied_to_parent(command: Sequence[str], *, has_pipe: bool = False) -> list[str]:
    """Return `command` such that it is killed when this process dies.

    Only this process may start it. A parent that dies before `setpriv` asks for the signal never sends it, so a shell
    checks the parent afterwards and becomes the command.

    Without `setpriv` (part of util-linux) the command is returned as it is, or with `has_pipe` below a shell that kills
    it at the end of its standard input: that has to be a pipe whose other end this process alone holds.
    """
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    if setpriv is not None:
        return [setpriv, "--pdeathsig", "KILL", "--", "/bin/sh", "-c", _PARENT_CHECK, str(os.getpid()), *command]
    return ["/bin/sh", "-c", _SHELL_GUARD, "sh", *command] if has_pipe else [*command]


def exit_with_parent(parent_pid: int) -> None:
    """Have the kernel send this process SIGTERM when its parent dies; call it early, on the main thread.

    Args:
        parent_pid: the parent's own process id, so that a parent which is already dead is noticed.

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
