"""A mark on disk while kernels are tried, because a fault in one can end every process that tries them.

    a trial begins -> the mark is written -> the trial ends, and the device still works -> the mark is removed

A process that finds the mark of one that ended in the middle of the same trial tries nothing for a day, and computes
without kernels. Each device, family and rank has a mark of its own; ranks use kernels only if all of them do.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
import torch

from potluck.blocks.accelerators import is_lost
from potluck.blocks.kernel_support import NoKernels
from potluck.files import write_atomically

FAULT = NoKernels(
    "a trial of fast kernels made the GPU fail", "update the GPU's driver; they are tried again after a day"
)
_COUNTS_FOR_S = 86_400.0
_NAME = "kernels-on-trial"
_DRIVER = Path("/proc/driver/nvidia/version")  # not in WSL


@dataclass(frozen=True, slots=True)
class TrialMark:
    """Marks the trials of one rank in `folder`, which need not exist; `family` is that of the model."""

    folder: Path
    device: torch.device
    family: str

    @contextmanager
    def trying(self) -> Iterator[NoKernels | None]:
        """Mark in the body that kernels are tried, and give None; or give the reason against it and mark nothing."""
        tried = self._tried()
        path = self.folder / f"{_NAME}-{sha256(tried.encode()).hexdigest()[:16]}"
        if _ended_in(path, tried):
            yield FAULT
            return
        with contextlib.suppress(OSError):  # without a mark, a fault is met once more
            write_atomically(path, f"{os.getpid()} {os.getppid()}\n{tried}".encode())
        try:
            yield None
        finally:
            if not is_lost(self.device):
                _remove(path)

    def _tried(self) -> str:
        """Name everything with which a trial may end otherwise."""
        driver = ""
        with contextlib.suppress(OSError):
            driver = _DRIVER.read_text().partition("\n")[0]
        versions = (f"{name} {_version_of(name)}" for name in ("torch", "triton", "potluck"))
        card = torch.cuda.get_device_name(self.device)
        return "\n".join((str(self.device), card, driver, *versions, self.family))


def forget_marks(folder: Path) -> None:
    """Remove the marks of this process and of the ranks that it started. Call it when they are told to end, maybe in
    the middle of a trial.
    """
    for path in folder.rglob(f"{_NAME}-*"):
        with contextlib.suppress(OSError, ValueError):
            if str(os.getpid()) in path.read_text().partition("\n")[0].split():
                _remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _ended_in(path: Path, tried: str) -> bool:
    """Return whether a process tried the same less than a day ago and ended without removing its mark."""
    try:
        pids, _, marked = path.read_text().partition("\n")
        pid, marked_at = int(pids.split()[0]), path.stat().st_mtime
    except (OSError, IndexError, ValueError):
        return False
    is_running = False
    with contextlib.suppress(psutil.Error, OverflowError):  # a later process may have its number
        is_running = pid != os.getpid() and psutil.Process(pid).create_time() <= marked_at
    return not is_running and marked == tried and 0.0 <= time.time() - marked_at < _COUNTS_FOR_S


def _version_of(name: str) -> str:
    with contextlib.suppress(PackageNotFoundError):
        return version(name)
    return ""
