"""Ends asyncio tasks, keeps those that run in the background, and ends work in threads whose caller has left.

The event loop holds only weak references to its tasks, so a task that nobody awaits has to be kept somewhere.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

_log = logging.getLogger(__name__)

T = TypeVar("T")


async def cancel_and_wait(*tasks: asyncio.Future[Any] | None) -> None:
    """Cancel tasks and wait until all of them have ended; their results and errors are dropped, None is skipped."""
    present = [task for task in tasks if task is not None]
    for task in present:
        task.cancel()
    await asyncio.gather(*present, return_exceptions=True)


def in_thread(work: Callable[[T], object]) -> Callable[[T], None]:
    """Return a function that has `work` done in a thread of the event loop's, without waiting; an error is logged."""

    def start(argument: T) -> None:
        asyncio.get_running_loop().run_in_executor(None, work, argument).add_done_callback(_report)

    return start


class BackgroundTasks:
    """Tasks that nobody awaits while they run. Each is forgotten when it ends, and its error is logged."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `work` in the background of the running event loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_report)
        return task

    async def wait(self, timeout_s: float | None = None) -> None:
        """Wait until all tasks but the caller's own have ended, at most `timeout_s`."""
        others = self._tasks - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=timeout_s)

    async def cancel(self) -> None:
        """Cancel all tasks but the caller's own and wait until they have ended."""
        await cancel_and_wait(*(self._tasks - {asyncio.current_task()}))


def _report(done: asyncio.Future[Any]) -> None:
    """Log the error of work that nobody awaits."""
    if not done.cancelled() and (error := done.exception()) is not None:
        _log.error("work in the background failed", exc_info=error)


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
        token = _leaving.set(self)
        try:
            yield
        finally:
            _leaving.reset(token)


_leaving: ContextVar[Leaving | None] = ContextVar("leaving", default=None)


@contextmanager
def ends_with_caller(end: Callable[[], object]) -> Iterator[None]:
    """Call `end`, in any thread, when the caller for whom this thread works leaves before the block has ended."""
    leaving = _leaving.get()
    if leaving is None:
        yield
        return
    with leaving._lock:
        leaving._ends.append(end)
        has_left = leaving.has_left
    if has_left:
        end()
    token = _leaving.set(None)  # `end` also ends the calls within the block
    try:
        yield
    finally:
        _leaving.reset(token)
        with leaving._lock:
            leaving._ends.remove(end)
