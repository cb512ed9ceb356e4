"""Somebody who reads the pages for users and does what they say: a home, a shell, and a Python.

What a command printed is remembered where later commands have a capital word for it: INVITE and ADDRESS.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from helpers.daemon_process import LOOPBACK, giving_up_after
from potluck_control.client import ControlClient
from potluck_control.schema import Status

WAIT_S = 300.0
_PRINTED = {"INVITE": r"potluck4:[\w-]{40,}", "ADDRESS": r"/ip4/127\.0\.0\.1/\S+/p2p/\w+"}
_ASSIGNMENT = re.compile(r"([A-Z]+)=\$")
_INTERPRETER = """\
import contextlib, io, json, sys, traceback
names = {}
for line in sys.stdin:
    printed, error = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(json.loads(line), names)
        except Exception:
            error = traceback.format_exc()
    print(json.dumps([printed.getvalue(), error]), flush=True)
"""
_TIDY_UP = """\
import shutil, sys, time
import psutil
def lives(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
home = sys.argv[1]
sys.stdin.read()
left = []
for process in psutil.process_iter():
    try:
        if process.environ().get("HOME") == home:
            process.kill()
            left.append(process)
    except psutil.Error:
        pass
while any(map(lives, left)):
    time.sleep(0.01)
shutil.rmtree(home)
"""


class Reader:
    """Use as a context manager: nothing is left of it, whatever ends the tests.

    Args:
        words: what stands for the capital words of a page.
        programs: the folder with `potluck`.
        sources: what the environment says about where packages come from.
    """

    def __init__(
        self,
        words: dict[str, str],
        programs: Path = Path(sys.executable).parent,
        sources: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="reader-"))  # short: sockets lie in it
        self.words = words
        self._programs = programs
        self._sources = sources
        self._lasting: list[subprocess.Popen[str]] = []
        self._variables: dict[str, str] = {}
        self._python: subprocess.Popen[str] | None = None
        settings = self.home / ".config" / "potluck" / "settings.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(LOOPBACK)
        (self.home / "run").mkdir(mode=0o700)
        self._tidy = subprocess.Popen(
            [sys.executable, "-c", _TIDY_UP, self.home], stdin=subprocess.PIPE, start_new_session=True
        )

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._tidy.communicate()
        for child in (*self._lasting, *((self._python,) if self._python else ())):
            child.communicate()

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the machine's own desktop."""
        kept = {name: os.environ[name] for name in ("TMPDIR", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        return {
            **kept,
            **self._variables,
            **self._sources,
            "PATH": f"{self._programs}:/usr/bin:/bin",
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "OMP_NUM_THREADS": "1",
            "HF_ENDPOINT": "http://127.0.0.1:9",  # nothing leaves this machine
        }

    def type(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run it as it stands on the page, but for the capital words."""
        command = self.replaced(command)
        named = _ASSIGNMENT.match(command)
        shell = f'{command}\nprintf %s "${named[1]}"' if named else command
        done = subprocess.run(
            ["bash", "-c", shell],
            env=self.environment,
            cwd=self.home,
            input=self.words.get("INVITE", ""),  # for `potluck join`, which asks for it
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
        if named:
            self._variables[named[1]] = done.stdout
        self.note(done.stdout)
        return done

    def type_and_leave(self, command: str, shown: str, *, then_stop: bool) -> None:
        """Run what ends with Ctrl-C only, until it shows something; it goes on unless it is to stop then."""
        process = subprocess.Popen(
            ["env", "--default-signal=INT", "bash", "-c", f"exec {self.replaced(command)}"],
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lasting.append(process)
        assert process.stdout is not None
        with giving_up_after(WAIT_S, process):  # type: ignore[arg-type]
            line = next((line for line in process.stdout if shown in line), None)
        assert line is not None, f"{command} ended before it showed {shown!r}"
        self.note(line)
        if then_stop:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=WAIT_S)
            assert process.returncode in (0, 130), process.returncode

    def run_program(self, program: str) -> tuple[str, str]:
        """In one interpreter for all of this reader's programs; returns what was printed, and the error, if any."""
        if self._python is None:
            self._python = subprocess.Popen(
                [sys.executable, "-c", _INTERPRETER],
                env=self.environment,
                cwd=self.home,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self._python.stdin is not None
        assert self._python.stdout is not None
        self._python.stdin.write(json.dumps(self.replaced(program)) + "\n")
        self._python.stdin.flush()
        with giving_up_after(WAIT_S, self._python):  # type: ignore[arg-type]
            line = self._python.stdout.readline()
        assert line, "the interpreter ended"
        printed, error = json.loads(line)
        return printed, error

    def wait_for(self, wanted: Callable[[Status], bool]) -> None:
        """Return when the daemon's status is as wanted."""
        client = ControlClient(self.home / "run" / "potluck" / "potluckd.sock")
        for event in client.events():
            if isinstance(event, Status) and wanted(event):
                return
        raise AssertionError("the daemon ended")

    def replaced(self, text: str) -> str:
        for word in sorted(self.words, key=len, reverse=True):
            text = text.replace(word, self.words[word])
        return text

    def note(self, printed: str) -> None:
        for word, pattern in _PRINTED.items():
            if found := re.search(pattern, printed):
                self.words[word] = found[0]
