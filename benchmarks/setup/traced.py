"""Runs a program and writes down which of our functions each numbered step calls, in all threads.

    python -m benchmarks.setup.traced NUMBER CALLS MODULE ARGUMENTS...

The first byte of the file NUMBER is the number of the step that runs now, 0: none. Processes that share it agree about
it. Each function's first call in a step becomes one line of the file CALLS, in JSON.
"""

from __future__ import annotations

import json
import mmap
import os
import runpy
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

from benchmarks import ROOT

_OURS = tuple(
    str(ROOT / folder / "potluck") for folder in ("", "daemon", "app")
)  # and all that begins so, like potluck_engine


class Trace:
    """Traces this process: the thread that calls `begin`, and all threads that start afterwards."""

    def __init__(self, number: Path, calls: Path) -> None:
        with number.open("r+b") as file:
            self._number = mmap.mmap(file.fileno(), 1)
        self._calls = os.open(calls, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._seen: set[tuple[int, CodeType]] = set()

    def begin(self) -> None:
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def end(self) -> None:
        threading.setprofile(None)
        sys.setprofile(None)

    def set_step(self, number: int) -> None:
        self._number[0] = number

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        step, code = self._number[0], frame.f_code
        if event != "call" or not step or (step, code) in self._seen:
            return
        self._seen.add((step, code))
        if code.co_filename.startswith(_OURS):
            line = json.dumps([step, os.path.relpath(code.co_filename, ROOT), code.co_qualname])
            os.write(self._calls, f"{line}\n".encode())


if __name__ == "__main__":
    _number, _calls, _module, *_arguments = sys.argv[1:]
    Trace(Path(_number), Path(_calls)).begin()
    sys.argv = [_module, *_arguments]
    runpy.run_module(_module, run_name="__main__", alter_sys=True)
