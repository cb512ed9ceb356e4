"""Renders a model's chat template in a child process with bounded time and memory.

Templates come with a checkpoint. Transformers' sandbox keeps them from files and code, but not from endless loops or
from texts of gigabytes, in the template or while it is compiled. The child is a fork that only renders, so it needs
nothing but Python objects, which other threads cannot have left locked.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from potluck.errors import UsageError

_REFUSES = "the model's chat template refuses these messages"
_DONE, _FAILED = b"+", b"-"
_PIECE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class TemplateLimits:
    compute_s: int = 5  # templates take milliseconds
    wait_s: float = 30.0  # for a busy machine
    more_bytes: int = 1 << 30  # beside the memory that this process has
    text_bytes: int = 1 << 25


def render_bounded(render: Callable[[], str], limits: TemplateLimits | None = None) -> str:
    """Return what `render` returns in a child process. Raises UsageError if it fails or needs too much."""
    limits = limits or TemplateLimits()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _render(render, writer, limits)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        said = _read(reader, limits)
    finally:
        os.close(reader)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    text = said[1:].decode(errors="replace")
    if said[:1] == _DONE:
        return text
    why = text if said[:1] == _FAILED else "it needs too much time or memory"
    raise UsageError(f"{_REFUSES}: {why}")


def _render(render: Callable[[], str], writer: int, limits: TemplateLimits) -> None:
    """Write the text to the parent, or why there is none. The kernel ends this process at the limit of time."""
    resource.setrlimit(resource.RLIMIT_CPU, (limits.compute_s, limits.compute_s + 1))
    with suppress(OSError, ValueError):  # only Linux tells how much there is
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + limits.more_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        said = _DONE + render().encode()
    except MemoryError:
        return
    except Exception as error:  # templates may raise anything
        said = _FAILED + str(error).encode(errors="replace")
    while said:
        said = said[os.write(writer, said) :]


def _read(reader: int, limits: TemplateLimits) -> bytes:
    """Return what the child says until it ends; nothing if that is too late or too much."""
    said = bytearray()
    deadline = time.monotonic() + limits.wait_s
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        piece = os.read(reader, _PIECE_BYTES)
        if not piece:
            return bytes(said)
        said += piece
        if len(said) > limits.text_bytes:
            break
    return b""
