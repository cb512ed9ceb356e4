"""The way to a daemon in another system on this machine: a connection is the input and output of a command.

A daemon in WSL2 listens on a Unix socket that Windows cannot reach. `wsl.exe ... potluck control` joins its own input
and output with that socket, as `docker system dial-stdio` does: no port is open, no token lies in a file, and who may
start the command is Windows' own rule. Starting one takes a tenth of a second or more, so it is kept for the next call.
The one that carries the events also keeps WSL2 from ending a system that nobody uses.
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
_NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows would open a console for each


class PipedLine:
    """Connections by `command`; `explain` makes an error for people of what it said when it failed."""

    def __init__(self, command: Sequence[str], explain: Callable[[bytes], PotluckError]) -> None:
        self._command = tuple(command)
        self._explain = explain
        self._kept: list[tuple[float, _Command]] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def connection(self, timeout_s: float) -> Iterator[http.client.HTTPConnection]:
        """For one request. Raises DaemonAwayError if it is not answered."""
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
        """End what is kept."""
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
        pipe = subprocess.PIPE  # that of errors is read at the end: it says a line before it fails, or nothing
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, creationflags=_NO_WINDOW)
        self._first = b""  # of its output: the begin of an answer, or a complaint, which wsl.exe prints there

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def receive(self, buffer: memoryview, timeout_s: float) -> int:
        """Raises TimeoutError. Windows cannot wait for a pipe with a limit: a timer ends the command instead."""
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
        """What it said, if it failed."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        if self._process.poll() in (None, 0):
            return b""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        printed = b"" if self._first.startswith(b"HTTP/") else self._first + self._process.stdout.read()
        return printed + self._process.stderr.read()

    def end(self) -> None:
        """A command whose input ends goes by itself; one that does not is ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it ended before it read everything
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.__exit__(None, None, None)  # waits and closes the pipes


class _PipedConnection(http.client.HTTPConnection):
    """http.client over a command; it offers no other way than to override `connect`."""

    def __init__(self, running: _Command, timeout_s: float) -> None:
        super().__init__(schema.HOST)
        self._wire = _Wire(running, timeout_s)

    def connect(self) -> None:
        self.sock = self._wire


class _Wire:
    """What http.client wants of a socket. The command outlives it."""

    def __init__(self, running: _Command, timeout_s: float) -> None:
        self._running = running
        self._timeout_s = timeout_s

    def sendall(self, data: bytes) -> None:
        self._running.send(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Answer(self._running, self._timeout_s))

    def close(self) -> None:
        """The answer may still be read."""


class _Answer(io.RawIOBase):
    """The command's output; nothing comes after the one answer that is asked for."""

    def __init__(self, running: _Command, timeout_s: float) -> None:
        self._running = running
        self._timeout_s = timeout_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        return self._running.receive(buffer, self._timeout_s)
