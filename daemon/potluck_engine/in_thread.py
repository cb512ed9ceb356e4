"""Runs blocking work of an engine in threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")

LARGE_BYTES = 256 * 1024
"""Half a millisecond of the event loop, which other sessions may lose to one message."""


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread that cannot keep the process alive: a download may take hours, leaving may not."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(outcome: Callable[[], None]) -> None:
        if not future.done():
            outcome()

    def run() -> None:
        try:
            outcome = partial(future.set_result, work())
        except BaseException as error:  # the caller gets every error
            outcome = partial(future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the engine left meanwhile
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name="load", daemon=True).start()
    return await future


async def in_thread_if_large(num_bytes: int, work: Callable[[], T]) -> T:
    """Run `work`, in a helper thread if it has many bytes to go through."""
    return await asyncio.to_thread(work) if num_bytes > LARGE_BYTES else work()
