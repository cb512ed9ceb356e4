"""What a process depends on besides the network: its clock, its disk and its share of the processor."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil

_CLOCK_FOLDER = Path(__file__).parent / "clock"
_DISK_BYTES = 1 << 28
_UNMOUNT = 'trap "" INT TERM HUP; read -r _; umount --lazy "$1" 2>&-; rmdir "$1"'
_RUNS_S, _RESTS_S = 0.005, 0.095
_GROUPS = Path("/sys/fs/cgroup")
_NEEDED = {
    1: ("cpu.cfs_quota_us", "memory.limit_in_bytes", "freezer.state"),
    2: ("cpu.max", "memory.max", "cgroup.freeze"),
}
_CONTROLLERS = ("cpu", "memory", "freezer")  # of the first version
_GONE_S = 30.0
_SPARE_BYTES = 16 << 20
_HOG = f"head -c {4 * _SPARE_BYTES} /dev/zero | tail -c {4 * _SPARE_BYTES} >/dev/null"


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


class ControlGroup:
    """A control group of one server's processes, in the first or second version of the kernel's interface.

    One group a controller in the first version, and below the groups of this process, so that their limits hold too.
    In the second it lies beside the group of this process, because controllers are not passed on to below processes.
    """

    def __init__(self, name: str) -> None:
        self._folders = [folder / name for folder in _group_parents()]

    @staticmethod
    def are_possible() -> bool:
        """Return whether this user can make groups with all three controllers."""
        group = ControlGroup(f"potluck-trial-{os.getpid()}")
        try:
            group.make()
            return all(any((folder / name).exists() for folder in group._folders) for name in _NEEDED[group._version])
        except OSError:
            return False
        finally:
            group.remove()

    def make(self) -> None:
        if not self._folders:
            raise FileNotFoundError(_GROUPS)
        for folder in self._folders:
            folder.mkdir()

    def add(self, pid: int) -> None:
        """Take a process in, and with it its later children."""
        for folder in self._folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def throttle(self) -> None:
        """Let the group run for a twentieth of the time of one processor."""
        self._set({"cpu.cfs_quota_us": "5000", "cpu.max": "5000 100000"})

    def freeze(self) -> None:
        self._set({"freezer.state": "FROZEN", "cgroup.freeze": "1"})

    def exhaust_memory(self) -> None:
        """Let the group use little more memory than now, and a process in it takes that until the kernel kills another.

        Raises OSError if the kernel refuses the limit.
        """
        used = next(int(path.read_text()) for path in self._files("memory.usage_in_bytes", "memory.current"))
        limit = str(used + _SPARE_BYTES)
        self._set({"memory.limit_in_bytes": limit, "memory.max": limit})
        procs = " ".join(str(folder / "cgroup.procs") for folder in self._folders)
        command = f"echo -1000 >/proc/self/oom_score_adj; for p in {procs}; do echo $$ >$p; done; {_HOG}"
        subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def heal(self) -> None:
        """Lift the limits on time, and let the processes run again."""
        self._set({"cpu.cfs_quota_us": "-1", "cpu.max": "max", "freezer.state": "THAWED", "cgroup.freeze": "0"})

    def remove(self) -> None:
        """Remove the group when its last process has gone. Raises OSError if one stays."""
        until = time.monotonic() + _GONE_S
        for folder in self._folders:
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.1)

    @property
    def _version(self) -> int:
        return 2 if (_GROUPS / "cgroup.controllers").exists() else 1

    def _files(self, *names: str) -> Iterator[Path]:
        """Yield those of these files that the group has: the two versions name them differently."""
        return (path for folder in self._folders for name in names if (path := folder / name).exists())

    def _set(self, values: Mapping[str, str]) -> None:
        for path in self._files(*values):
            path.write_text(values[path.name])


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


def _group_parents() -> list[Path]:
    """Return the folders in which this process may make groups, none on other systems than Linux."""
    own = Path("/proc/self/cgroup")
    if not own.exists():
        return []
    groups = {names: path for _, names, path in (line.split(":", 2) for line in own.read_text().splitlines())}
    if (_GROUPS / "cgroup.controllers").exists():
        return [(_GROUPS / groups[""].lstrip("/")).parent if groups[""] != "/" else _GROUPS]
    return [
        _GROUPS / name / path.lstrip("/")
        for name in _CONTROLLERS
        for names, path in groups.items()
        if name in names.split(",")
    ]
