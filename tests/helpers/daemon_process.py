"""A real daemon in folders of its own, and scripted games: for integration tests and benchmarks."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import platformdirs
import psutil
from potluck_control.api import schema
from potluck_control.api.client import ControlClient, DaemonAwayError
from potluck_control.api.schema import Status

from benchmarks.setup.local_swarm import LocalSwarm
from potluck.files import write_atomically
from potluck.membership.joined import JoinedSwarms
from tests.helpers.killing import kill_all

WAIT_S = 120.0
GAME = "potluck-test-game"
LOOPBACK = '[serve]\nlisten = ["/ip4/127.0.0.1/tcp/0"]\nthreads = 1\n'  # settings: heard by nobody else


def run_command(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, check=False, **options)


class DaemonProcess:
    """`potluckd` with its own places; use as a context manager. Everything is gone after it.

    Attributes:
        run_command: runs commands; tests, which run hundreds, have a faster way.
    """

    run_command = staticmethod(run_command)

    def __init__(
        self,
        settings: str = "",
        environment: Mapping[str, str] = os.environ,
        *,
        options: Sequence[str] = (),
        python: str | Path = sys.executable,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="potluckd-"))  # short: socket paths have a limit
        self._base = dict(environment)
        self._options = options
        self._python = python
        self._process: subprocess.Popen[bytes] | None = None
        self.settings_file.parent.mkdir(parents=True)
        self.write_settings(settings)
        (self.folder / "run").mkdir(mode=0o700)
        kernels = platformdirs.user_cache_path("potluck") / "kernels"  # compiled once for all tests
        kernels.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.folder / "cache" / "potluck").mkdir(mode=0o700, parents=True)
        (self.folder / "cache" / "potluck" / "kernels").symlink_to(kernels)

    def __enter__(self) -> DaemonProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            kill_all(self.processes())
            shutil.rmtree(self.folder)

    @property
    def environment(self) -> dict[str, str]:
        hidden = ("NOTIFY_SOCKET", "WATCHDOG_USEC")
        kept = {name: value for name, value in self._base.items() if name not in hidden}
        places = {
            "XDG_CONFIG_HOME": "config",
            "XDG_STATE_HOME": "state",
            "XDG_CACHE_HOME": "cache",
            "XDG_RUNTIME_DIR": "run",
        }
        return kept | {name: str(self.folder / sub) for name, sub in places.items()} | {"OMP_NUM_THREADS": "1"}

    @property
    def settings_file(self) -> Path:
        return self.folder / "config" / "potluck" / "settings.toml"

    @property
    def state_folder(self) -> Path:
        return self.folder / "state" / "potluck"

    @property
    def socket(self) -> Path:
        return self.folder / "run" / "potluck" / "potluckd.sock"

    @property
    def client(self) -> ControlClient:
        return ControlClient(self.socket)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._process = subprocess.Popen(
            [self._python, "-m", "potluck_cli.daemon", *self._options],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        with giving_up_after(WAIT_S, self._process):
            while True:
                with contextlib.suppress(DaemonAwayError):
                    self.client.call(schema.HELLO)
                    return
                assert self._process.poll() is None, self.log()

    def stop(self) -> int | None:
        """SIGTERM; returns the exit code."""
        if self._process is None:
            return None
        self._process.terminate()
        code = self._process.wait(WAIT_S)
        self._process = None
        return code

    def wait_ended(self) -> int:
        """Wait until it has ended by itself; returns the exit code."""
        assert self._process is not None
        code = self._process.wait(WAIT_S)
        self._process = None
        return code

    def write_settings(self, text: str) -> None:
        """All at once, as editors do: the daemon never reads a half."""
        write_atomically(self.settings_file, text.encode())

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `potluck ARGUMENTS` beside this daemon."""
        return self.run_command([self._python, "-m", "potluck_cli.main", *arguments], env=self.environment, text=True)

    def status(self) -> Status:
        return self.client.call(schema.STATUS)

    def wait_for(self, wanted: Callable[[Status], bool], *, after: Callable[[], object] | None = None) -> Status:
        """The first status that is as wanted, of those that follow `after()`; fails with the log if none comes.

        Whatever does not last has to be brought about by `after`: nobody could be sure to look in time otherwise.
        """
        assert self._process is not None
        with giving_up_after(WAIT_S, self._process):
            events = self.client.events()
            if after is not None:
                next(events)  # the present one: from here on nothing is missed
                after()
            for event in events:
                if isinstance(event, Status) and wanted(event):
                    return event
        raise AssertionError(f"the daemon ended\n{self.log()}")

    def wait_state(self, state: str) -> Status:
        return self.wait_for(lambda status: status.state == state)

    def processes(self) -> list[psutil.Process]:
        """Everything that runs in these places: daemon, engine, p2pd."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("XDG_STATE_HOME") == str(self.folder / "state"):
                    found.append(process)
        return found

    def wait_all_gone(self) -> list[psutil.Process]:
        """Processes that are still there although everything should end."""
        return psutil.wait_procs(self.processes(), timeout=60)[1]

    def become_founder(self, swarm: LocalSwarm) -> None:
        """Give the daemon the founder's keys: a swarm without any other member lets nobody else in."""
        joined = JoinedSwarms(self.folder / "config" / "potluck" / "swarms.json", self.state_folder / "identity.key")
        joined.adopt(swarm.membership)
        self.client.call(schema.RELOAD)

    def log(self) -> str:
        path = self.state_folder / "potluckd.log"
        return path.read_text() if path.exists() else "(no log)"


@contextlib.contextmanager
def scripted_game(folder: Path, name: str = GAME) -> Iterator[subprocess.Popen[bytes]]:
    """A program of this name, running as long as the context lasts."""
    program = folder / name
    if not program.exists():
        shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    game = subprocess.Popen([program, "600"])
    try:
        yield game
    finally:
        game.kill()
        game.wait()


@contextlib.contextmanager
def giving_up_after(timeout_s: float, process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kill `process` if the body takes longer, which ends whatever the body waits for."""
    timer = threading.Timer(timeout_s, process.send_signal, (signal.SIGKILL,))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def anonymous_bytes(pid: int) -> int:
    """Memory of a process that only it has: what ends when it is freed, mapped files not counted."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the kernel does not report it")
