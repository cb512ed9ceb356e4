"""`potluck` as a person runs it: a process with folders of its own, and what it says and leaves behind."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.helpers.fork_server import start_python

_TIMEOUT_S = 250.0  # far above what any of these commands takes


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Runs commands whose files lie in `folder` (a short path: it holds Unix sockets)."""

    folder: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return start_python(
            ["-m", "potluck_cli.main", *arguments],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> Outcome:
        (outcome,) = self.run_together([arguments])
        return outcome

    def run_together(self, commands: Sequence[Sequence[str]]) -> list[Outcome]:
        """Run commands side by side: most of them wait for a network more than they compute."""
        processes = [self.start(*arguments) for arguments in commands]
        try:
            ends = [process.communicate(timeout=_TIMEOUT_S) for process in processes]
        finally:
            for process in processes:
                process.kill()
        return [Outcome(process.returncode, *end) for process, end in zip(processes, ends, strict=True)]

    def environment(self) -> dict[str, str]:
        places = ("HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
        return {
            **os.environ,
            **dict.fromkeys(places, str(self.folder)),
            "OMP_NUM_THREADS": "1",
            "HF_ENDPOINT": "http://127.0.0.1:9",  # nothing leaves this machine
        }

    def processes(self) -> list[psutil.Process]:
        """What still runs of the commands, p2pd and grandchildren included."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("TMPDIR") == str(self.folder):
                    found.append(process)
            except psutil.Error:  # gone, or somebody else's
                continue
        return found
