"""Ends what threads do for a caller when the caller leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Leaving:
    """Ends what threads do for a caller when it leaves. Any thread may call `leave`.

    Blocking calls within `working` belong to the caller (`ends_with_caller`), those that begin later, too.
    """

    def __init__(self) -> None:
        self.has_left = False
        self._lock = threading.Lock()
        self._ends: list[Callable[[], object]] = []

    def leave(self) -> None:
        with self._lock:
            self.has_left = True
            ends = list(self._ends)
        for end in ends:
            end()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Work for the caller in this thread, for as long as the block runs."""
        token = working_for.set(self)
        try:
            yield
        finally:
            working_for.reset(token)


working_for: ContextVar[Leaving | None] = ContextVar("leaving", default=None)
"""The caller for whom this thread works, if there is one that may leave."""


@contextmanager
def ends_with_caller(end: Callable[[], object]) -> Iterator[None]:
    """Call `end`, in any thread, when the caller for whom this thread works leaves before the block has ended."""
    leaving = working_for.get()
    if leaving is None:
        yield
        return
    with leaving._lock:
        leaving._ends.append(end)
        has_left = leaving.has_left
    if has_left:
        end()
    token = working_for.set(None)  # `end` also ends the calls within the block
    try:
        yield
    finally:
        working_for.reset(token)
        with leaving._lock:
            leaving._ends.remove(end)
