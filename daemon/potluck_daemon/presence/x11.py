"""A connection to an X server with a thread of its own, for the probes that look at windows and idle time.

Xlib calls block, and a call to a hung X server (Xwayland does hang) blocks for ever. Then only the thread hangs.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from potluck_daemon.presence.probe import ProbeFailedError, ProbeUnavailableError, Surroundings

if TYPE_CHECKING:
    from Xlib.display import Display

T = TypeVar("T")
LOOK_TIMEOUT_S = 5.0


class XScreen(Generic[T]):
    """A screen that `look` is called with, in a thread, each time somebody asks."""

    def __init__(self, surroundings: Surroundings, look: Callable[[Display], T]) -> None:
        """Start the thread. Raises ProbeUnavailableError without an X11 display."""
        self._name = surroundings.environment.get("DISPLAY", "")
        if not self._name:
            raise ProbeUnavailableError("no X11 display")
        self._look = look
        self._display: Display | None = None
        self._wanted = threading.Semaphore(0)
        self._answer: Future[T] | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name="x11", daemon=True)  # it may hang for ever
        self._thread.start()

    async def look(self) -> T:
        """Return what `look` finds. Raises ProbeUnavailableError if the server is gone, ProbeFailedError on a hang."""
        self._answer = Future()
        self._wanted.release()
        try:
            async with asyncio.timeout(LOOK_TIMEOUT_S):
                return await asyncio.wrap_future(self._answer)
        except TimeoutError:
            raise ProbeFailedError("the X server does not answer") from None

    def close(self) -> None:
        self._is_closed = True
        self._wanted.release()

    def _work(self) -> None:
        while True:
            self._wanted.acquire()
            if self._is_closed:
                break
            answer = self._answer
            assert answer is not None
            try:
                found = self._once()
            except ProbeUnavailableError as error:
                _settle(answer, None, error)
            except Exception as error:  # the edge of this thread; Xlib raises many kinds
                _settle(answer, None, ProbeUnavailableError(f"no X11 display ({_sentence(error)})"))
                self._disconnect()
            else:
                _settle(answer, found, None)
        self._disconnect()

    def _once(self) -> T:
        if self._display is None:
            from Xlib.display import Display

            self._display = Display(self._name)
            self._display.set_error_handler(lambda *_: None)  # errors of requests without an answer have no caller
        return self._look(self._display)

    def _disconnect(self) -> None:
        display, self._display = self._display, None
        if display is not None:
            try:
                display.close()
            except Exception:  # the connection was broken already, and Xlib says so in many ways
                return


def _settle(answer: Future[Any], found: object, error: Exception | None) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(found)


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__
