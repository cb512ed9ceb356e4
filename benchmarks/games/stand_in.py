"""Programs that look like others: Steam's reaper, Proton, a launcher, a compositor."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.helpers.desktop import ended

_SOURCE = Path(__file__).with_name("stand_in.c")


class StandIns:
    """A folder of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = folder / "stand-in"
        subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-o", self._program, _SOURCE], check=True)

    @contextlib.contextmanager
    def running(
        self, name: str, *arguments: str, is_busy: bool = False, variables: Mapping[str, str] | None = None
    ) -> Iterator[int]:
        """The process id of a program that the kernel names so; the first of its arguments is its path."""
        path = self._folder / name
        if not path.exists():
            os.link(self._program, path)
        environment = os.environ | (variables or {}) | ({"STAND_IN_BUSY": "1"} if is_busy else {})
        with ended(subprocess.Popen(arguments, executable=path, env=environment)) as process:
            yield process.pid


@contextlib.contextmanager
def stand_ins() -> Iterator[StandIns]:
    with tempfile.TemporaryDirectory(prefix="stand-in-") as folder:
        yield StandIns(Path(folder))
