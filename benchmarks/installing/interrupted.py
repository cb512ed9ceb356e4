"""`potluck setup` with the real packages, killed at any moment with all that it started, and run again.

The packages lie in a folder. Moments are drawn over the time that an undisturbed set-up takes, one from each of as many
equal parts as there are rounds; the seed is fixed, so a series can be repeated. Counted: second runs that do not end
with an environment that passed its trial, is the one in use, and lies there alone; processes that outlive the kill.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
from potluck_daemon.environment.store import Store

from benchmarks.figures import Measured, figure
from tests.helpers.installing import engine_wheels

SEED = 8
_ROUNDS, _SOAK_ROUNDS = 3, 20
_GONE_AFTER_S = 20.0


@figure("install_interrupted", unit="faults", reach=0)
def faults(soak: bool) -> Measured:
    """Set-ups of the engine killed at 3 random moments (20 in soak) and run again that are not healthy then."""
    rng, rounds = random.Random(SEED), _SOAK_ROUNDS if soak else _ROUNDS
    found: list[str] = []
    struck: list[str] = []
    with _home() as home:
        began = time.monotonic()
        assert home.set_up().returncode == 0
        whole_s = time.monotonic() - began
    for number in range(rounds):
        with _home() as home:
            step = home.interrupt(whole_s * (number + rng.random()) / rounds)
            struck.append(step)
            found += [f"struck at {step}: {fault}" for fault in home.faults()]
    return Measured(len(found), {"faults": found, "struck_at": struck, "whole_s": round(whole_s, 1), "rounds": rounds})


class _Home:
    """The folders of one user who sets up."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places = {f"XDG_{name}_HOME": str(folder / name) for name in ("CONFIG", "STATE", "CACHE")}
        self._said = folder / "said.txt"
        self._store = Store(folder / "STATE" / "potluck" / "engines")

    def set_up(self) -> subprocess.CompletedProcess[str]:
        return self._run("--wheels", str(engine_wheels()))

    def interrupt(self, after_s: float) -> str:
        """Returns the step it was at; `done` if it had ended."""
        with self._said.open("w") as said:
            process = subprocess.Popen(
                self._command("--wheels", str(engine_wheels())),
                env=self._environment,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
            return "done"
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        lines = self._said.read_text().splitlines()
        return lines[-1].partition("  ")[0] if lines else "start"

    def faults(self) -> list[str]:
        """Return what is wrong after another run."""
        _, alive = psutil.wait_procs(self._processes(), timeout=_GONE_AFTER_S)
        found = [f"{process.name()} outlived it" for process in alive]
        again = self.set_up()
        if again.returncode != 0:
            return [*found, f"the second run failed: {again.stderr.strip()[-300:]}"]
        state = json.loads(self._run("--check", "--json").stdout)
        if not state["ready"] or state["variant"] != "cpu" or state["devices"] != ["cpu"]:
            found.append(f"not in use: {state}")
        folders = {path for path in self._store.root.iterdir() if path.is_dir() and not path.is_symlink()}
        if folders != {self._store.current()}:
            found.append(f"left behind: {sorted(path.name for path in folders)}")
        return found

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self._places, "OMP_NUM_THREADS": "1"}

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "potluck_cli.main", "setup", *arguments]

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(*arguments), env=self._environment, capture_output=True, text=True, check=False
        )

    def _processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("XDG_STATE_HOME") == self._places["XDG_STATE_HOME"]:
                    found.append(process)
        return found


@contextlib.contextmanager
def _home() -> Iterator[_Home]:
    with tempfile.TemporaryDirectory(prefix="potluck-setup-") as folder:
        yield _Home(Path(folder))
