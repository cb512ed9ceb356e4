"""Ends asyncio tasks, and keeps those that run in the background.

The event loop holds only weak references to its tasks, so a task that nobody awaits has to be kept somewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def cancel_and_wait(*tasks: asyncio.Future[Any] | None) -> None:
    """Cancel tasks and wait until all of them have ended; their results and errors are dropped, None is skipped."""
    present = [task for task in tasks if task is not None]
    for task in present:
        task.cancel()
    await asyncio.gather(*present, return_exceptions=True)


def in_thread(work: Callable[[T], object]) -> Callable[[T], None]:
    """Return a function that has `work` done in a thread of the event loop's, without waiting for its end."""

    def start(argument: T) -> None:
        asyncio.get_running_loop().run_in_executor(None, work, argument)

    return start


class BackgroundTasks:
    """Tasks that nobody awaits while they run; each is forgotten when it ends."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Run `work` in the background of the running event loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait(self, timeout_s: float | None = None) -> None:
        """Wait until all tasks but the caller's own have ended, at most `timeout_s`."""
        others = self._tasks - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=timeout_s)

    async def cancel(self) -> None:
        """Cancel all tasks but the caller's own and wait until they have ended."""
        await cancel_and_wait(*(self._tasks - {asyncio.current_task()}))
