"""Starts, restarts and ends asyncio tasks that work beside their creator.

The event loop holds only weak references to its tasks, so a task that nobody awaits has to be kept somewhere; and an
exception that ends it has to be logged, because nobody else would learn of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from potluck.errors import PotluckError
from potluck.sentences import Sentence, verbatim

log = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
_STABLE_S = 60.0  # a loop that ran so long failed for a new reason, so the first pause applies again
_TICK_S, _LATE_S = 1.0, 5.0  # see `sleep_running`
_failing: dict[object, Sentence] = {}  # what `failing` returns, by the run of the loop


def start_task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Run `work` in the background of the running event loop. Keep the task. An exception that ends it is logged."""
    task = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(_log_failure)
    return task


async def keep_running(what: str, loop: Callable[[], Awaitable[None]]) -> None:
    """Run `loop` until it returns. When an exception ends it, run it again after a growing pause.

    Each new error is logged once. From the second failure in a row `failing` tells of it, until the loop runs again.

    Args:
        what: what the loop does, for people: "counting what the engine uses".
    """
    run, pause_s, logged = object(), _FIRST_PAUSE_S, ""

    def recover() -> None:
        nonlocal pause_s
        pause_s = _FIRST_PAUSE_S
        _failing.pop(run, None)

    try:
        while True:
            recovering = asyncio.get_running_loop().call_later(_STABLE_S, recover)
            try:
                await loop()
                return
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
                if why != logged:
                    is_explained = isinstance(error, PotluckError)
                    log.error("%s failed, and begins again: %s", what, error, exc_info=not is_explained)
                    logged = why
            finally:
                recovering.cancel()
            if pause_s > _FIRST_PAUSE_S:
                _failing[run] = verbatim(f"{what} ({why})")
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    finally:
        _failing.pop(run, None)


def failing() -> tuple[Sentence, ...]:
    """Return what this process should do but fails at again and again, for its status."""
    return tuple(dict.fromkeys(_failing.values()))


async def sleep_running(seconds: float) -> None:
    """Sleep until this process has run for `seconds`.

    It counts ticks, not time, so being frozen costs at most one. A tick that comes late does not count, because what is
    waited for may have come meanwhile without being read.
    """
    loop = asyncio.get_running_loop()
    while seconds > 0:
        began, tick_s = loop.time(), min(seconds, _TICK_S)
        await asyncio.sleep(tick_s)
        if loop.time() - began < _LATE_S:
            seconds -= tick_s


async def within(seconds: float, work: Awaitable[T]) -> T | None:
    """Return what `work` returns; cancel it and return None if it takes longer."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            return await work
    return None


async def cancel_and_wait(*tasks: asyncio.Future[Any] | None) -> None:
    """Cancel tasks and wait until all of them have ended; their results and errors are dropped, None is skipped."""
    present = [task for task in tasks if task is not None]
    for task in present:
        task.cancel()
    await asyncio.gather(*present, return_exceptions=True)


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end, also if the caller is cancelled meanwhile; that is raised afterwards."""
    task, cancelled = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        _log_failure(task)
        raise cancelled
    return task.result()


async def run_until_first_ends(*works: Coroutine[Any, Any, Any], on_end: Callable[[], None] = lambda: None) -> Any:
    """Run all until one ends, cancel the others, and return its result. Raises the error of any that ended.

    Args:
        on_end: called before the others are cancelled, which may take them a while.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        results = [task.result() for task in tasks if task in done]
        return results[0]
    finally:
        on_end()
        await cancel_and_wait(*tasks)


def in_thread(work: Callable[[T], object]) -> Callable[[T], None]:
    """Return a function that has `work` done in a thread of the event loop's, without waiting; an error is logged."""

    def start(argument: T) -> None:
        asyncio.get_running_loop().run_in_executor(None, work, argument).add_done_callback(_log_failure)

    return start


async def in_own_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns, which may hang for ever: neither the loop nor the process waits for it at its end."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # nobody can cancel it any more, so the thread may always set it

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # raised again by the caller, whatever it is
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(done)


class BackgroundTasks:
    """Tasks that nobody awaits while they run; each is forgotten when it ends."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run `work` in the background of the running event loop. An exception that ends it is logged."""
        task = start_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self, timeout_s: float | None = None) -> None:
        """Wait until all tasks but the caller's own have ended, at most `timeout_s`."""
        others = self._tasks - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=timeout_s)

    async def cancel(self) -> None:
        """Cancel all tasks but the caller's own and wait until they have ended."""
        await cancel_and_wait(*(self._tasks - {asyncio.current_task()}))


def _log_failure(task: asyncio.Future[Any]) -> None:
    error = None if task.cancelled() else task.exception()
    if isinstance(error, PotluckError):
        log.warning("work in the background failed: %s", error.message)
    elif error is not None:
        log.error("work in the background failed", exc_info=error)
