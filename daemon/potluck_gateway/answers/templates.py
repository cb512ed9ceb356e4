"""Renders a model's chat template in child processes with bounded time and memory.

Templates come with a checkpoint. Transformers' sandbox keeps them from files and code, but not from endless loops or
from texts of gigabytes, in the template or while it is compiled. A child is a fork that only renders, so it needs
nothing but Python objects, which other threads cannot have left locked. (`multiprocessing.Process` also closes standard
input, which another thread may be reading.) Forking a process with a model takes many times as long as rendering, so a
child stays for the next conversation, and a second one renders while the first is busy with a long one.
"""

from __future__ import annotations

import os
import resource
import signal
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import LifoQueue
from typing import Any

from potluck.errors import UsageError
from potluck.protocol.codec import decode, encode

_REFUSES = "the model's chat template refuses these messages"
_CHILDREN = 2
_WRAPPING_BYTES = 64  # bytes of an answer around its text
_MOST_FILES = 1 << 16  # most files that the parent may have open


@dataclass(frozen=True, slots=True)
class TemplateLimits:
    """Limits of rendering a template once."""

    compute_s: int = 5  # templates take milliseconds
    wait_s: float = 30.0  # long enough for a busy machine
    more_bytes: int = 1 << 30  # memory beyond what this process has already
    text_bytes: int = 1 << 25


class BoundedRenderer:
    """Calls a function in child processes. Any thread may call, and waits while all children are busy."""

    def __init__(self, render: Callable[..., str], limits: TemplateLimits | None = None) -> None:
        """Store the function. Its arguments are what JSON has; the children don't see later changes of its state."""
        self._render = render
        self._limits = limits or TemplateLimits()
        self._idle: LifoQueue[_Child | None] = LifoQueue()  # None: one that isn't forked yet
        for _ in range(_CHILDREN):
            self._idle.put(None)

    def __call__(self, /, *given: object, **named: object) -> str:
        """Return what the function returns. Raises UsageError if it fails or needs too much."""
        try:
            request = encode((given, named))
        except UnicodeEncodeError as error:
            raise UsageError(f"{_REFUSES}: {error}") from None
        child, answer = self._idle.get(), None
        try:
            if child is None or child.has_ended():
                child = _Child(self._render, self._limits)
            answer = child.ask(request)
        finally:
            self._idle.put(None if answer is None else child)
        is_done, text = (
            (False, "it needs too much time or memory") if answer is None else decode(tuple[bool, str], answer)
        )
        if not is_done:
            raise UsageError(f"{_REFUSES}: {text}")
        return text


class _Child:
    """A child process that renders until nobody can ask it any more."""

    def __init__(self, render: Callable[..., str], limits: TemplateLimits) -> None:
        self._limits = limits
        self._connection, theirs = Pipe()
        pid = os.fork()
        if pid == 0:
            try:
                _serve(render, theirs, limits)
            finally:
                os._exit(0)
        theirs.close()
        self._end = weakref.finalize(self, _end, pid, self._connection)

    def has_ended(self) -> bool:
        """Return whether it has ended, as when memory was short. A child never sends anything unasked."""
        return self._connection.poll()

    def ask(self, request: bytes) -> bytes | None:
        """Return the child's answer; None if it needs too much, which ends it."""
        with suppress(OSError, EOFError):
            self._connection.send_bytes(request)
            if self._connection.poll(self._limits.wait_s):  # quotes and line ends take two bytes
                return self._connection.recv_bytes(_WRAPPING_BYTES + 2 * self._limits.text_bytes)
        self._end()
        return None


def _end(pid: int, connection: Connection) -> None:
    connection.close()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _serve(render: Callable[..., str], connection: Connection, limits: TemplateLimits) -> None:
    """Answer until the parent has closed its end. The kernel ends this process at the limit of time."""
    _let_go_of_the_parent(connection.fileno())
    with suppress(OSError, ValueError):  # only Linux tells how much there is
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + limits.more_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with suppress(EOFError, OSError, MemoryError):
        while True:
            request = connection.recv_bytes()
            used = resource.getrusage(resource.RUSAGE_SELF)
            most_s = int(used.ru_utime + used.ru_stime) + 1 + limits.compute_s
            resource.setrlimit(resource.RLIMIT_CPU, (most_s, resource.getrlimit(resource.RLIMIT_CPU)[1]))
            try:
                given, named = decode(tuple[list[Any], dict[str, Any]], request)
                answer = encode((True, render(*given, **named)))
            except MemoryError:
                return
            except Exception as error:  # templates may raise anything
                answer = encode((False, str(error).encode(errors="replace").decode()))
            connection.send_bytes(answer)


def _let_go_of_the_parent(kept: int) -> None:
    """Close the files of the parent but `kept`, or its callers would not see it go, and leave its signals to it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], _MOST_FILES)
    os.closerange(3, kept)
    os.closerange(kept + 1, most)
