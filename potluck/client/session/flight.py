"""Passes windows of one text's tokens to its session before the windows before them are answered.

    the caller's thread   sends windows of tokens, one after the other, and reads the last block's outputs as they come
    a token is wrong      the right one leaves as a window that begins at its position; what was sent from there is void
    the session           feeds the windows to its servers, which answer void ones without computing them

Each output carries the turn of its window: a wrong token begins the next turn, and outputs of older turns don't count.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Window(NamedTuple):
    """Drafted tokens that leave together.

    Attributes:
        position: of the first one.
        hidden: [1, tokens, hidden_size].
        settled: how many tokens of the text are final.
        turn: grows with each wrong token.
    """

    position: int
    hidden: Tensor
    settled: int
    turn: int

    @property
    def end(self) -> int:
        return self.position + self.hidden.shape[1]


class Outputs(NamedTuple):
    """The last block's outputs for some tokens.

    Attributes:
        position: of the first token.
        hidden: [1, tokens, hidden_size].
        turn: that of the latest window that had left.
        compute_s: what all servers together computed for the window of these tokens.
    """

    position: int
    hidden: Tensor
    turn: int
    compute_s: float


class Flight:
    """The windows of one text on their way. Belongs to the client's event loop.

    Attributes:
        waiting: windows that have not left.
        outputs: those that the caller has not read.
        most_windows: how many may be at the servers at once; any thread may read it.
        slowest_s: how long the slowest server computes a window; any thread may read it.
        turn: that of the latest window that has left.
        is_over: no more windows come, and the session keeps `end` tokens.
        error: the error that ended the flight.
    """

    def __init__(self, post: Callable[[Callable[[], object]], None]) -> None:
        """`post` calls a function in the client's event loop soon."""
        self.waiting: deque[Window] = deque()
        self.outputs: deque[Outputs] = deque()
        self.most_windows = 2  # a guess before the first outputs tell
        self.slowest_s = 0.0
        self.turn = 0
        self.is_over = False
        self.end = 0
        self.error: BaseException | None = None
        self._post = post
        self._wakes_session = asyncio.Event()
        self._wakes_caller = asyncio.Event()

    def send(self, window: Window) -> None:
        """Let a window leave. Any thread may call this."""
        self._post(lambda: self._put(window))

    def finish(self, end: int) -> None:
        """Take back all but the first `end` tokens, and end. Any thread may call this."""
        self._post(lambda: self._finish(end))

    def wake(self) -> None:
        """Let `receive` return. Any thread may call this."""
        self._post(self._wakes_caller.set)

    async def receive(self, timeout_s: float | None = None) -> list[Outputs]:
        """Wait for outputs, for `wake` or for the time; return the outputs. Raises the error that ended the flight."""
        if not self.outputs and self.error is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._wakes_caller.wait()
        self._wakes_caller.clear()
        if not self.outputs and self.error is not None:
            raise self.error
        received = list(self.outputs)
        self.outputs.clear()
        return received

    async def wait(self) -> None:
        """Wait until a window waits, or the flight is over."""
        while not self.waiting and not self.is_over:
            self._wakes_session.clear()
            await self._wakes_session.wait()

    def deliver(self, outputs: Outputs) -> None:
        self.outputs.append(outputs)
        self._wakes_caller.set()

    def fail(self, error: BaseException) -> None:
        """Tell the caller that the session takes no more windows, and why."""
        self.error = error
        self._wakes_caller.set()

    def _put(self, window: Window) -> None:
        while self.waiting and self.waiting[-1].position >= window.position:
            self.waiting.pop()
        self.waiting.append(window)
        self._wakes_session.set()

    def _finish(self, end: int) -> None:
        self.waiting.clear()
        self.end, self.is_over = end, True
        self._wakes_session.set()
