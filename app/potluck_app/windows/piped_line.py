"""A connection from Windows to a daemon in WSL2: the input and output of a command.

Windows cannot reach the daemon's Unix socket. `wsl.exe ... potluck control` joins its input and output with that
socket, as `docker system dial-stdio` does, so no port is open and no token lies in a file. Starting the command takes
a tenth of a second or more, so it is kept for the next call. The command that carries the events also keeps WSL2 from
ending a system that looks unused.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from potluck_control.api.client import DaemonAwayError, no_answer

from potluck.errors import PotluckError

KEPT_S = 45.0  # the daemon closes a connection after 60 seconds without a request
_END_S = 5.0
_MAX_COMPLAINT_BYTES = 1 << 16
_NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows would open a console for each


class PipedLine:
    """Connections through `command`. `explain` turns the output of a failed command into an error for people."""

    def __init__(self, command: Sequence[str], explain: Callable[[bytes], PotluckError]) -> None:
        self._command = tuple(command)
        self._explain = explain
        self._kept: list[tuple[float, _Command]] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def connection(self, timeout_s: float) -> Iterator[io.BufferedRWPair]:
        """Connect for one request. Raises DaemonAwayError if there is no answer."""
        running = None
        try:
            running = self._take() or _Command(self._command)
            running.output.timeout_s = timeout_s
            yield running.stream
        except OSError as error:
            raise self._away(running, error) from error
        else:
            with self._lock:
                self._kept.append((time.monotonic(), running))
                running = None
        finally:
            if running is not None:
                running.end()

    def close(self) -> None:
        """End the commands that are kept."""
        with self._lock:
            while self._kept:
                self._kept.pop()[1].end()

    def _take(self) -> _Command | None:
        with self._lock:
            while self._kept:
                kept_at, running = self._kept.pop()
                if time.monotonic() - kept_at < KEPT_S and running.is_alive:
                    return running
                running.end()
        return None

    def _away(self, running: _Command | None, error: OSError) -> DaemonAwayError:
        problem = running.complaint() if running is not None else b""
        if problem:
            why = self._explain(problem)
            return DaemonAwayError(why.sentence, hint=why.advice)
        return DaemonAwayError(no_answer(error))


class _Command:
    """One running command. `stream` is its input and output."""

    def __init__(self, command: Sequence[str]) -> None:
        pipe = subprocess.PIPE  # standard error holds a line at most, so it is read last
        self._process = subprocess.Popen(
            command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, creationflags=_NO_WINDOW
        )
        self.output = _Output(self._process)
        self.stream: io.BufferedRWPair = io.BufferedRWPair(self.output, cast(io.RawIOBase, self._process.stdin))

    @property
    def is_alive(self) -> bool:
        return not self.output.has_ended and self._process.poll() is None

    def complaint(self) -> bytes:
        """Return the output of a command that failed, or "" if it did not."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        if self._process.poll() in (None, 0):
            return b""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        printed = b""
        if not self.output.first.startswith((b"{", b"HTTP/")):  # it is the daemon's answer
            printed = self.output.first + self._process.stdout.read(_MAX_COMPLAINT_BYTES)
        return printed + self._process.stderr.read(_MAX_COMPLAINT_BYTES)

    def end(self) -> None:
        """Close the command's input, which ends it, and kill it if it goes on."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it ended before it read everything
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.__exit__(None, None, None)  # waits and closes the pipes


class _Output(io.RawIOBase):
    """The output of a command.

    Attributes:
        timeout_s: limit of each reading.
        first: the bytes that came first: an answer, or a complaint of wsl.exe.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.timeout_s = 0.0
        self.first = b""
        self.has_ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read into `buffer`. A timer ends the command, because Windows cannot wait for a pipe with a limit.

        Raises:
            TimeoutError: nothing came in time.
        """
        assert self._process.stdout is not None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(self.timeout_s, give_up)
        timer.start()
        try:
            data = os.read(self._process.stdout.fileno(), len(buffer))
        finally:
            timer.cancel()
        if late.is_set():
            raise TimeoutError("no answer in time")
        self.first = self.first or data
        self.has_ended = not data
        buffer[: len(data)] = data
        return len(data)
