"""Lets Ctrl-C end a command at once while there is nothing to close, and in order while it runs.

    `potluck_cli.entry`, imports, reading the command line: ends at once | `run`: KeyboardInterrupt | after it: at once

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
    is_main = threading.current_thread() is threading.main_thread()  # which alone has signal handlers
    if not is_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as where a script runs it with `&`
        yield
        return
    before = signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def end_in_order() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from now on, if it would end the process at once."""
    _replace(signal.SIG_DFL, signal.default_int_handler)


def end_at_once() -> None:
    """Let Ctrl-C end the process at once from now on, if it would raise KeyboardInterrupt."""
    _replace(signal.default_int_handler, signal.SIG_DFL)


def _replace(one: object, other: signal._HANDLER) -> None:
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is one:
        signal.signal(signal.SIGINT, other)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"\n")
    os._exit(EXIT_INTERRUPTED)
