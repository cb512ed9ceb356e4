"""Reaches a daemon in WSL2 from Windows: a connection is the input and output of a command.

Windows cannot reach the daemon's Unix socket. `wsl.exe ... potluck control` joins its input and output with that
socket, as `docker system dial-stdio` does, so no port is open and no token lies in a file. Starting the command takes
a tenth of a second or more, so it is kept for the next call. The command that carries the events also keeps WSL2 from
ending a system that looks unused.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from potluck.errors import PotluckError
from potluck_control import schema
from potluck_control.client import DaemonAwayError

KEPT_S = 45.0  # the daemon closes a connection after 60 seconds without a request
_END_S = 5.0
_MAX_COMPLAINT_BYTES = 1 << 16
_NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows would open a console for each


class PipedLine:
    """Makes connections by `command`. `explain` turns the output of a failed command into an error for people."""

    def __init__(self, command: Sequence[str], explain: Callable[[bytes], PotluckError]) -> None:
        self._command = tuple(command)
        self._explain = explain
        self._kept: list[tuple[float, _Command]] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def connection(self, timeout_s: float) -> Iterator[http.client.HTTPConnection]:
        """Connect for one request. Raises DaemonAwayError if there is no answer."""
        running = None
        try:
            running = self._take() or _Command(self._command)
            connection = _PipedConnection(running, timeout_s)
            yield connection
        except (OSError, http.client.HTTPException) as error:
            raise self._away(running, error) from error
        else:
            if connection.sock is not None:  # http.client drops it when the daemon will not answer another request
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

    def _away(self, running: _Command | None, error: Exception) -> DaemonAwayError:
        said = running.complaint() if running is not None else b""
        if said:
            why = self._explain(said)
            return DaemonAwayError(why.message, hint=why.hint)
        return DaemonAwayError(f"the daemon does not answer: {error or type(error).__name__}")


class _Command:
    """One running command."""

    def __init__(self, command: Sequence[str]) -> None:
        pipe = subprocess.PIPE  # standard error holds a line at most, so it is read at the end
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, creationflags=_NO_WINDOW)
        self._first = b""  # bytes of its output: an answer, or a complaint of wsl.exe

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def receive(self, buffer: memoryview, timeout_s: float) -> int:
        """Read into `buffer`. A timer ends the command, because Windows cannot wait for a pipe with a limit.

        Raises:
            TimeoutError: nothing came in time.
        """
        assert self._process.stdout is not None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(timeout_s, give_up)
        timer.start()
        try:
            data = os.read(self._process.stdout.fileno(), len(buffer))
        finally:
            timer.cancel()
        if late.is_set():
            raise TimeoutError("no answer in time")
        self._first = self._first or data
        buffer[: len(data)] = data
        return len(data)

    def complaint(self) -> bytes:
        """Return the output of a command that failed; empty if it did not."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        if self._process.poll() in (None, 0):
            return b""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        printed = b""
        if not self._first.startswith(b"HTTP/"):
            printed = self._first + self._process.stdout.read(_MAX_COMPLAINT_BYTES)
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


class _PipedConnection(http.client.HTTPConnection):
    """An http.client connection over a command. Overriding `connect` is the only way that http.client offers."""

    def __init__(self, running: _Command, timeout_s: float) -> None:
        super().__init__(schema.HOST)
        self._wire = _Wire(running, timeout_s)

    def connect(self) -> None:
        self.sock = self._wire


class _Wire:
    """The part of a socket that http.client uses. The command outlives it."""

    def __init__(self, running: _Command, timeout_s: float) -> None:
        self._running = running
        self._timeout_s = timeout_s

    def sendall(self, data: bytes) -> None:
        self._running.send(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Answer(self._running, self._timeout_s))

    def close(self) -> None:
        """Do nothing, because the answer may still be read."""


class _Answer(io.RawIOBase):
    """The command's output as a file. Nothing follows the one answer."""

    def __init__(self, running: _Command, timeout_s: float) -> None:
        self._running = running
        self._timeout_s = timeout_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._running.receive(buffer, self._timeout_s)
