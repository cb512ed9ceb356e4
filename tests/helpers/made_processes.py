"""A made /proc for odd cases: processes that cannot be started here, or not in a hurry."""

import shutil
from pathlib import Path

from potluck_daemon.presence.probe import Surroundings

OWN_PID = 999_999


class Clock:
    """Moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class MadeProcesses:
    """Writes what the kernel would."""

    def __init__(self, folder: Path) -> None:
        self.proc, self.sys = folder / "proc", folder / "sys"
        self.proc.mkdir()
        self.sys.mkdir()
        self._num_executions = 0
        (self.proc / "loadavg").write_text("0.00 0.00 0.00 1/100 1\n")

    @property
    def surroundings(self) -> Surroundings:
        return Surroundings(self.proc, self.sys, {}, OWN_PID)

    def add(
        self,
        pid: int,
        comm: str,
        *arguments: str,
        state: str = "S",
        parent: int = 1,
        ticks: int = 0,
        is_thread: bool = False,
    ) -> None:
        """A process; a thread is not listed by the kernel, but its folder can be opened."""
        folder = self.proc / str(pid)
        folder.mkdir(exist_ok=True)
        (folder / "cmdline").write_bytes("".join(f"{item}\0" for item in arguments).encode())
        self._num_executions += 1
        fields = [state, str(parent), *["0"] * 9, str(ticks), *["0"] * 38]
        fields[35] = "-1" if is_thread else "17"  # the signal to the parent at its end
        fields[25] = str(self._num_executions)  # where its stack is
        (folder / "stat").write_text(f"{pid} ({comm}) {' '.join(fields)}\n")
        (self.proc / "loadavg").write_text(f"0.00 0.00 0.00 1/100 {pid}\n")

    def use(self, pid: int, ticks: int) -> None:
        """The process has used so much of a core since its start, in the kernel's ticks."""
        stat = self.proc / str(pid) / "stat"
        head, _, rest = stat.read_text().rpartition(") ")
        fields = rest.split()
        fields[11] = str(ticks)
        stat.write_text(f"{head}) {' '.join(fields)}\n")

    def set_environment(self, pid: int, **variables: str) -> None:
        text = "".join(f"{name}={value}\0" for name, value in variables.items())
        (self.proc / str(pid) / "environ").write_bytes(text.encode())

    def remove(self, pid: int) -> None:
        shutil.rmtree(self.proc / str(pid))

    def open_gpu(self, pid: int, handle: int, client_id: int, **counters: str) -> None:
        """An open DRM device of a process, with what the kernel counts for it."""
        fd, fdinfo = self.proc / str(pid) / "fd", self.proc / str(pid) / "fdinfo"
        fd.mkdir(exist_ok=True)
        fdinfo.mkdir(exist_ok=True)
        link = fd / str(handle)
        if not link.is_symlink():
            link.symlink_to("/dev/dri/renderD128")
        lines = ["pos:\t0", "drm-driver:\tamdgpu", f"drm-client-id:\t{client_id}", "drm-pdev:\t0000:03:00.0"]
        lines += [f"drm-{name.replace('_', '-')}:\t{value}" for name, value in counters.items()]
        (fdinfo / str(handle)).write_text("\n".join(lines) + "\n")
