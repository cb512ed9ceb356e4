"""Lets Ctrl-C end a command while libraries are imported.

An interrupted import leaves half a module behind, over which torch and transformers recurse without end or wait for
ever. Until there is something to close, the process can simply end: p2pd ends with it, and the next node removes what
it left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

EXIT_INTERRUPTED = 130


@contextlib.contextmanager
def ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process at once inside the block, without KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread has signal handlers
        yield
        return
    before = signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"\n")
    os._exit(EXIT_INTERRUPTED)
