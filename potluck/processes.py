"""Ends child processes with the process that started them, also when that one is killed, and confines a process.

On Linux the kernel ends children (PR_SET_PDEATHSIG, prctl(2)). It watches the *thread* that started the child, so start
children from a thread that lives as long as the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence

from potluck.errors import UsageError

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_MAX_FILES = 65_536  # the systemd unit gives as many; limits of streams are parts of it
_LOAD_NVIDIA = "nvidia-modprobe"  # has root's rights, which it would not get any more
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


def confine() -> None:
    """Confine this process and its later children, as the unit of the system service does. Call it early.

    They get no rights by programs such as sudo, may open as many files as the system allows up to `_MAX_FILES`, and
    make files for this user alone.
    """
    os.umask(0o077)
    with contextlib.suppress(ValueError, OSError):  # macOS may refuse its own hard limit
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        soft = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if sys.platform.startswith("linux"):
        _load_nvidia()
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _load_nvidia() -> None:
    """Have the driver's own program load its module for computing, which CUDA would do at its first use."""
    program = shutil.which(_LOAD_NVIDIA)
    if program is None or not os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/nvidia-uvm"):
        return
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run([program, "-u", "-c", "0"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10)


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
