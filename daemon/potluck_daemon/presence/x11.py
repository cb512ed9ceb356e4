"""A connection to an X server with a thread of its own, for the probes that look at windows and idle time.

Xlib calls block, and a call to a hung X server (Xwayland does hang) blocks for ever. Then only the thread hangs.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

from potluck.sentences import sentence
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
        self._authority = surroundings.environment.get("XAUTHORITY", "")
        if not self._name:
            raise ProbeUnavailableError(sentence("no X11 display"))
        self._look = look
        self._display: Display | None = None
        self._wanted: queue.SimpleQueue[Future[T] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="x11", daemon=True).start()  # it may hang for ever

    async def look(self) -> T:
        """Return what `look` finds. Raises ProbeUnavailableError if the server is gone, ProbeFailedError on a hang."""
        answer: Future[T] = Future()
        self._wanted.put(answer)
        try:
            async with asyncio.timeout(LOOK_TIMEOUT_S):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            raise ProbeFailedError(sentence("the X server does not answer")) from None

    def close(self) -> None:
        self._wanted.put(None)

    def _work(self) -> None:
        while (answer := self._wanted.get()) is not None:
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(self._once())
            except ProbeUnavailableError as error:
                answer.set_exception(error)
            except Exception as error:  # the edge of this thread; Xlib raises many kinds
                said = " ".join(str(error).split())[:120] or type(error).__name__
                answer.set_exception(ProbeUnavailableError(sentence("no X11 display ({why})", why=said)))
                self._disconnect()
        self._disconnect()

    def _once(self) -> T:
        if self._display is None:
            from Xlib.display import Display

            if self._authority:  # Xlib looks nowhere else, and a daemon older than its desktop was not given it
                os.environ["XAUTHORITY"] = self._authority
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
