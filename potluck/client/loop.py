"""Runs an event loop in a background thread and lets ordinary code call into it.

Users call models from their own threads; the network lives in this one. A call is handed over with one lock instead of
two futures, because that happens for each generated token. A caller that may leave, such as a program at the gateway,
has a `CancelScope`: the calls that its threads make end with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from potluck.errors import NetworkError, UsageError
from potluck.tasks import cancel_and_wait


class CancelScope:
    """Cancels the blocking calls of threads that work for one caller. Any thread may call `cancel`."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], object]] = []

    def cancel(self) -> None:
        """End the calls that run, and those that begin later."""
        with self._lock:
            self.is_cancelled = True
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let the calls of this thread within the context belong to the scope."""
        token = current_scope.set(self)
        try:
            yield
        finally:
            current_scope.reset(token)


current_scope: ContextVar[CancelScope | None] = ContextVar("cancel_scope", default=None)
"""The scope to which this thread's calls belong, if any."""


@contextmanager
def on_cancel(callback: Callable[[], object]) -> Iterator[None]:
    """Call `callback`, in any thread, when this thread's scope is cancelled before the context ends."""
    scope = current_scope.get()
    if scope is None:
        yield
        return
    with scope._lock:
        scope._callbacks.append(callback)
        is_cancelled = scope.is_cancelled
    if is_cancelled:
        callback()
    token = current_scope.set(None)  # `callback` also ends the calls within the context
    try:
        yield
    finally:
        current_scope.reset(token)
        with scope._lock:
            scope._callbacks.remove(callback)


T = TypeVar("T")

_JOIN_TIMEOUT_S = 5.0
_SIGNALS_S = 0.5  # a Ctrl-C just before a lock starts waiting does not wake it, so wake up this often


class LoopThread:
    """A thread that runs an event loop; `start` and `stop` are idempotent."""

    def __init__(self, name: str = "potluck-client") -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._calls: set[_Call[Any]] = set()
        self._pid = os.getpid()

    @property
    def is_elsewhere(self) -> bool:
        """Tell whether this process is a fork, which has no such thread."""
        return os.getpid() != self._pid

    @property
    def is_current(self) -> bool:
        """Tell whether the caller runs in the loop's own thread."""
        return threading.current_thread() is self._thread

    def start(self) -> None:
        """Start the thread and wait until its loop runs."""
        if self._thread is not None:
            return
        ready = threading.Event()
        # Daemon: the interpreter joins other threads before it runs exit handlers, and `stop` is called from one.
        self._thread = threading.Thread(target=self._main, args=(ready,), name=self._name, daemon=True)
        self._thread.start()
        ready.wait()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` in the loop and wait for its result. Ctrl-C cancels it, and so does the thread's `CancelScope`.

        Raises:
            NetworkError: the loop is stopped.
            RuntimeError: called from the loop's own thread, which would wait for itself.
            UsageError: called in a fork.
            BrokenPipeError: the thread's scope was cancelled.
        """
        loop = self._loop
        if self.is_elsewhere or loop is None or self.is_current:
            work.close()
            raise self._refusal()
        call = _Call(work)
        self._calls.add(call)
        try:
            loop.call_soon_threadsafe(call.begin, loop)
            with on_cancel(lambda: self.post(lambda: call.cancel(BrokenPipeError("the caller is gone")))):
                return call.wait(self.post)
        finally:
            self._calls.discard(call)

    def post(self, function: Callable[[], object]) -> None:
        """Call `function` in the loop soon; do nothing if the loop is stopped."""
        if self._loop is not None and not self.is_elsewhere:
            self._loop.call_soon_threadsafe(function)

    async def end_calls(self) -> None:
        """Cancel the calls of all threads but the caller's own, and wait until they have ended."""
        tasks = [call.task for call in list(self._calls)]
        await cancel_and_wait(*(task for task in tasks if task is not asyncio.current_task()))

    def stop(self) -> None:
        """Cancel what still runs, stop the loop and join the thread."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or self.is_elsewhere:
            return
        self._loop = None
        loop.call_soon_threadsafe(loop.stop)
        if not self.is_current:  # a finaliser may run anywhere
            thread.join(_JOIN_TIMEOUT_S)

    def _main(self, ready: threading.Event) -> None:
        with asyncio.Runner(loop_factory=_new_loop) as runner:  # cancels leftover tasks on the way out
            self._loop = runner.get_loop()
            self._loop.call_soon(ready.set)
            self._loop.run_forever()
        for call in list(self._calls):
            call.abandon()

    def _refusal(self) -> Exception:
        if self.is_elsewhere:
            return UsageError(
                "this model was loaded before this process was forked",
                hint="load it in the child process, or start the process with spawn",
            )
        if self._loop is None:
            return NetworkError("this model is closed", hint="load it again with from_pretrained")
        return RuntimeError("a blocking call from within the client's own event loop")


async def side_by_side(works: Iterable[Coroutine[Any, Any, T]], *, max_parallel: int | None = None) -> list[T]:
    """Run all works and return their results in order; the first error cancels the rest and is raised."""
    turns = asyncio.Semaphore(max_parallel) if max_parallel else contextlib.nullcontext()

    async def in_turn(work: Coroutine[Any, Any, T]) -> T:
        async with turns:
            return await work

    tasks = [asyncio.ensure_future(in_turn(work)) for work in works]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        await cancel_and_wait(*tasks)
        raise


class _Call(Generic[T]):
    """One call that was handed to the loop, and its result."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.task: asyncio.Task[T] | None = None
        self._work = work
        self._returned = threading.Lock()
        self._returned.acquire()
        self._why: Exception | None = None  # why it was cancelled

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self.task = loop.create_task(self._work)
        self.task.add_done_callback(self._end)
        if self._why is not None:
            self.task.cancel()

    def cancel(self, why: Exception | None = None) -> None:
        self._why = why
        if self.task is not None:
            self.task.cancel()

    def abandon(self) -> None:
        """Wake the thread that waits if the loop ended before it began this call."""
        if self.task is None:
            self._work.close()
            self._returned.release()

    def wait(self, post: Callable[[Callable[[], object]], object]) -> T:
        try:
            while not self._returned.acquire(timeout=_SIGNALS_S):
                pass
        except BaseException:  # Ctrl-C
            post(self.cancel)
            self._returned.acquire(timeout=_JOIN_TIMEOUT_S)
            raise
        if self.task is None or self.task.cancelled():
            raise self._why or NetworkError("the model was closed while it worked")
        return self.task.result()

    def _end(self, task: asyncio.Task[T]) -> None:
        if not task.cancelled():
            task.exception()  # marks the error as retrieved, even if no thread waits any more
        self._returned.release()


def _new_loop() -> asyncio.AbstractEventLoop:
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()
