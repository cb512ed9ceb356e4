"""Programs that look like others: Steam's reaper, Proton, a launcher, a compositor."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.helpers.desktop import ended

_SOURCE = Path(__file__).with_name("stand_in.c")


class StandIns:
    """A folder of them; `named` makes one more."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = folder / "stand-in"
        subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-o", self._program, _SOURCE], check=True)

    def named(self, name: str) -> str:
        """The path of a program of this name, which may be a relative path."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            os.link(self._program, path)
        return str(path)

    def script(self, name: str) -> str:
        """The path of a Python program of this name that waits."""
        path = self._folder / name
        path.write_text("import signal; signal.alarm(600); signal.pause()\n")
        return str(path)

    @contextlib.contextmanager
    def running(self, *arguments: str, is_busy: bool = False) -> Iterator[int]:
        """The process id of a program started with these arguments, the first being its path."""
        environment = os.environ | ({"STAND_IN_BUSY": "1"} if is_busy else {})
        with ended(subprocess.Popen(arguments, env=environment)) as process:
            yield process.pid


@contextlib.contextmanager
def stand_ins() -> Iterator[StandIns]:
    with tempfile.TemporaryDirectory(prefix="stand-in-") as folder:
        yield StandIns(Path(folder))
