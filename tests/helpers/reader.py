"""Somebody who reads the pages for users and does what they say: a home, a shell, and a Python.

What a command printed is remembered where later commands have a capital word for it: INVITE and ADDRESS.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from helpers.daemon_process import LOOPBACK, giving_up_after
from potluck_control.api.client import ControlClient
from potluck_control.api.schema import STATUS, Status

WAIT_S = 300.0
_PRINTED = {"INVITE": r"potluck4:[\w-]{40,}", "ADDRESS": r"/ip4/127\.0\.0\.1/\S+/p2p/\w+"}
_TERMINAL = struct.pack("HHHH", 50, 160, 0, 0)  # rows, columns
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)")
_QUESTION = re.compile(r"[:\]>?)] $")
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


@dataclass(frozen=True, slots=True)
class Typed:
    """What came of a command at a terminal; `silent_s`: the longest time without a new word of it."""

    code: int
    said: str
    silent_s: float


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
        with socket.create_server(("127.0.0.1", 0)) as free:  # a port of its own, the same after a restart
            settings.write_text(LOOPBACK.replace("/tcp/0", f"/tcp/{free.getsockname()[1]}"))
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

    def type_at_terminal(
        self, command: str, answers: Mapping[str, str] = MappingProxyType({}), *, until: str = "", limit_s: float = 120
    ) -> Typed:
        """Type a command at a terminal of its own, and answer what it asks.

        Args:
            answers: by a part of the question's line; `""`: what any other question is answered with.
            until: what it shows before it gets Ctrl-C, for a command that ends with that only.
            limit_s: after which it is killed.
        """
        outer, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, _TERMINAL)
        process = subprocess.Popen(
            ["env", "--default-signal=INT", "bash", "-c", f"exec {self.replaced(command)}"],
            env=self.environment | {"TERM": "xterm", "EDITOR": "true"},
            cwd=self.home,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(inner)
        said, longest_s, is_over = "", 0.0, False
        letters = codecs.getincrementaldecoder("utf-8")("replace")
        began = heard_at = time.monotonic()
        while time.monotonic() - began < limit_s:
            is_ready = bool(select.select([outer], [], [], 0.05)[0])
            part = b""
            with contextlib.suppress(OSError):  # nobody has the terminal any more
                part = os.read(outer, 1 << 16) if is_ready else b""
            now = time.monotonic()
            is_over = is_over or process.poll() is not None
            if part or is_over:
                longest_s, heard_at = max(longest_s, now - heard_at), now
            if is_over and not part:
                break
            said += letters.decode(part)
            plain = _ESCAPES.sub("", said)
            self.note(plain)
            if until and until in plain:
                process.send_signal(signal.SIGINT)
                until = ""
            if part and _QUESTION.search(plain):
                asked = re.split(r"[\r\n]", plain)[-1]
                answer = next((answers[each] for each in answers if each in asked), "")
                os.write(outer, self.replaced(answer).encode() + b"\n")
        else:
            process.kill()
            longest_s = max(longest_s, time.monotonic() - heard_at)
        os.close(outer)
        plain = re.sub(r"\r+\n?", "\n", _ESCAPES.sub("", said))
        return Typed(process.wait(), plain, longest_s)

    def type_and_leave(self, command: str, shown: str) -> None:
        """Run what ends with Ctrl-C only, until it shows something; it goes on."""
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

    def end_lasting(self) -> None:
        """Press Ctrl-C where those go on that end with it only."""
        for process in self._lasting:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=WAIT_S)
        self._lasting.clear()

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
        end = time.monotonic() + WAIT_S
        while not wanted(status := client.call(STATUS)):
            assert time.monotonic() < end, f"the status did not become as wanted: {status}"
            time.sleep(0.2)

    def replaced(self, text: str) -> str:
        for word in sorted(self.words, key=len, reverse=True):
            text = text.replace(word, self.words[word])
        return text

    def note(self, printed: str) -> None:
        for word, pattern in _PRINTED.items():
            if found := re.search(pattern, printed):
                self.words[word] = found[0]
