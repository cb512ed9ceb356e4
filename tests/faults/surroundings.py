"""What a process depends on besides the network: its clock, its disk and its share of the processor."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

_CLOCK_FOLDER = Path(__file__).parent / "clock"
_DISK_BYTES = 1 << 28
_UNMOUNT = 'trap "" INT TERM HUP; read -r _; umount --lazy "$1" 2>&-; rmdir "$1"'
_RUNS_S, _RESTS_S = 0.005, 0.095


class Clock:
    """The wall clock of Python processes that are started with its `environment`.

    It is wrong by `wrong_s` all the time, besides its jumps.
    """

    def __init__(self, path: Path, wrong_s: float = 0.0) -> None:
        self._path, self._wrong_s = path, wrong_s
        path.write_bytes(struct.pack("d", wrong_s))

    def environment(self, *python_path: Path) -> Mapping[str, str]:
        return {"PYTHONPATH": os.pathsep.join(map(str, (_CLOCK_FOLDER, *python_path))), "CLOCK_FILE": str(self._path)}

    def jump(self, seconds: float) -> None:
        """Let the clock show `seconds` more than before its first jump."""
        with self._path.open("r+b") as file:
            file.write(struct.pack("d", self._wrong_s + seconds))


class Disk:
    """A small disk on which temporary folders are made inside `mounted`; on other systems than Linux there is none."""

    def __init__(self, folder: Path) -> None:
        self._filling = folder / "filling"

    @classmethod
    @contextlib.contextmanager
    def mounted(cls) -> Iterator[Disk | None]:
        """Mount the disk, or yield None where this user may not."""
        folder, before = tempfile.mkdtemp(prefix="potluck-disk-"), tempfile.tempdir
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", folder]
        # A child that ends after this process, even if it is killed.
        with subprocess.Popen(["sh", "-c", _UNMOUNT, "-", folder], stdin=subprocess.PIPE, start_new_session=True):
            if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
                yield None
                return
            tempfile.tempdir = folder
            try:
                yield cls(Path(folder))
            finally:
                tempfile.tempdir = before

    def fill(self) -> None:
        with contextlib.suppress(OSError), self._filling.open("wb", buffering=0) as file:
            while file.write(bytes(1 << 20)):
                pass

    def heal(self) -> None:
        self._filling.unlink(missing_ok=True)


class Starvation:
    """Lets processes run for a twentieth of the time only, until it is ended."""

    def __init__(self, processes: Sequence[psutil.Process]) -> None:
        self._processes = processes
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="starvation")
        self._thread.start()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.is_set():
            send(self._processes, signal.SIGSTOP)
            self._is_over.wait(_RESTS_S)
            send(self._processes, signal.SIGCONT)
            self._is_over.wait(_RUNS_S)


def send(processes: Sequence[psutil.Process], number: int) -> None:
    """Send a signal to those that still run."""
    for process in processes:
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            process.send_signal(number)
