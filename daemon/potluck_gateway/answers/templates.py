"""Renders a model's chat template in a child process with bounded time and memory.

Templates come with a checkpoint. Transformers' sandbox keeps them from files and code, but not from endless loops or
from texts of gigabytes, in the template or while it is compiled. The child is a fork that only renders, so it needs
nothing but Python objects, which other threads cannot have left locked. Forking a process with a model takes many times
as long as rendering, so the child stays for the next conversation.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from potluck.errors import UsageError
from potluck.protocol.codec import decode, encode

_REFUSES = "the model's chat template refuses these messages"
_WRAPPING_BYTES = 64  # of an answer around its text
_PIECE_BYTES = 1 << 16
_MOST_FILES = 1 << 16  # that the parent may have open


@dataclass(frozen=True, slots=True)
class TemplateLimits:
    compute_s: int = 5  # templates take milliseconds
    wait_s: float = 30.0  # for a busy machine
    more_bytes: int = 1 << 30  # beside the memory that this process has
    text_bytes: int = 1 << 25


class BoundedRenderer:
    """Calls a function in a child process, one call after another. Any thread may call."""

    def __init__(self, render: Callable[..., str], limits: TemplateLimits | None = None) -> None:
        """Store the function. Its arguments are what JSON has; the child doesn't see later changes of its state."""
        self._render = render
        self._limits = limits or TemplateLimits()
        self._child: _Child | None = None
        self._lock = threading.Lock()

    def __call__(self, *given: object) -> str:
        """Return what the function returns. Raises UsageError if it fails or needs too much."""
        with self._lock:
            if self._child is None or self._child.has_ended():
                self._child = _Child(self._render, self._limits)
            try:
                said = self._child.ask(encode(given))
            except UnicodeEncodeError as error:
                raise UsageError(f"{_REFUSES}: {error}") from None
            if said is None:
                self._child = None
        rendered = _Rendered(problem="it needs too much time or memory") if said is None else decode(_Rendered, said)
        if rendered.problem is not None:
            raise UsageError(f"{_REFUSES}: {rendered.problem}")
        return rendered.text


class _Rendered(Struct, frozen=True, omit_defaults=True):
    """What the child answers, on a line."""

    text: str = ""
    problem: str | None = None


class _Pipes(NamedTuple):
    """One end of the way to the child and one of the way back, as file descriptors."""

    reader: int
    writer: int


class _Child:
    """A child process that renders until nobody can ask it any more."""

    def __init__(self, render: Callable[..., str], limits: TemplateLimits) -> None:
        asked, answer = os.pipe()
        heard, ask = os.pipe()
        self._limits = limits
        self._pid = os.fork()
        if self._pid == 0:
            try:
                _serve(render, _Pipes(heard, answer), limits)
            finally:
                os._exit(0)
        os.close(answer)
        os.close(heard)
        self._pipes = _Pipes(asked, ask)
        self._end = weakref.finalize(self, _end, self._pid, self._pipes)

    def has_ended(self) -> bool:
        """Tell whether it ended while nobody asked it, as when memory was short."""
        has_ended = os.waitpid(self._pid, os.WNOHANG)[0] != 0
        if has_ended:
            self._end.detach()
            _close(self._pipes)
        return has_ended

    def ask(self, request: bytes) -> bytes | None:
        """Return the child's answer; None if it needs too much, which ends it."""
        said = None
        with suppress(BrokenPipeError):
            _write(self._pipes.writer, request)
            said = _read(self._pipes.reader, self._limits)
        if said is None:
            self._end()
        return said


def _close(pipes: _Pipes) -> None:
    for end in pipes:
        os.close(end)


def _end(pid: int, pipes: _Pipes) -> None:
    _close(pipes)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _write(writer: int, message: bytes) -> None:
    left = memoryview(message + b"\n")
    while left:
        left = left[os.write(writer, left) :]


def _read(reader: int, limits: TemplateLimits) -> bytes | None:
    """Return the child's next line; None if that is too late or too long, or the child has ended."""
    said = bytearray()
    deadline = time.monotonic() + limits.wait_s
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while not said.endswith(b"\n"):
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return None
        piece = os.read(reader, _PIECE_BYTES)
        said += piece
        if not piece or len(said) > _WRAPPING_BYTES + 2 * limits.text_bytes:  # quotes and line ends take two
            return None
    return bytes(said)


def _serve(render: Callable[..., str], pipes: _Pipes, limits: TemplateLimits) -> None:
    """Answer until the parent has closed its end. The kernel ends this process at the limit of time."""
    _let_go_of_the_parent(pipes)
    with suppress(OSError, ValueError):  # only Linux tells how much there is
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + limits.more_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with os.fdopen(pipes.reader, "rb") as asked:
        while request := asked.readline():
            used = resource.getrusage(resource.RUSAGE_SELF)
            most_s = int(used.ru_utime + used.ru_stime) + 1 + limits.compute_s
            resource.setrlimit(resource.RLIMIT_CPU, (most_s, resource.getrlimit(resource.RLIMIT_CPU)[1]))
            try:
                said = encode(_Rendered(render(*decode(list[Any], request))))
            except MemoryError:
                return
            except Exception as error:  # templates may raise anything
                said = encode(_Rendered(problem=str(error).encode(errors="replace").decode()))
            _write(pipes.writer, said)


def _let_go_of_the_parent(pipes: _Pipes) -> None:
    """Close what the parent has open, or its callers would not see it go, and leave its signals to it."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    low, high = sorted(pipes)
    most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], _MOST_FILES)
    for first, end in ((3, low), (low + 1, high), (high + 1, most)):
        os.closerange(first, end)
