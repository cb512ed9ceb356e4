"""A cap on bytes a second, shared fairly by everybody who sends.

Each sender gets a slice at a time and then queues behind the others, so a small answer waits for a slice of each large
one, not for the whole. Nothing is saved up beyond a tenth of a second: the link's owner wants no bursts.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

_SLICE_BYTES = 16_384
_BURST_S = 0.1


class Pacer:
    """A cap on bytes a second in one event loop. `bytes_s` may change at any time; 0: no cap."""

    def __init__(self, bytes_s: float = 0.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.bytes_s = bytes_s
        self._clock = clock
        self._free_at = 0.0  # when the link has carried all that was let through
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def passes(self, num_bytes: int) -> bool:
        """Return whether so many bytes may be sent at once, and count them; if not, `wait` for them."""
        if self.bytes_s <= 0:
            return True
        if self._waiting or self._wait_s() > 0:
            return False
        self._spend(num_bytes)
        return True

    async def wait(self, num_bytes: int) -> None:
        """Wait until so many bytes may be sent; without a cap return at once."""
        while num_bytes > 0:
            part = min(num_bytes, _SLICE_BYTES)
            if not self.passes(part):
                await self._turn()
                self._spend(part)
            num_bytes -= part

    async def _turn(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._wake_later()
        await turn

    def owe(self, num_bytes: int) -> float:
        """Count bytes that have already come; return for how many seconds no more should."""
        self._spend(num_bytes)
        return max(self._wait_s(), 0.0) if self.bytes_s > 0 else 0.0

    def _wait_s(self) -> float:
        return self._free_at - _BURST_S - self._clock()

    def _spend(self, num_bytes: int) -> None:
        if self.bytes_s > 0:
            self._free_at = max(self._free_at, self._clock()) + num_bytes / self.bytes_s

    def _wake_later(self) -> None:
        if self._timer is None and self._waiting:
            self._timer = asyncio.get_running_loop().call_later(max(self._wait_s(), 0.0), self._wake)

    def _wake(self) -> None:
        """Let the sender that waited longest go on; it spends before the next one is looked at."""
        self._timer = None
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        if self._waiting and (self.bytes_s <= 0 or self._wait_s() <= 0):
            self._waiting.popleft().set_result(None)
            asyncio.get_running_loop().call_soon(self._wake_later)
        else:
            self._wake_later()
