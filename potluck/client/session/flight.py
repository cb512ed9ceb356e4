"""Tokens of one text that leave before it is known whether the ones before them are right.

    the caller's thread   sends windows of tokens, one after the other, and takes outputs of the last block as they come
    a token is wrong      the right one leaves as a window that begins at its position; what was sent from there is void
    the session           feeds the windows to its servers; void ones are answered without being computed

Outputs have the turn in which they were asked for: a wrong token begins the next turn, and older outputs count no more.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Window(NamedTuple):
    """Tokens that leave together.

    Attributes:
        position: of the first one.
        hidden: [1, tokens, hidden_size].
        settled: how many tokens of the text no later window takes back.
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
    """What the last block made of tokens.

    Attributes:
        position: of the first token.
        hidden: [1, tokens, hidden_size].
        turn: that of the latest window that had left.
        compute_s: of the servers together for the window that these tokens belong to.
    """

    position: int
    hidden: Tensor
    turn: int
    compute_s: float


class Flight:
    """The windows of one text on their way. Belongs to the client's event loop.

    Attributes:
        waiting: windows that have not left.
        outputs: that nobody has taken.
        most_windows: how many may be at the servers at once. Read from any thread, as the next one is.
        slowest_s: what the slowest server computes for a window.
        turn: of the latest window that has left.
        is_over: no more windows come, and the session keeps `end` tokens.
        error: that ended it.
    """

    def __init__(self, post: Callable[[Callable[[], object]], None]) -> None:
        """`post` calls a function in the client's event loop soon."""
        self.waiting: deque[Window] = deque()
        self.outputs: deque[Outputs] = deque()
        self.most_windows = 2  # until the first outputs tell
        self.slowest_s = 0.0
        self.turn = 0
        self.is_over = False
        self.end = 0
        self.error: BaseException | None = None
        self._post = post
        self._news = asyncio.Event()  # for the session
        self._heard = asyncio.Event()  # for the caller

    def send(self, window: Window) -> None:
        """Let a window leave. From any thread."""
        self._post(lambda: self._put(window))

    def finish(self, end: int) -> None:
        """Take back all but the first `end` tokens, and end. From any thread."""
        self._post(lambda: self._finish(end))

    def wake(self) -> None:
        """Let `heard` return. From any thread."""
        self._post(self._heard.set)

    async def heard(self, timeout_s: float | None = None) -> list[Outputs]:
        """Wait for outputs, for `wake`, or so long; return the outputs. Raises what ended the flight."""
        if not self.outputs and self.error is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._heard.wait()
        self._heard.clear()
        if not self.outputs and self.error is not None:
            raise self.error
        taken = list(self.outputs)
        self.outputs.clear()
        return taken

    async def news(self) -> None:
        """Wait until a window waits, or the flight is over."""
        while not self.waiting and not self.is_over:
            self._news.clear()
            await self._news.wait()

    def deliver(self, outputs: Outputs) -> None:
        self.outputs.append(outputs)
        self._heard.set()

    def fail(self, error: BaseException) -> None:
        """Tell the caller that the session takes no more windows, and why."""
        self.error = error
        self._heard.set()

    def _put(self, window: Window) -> None:
        while self.waiting and self.waiting[-1].position >= window.position:
            self.waiting.pop()
        self.waiting.append(window)
        self._news.set()

    def _finish(self, end: int) -> None:
        self.waiting.clear()
        self.end, self.is_over = end, True
        self._news.set()
