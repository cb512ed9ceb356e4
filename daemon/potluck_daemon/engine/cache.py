"""How much KV cache there is, and who holds how much of it. Counts only; the tensors belong to the sessions.

The unit is the token-block: one token of one row in one block. Sessions take what they use as they grow, so
`max_length` reserves nothing. A large waiter never blocks a small request that fits.
"""

from __future__ import annotations

import asyncio

from potluck.protocol.codes import Code, RemoteError


class CacheBudget:
    """Used from the asyncio thread only."""

    def __init__(self, *, cache_tokens: int, num_blocks: int) -> None:
        self.capacity = cache_tokens * num_blocks
        self.used = 0
        self._num_blocks = num_blocks
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    @property
    def free(self) -> int:
        """Token-blocks that nobody holds."""
        return self.capacity - self.used

    @property
    def free_tokens(self) -> int:
        """Tokens through the whole span that still fit."""
        return self.free // self._num_blocks

    def lease(self) -> Lease:
        return Lease(self)

    async def _take(self, amount: int, timeout_s: float) -> None:
        if amount <= self.free:
            self.used += amount
            return
        if amount > self.capacity or timeout_s <= 0:
            raise RemoteError(Code.NO_MEMORY, f"the cache has room for {self.free_tokens} more tokens")
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (amount, granted)
        self._waiters.append(entry)
        try:
            async with asyncio.timeout(timeout_s):
                await granted
        except TimeoutError:
            self._withdraw(entry)
            raise RemoteError(Code.NO_MEMORY, f"no room in the cache within {timeout_s:g} s") from None
        except asyncio.CancelledError:
            self._withdraw(entry)
            raise

    def _withdraw(self, entry: tuple[int, asyncio.Future[None]]) -> None:
        if entry in self._waiters:
            self._waiters.remove(entry)
        elif entry[1].done() and not entry[1].cancelled():  # granted in the same turn of the loop
            self._give(entry[0])

    def _give(self, amount: int) -> None:
        self.used -= amount
        for entry in list(self._waiters):
            if entry[0] <= self.free and not entry[1].done():
                self._waiters.remove(entry)
                self.used += entry[0]
                entry[1].set_result(None)


class Lease:
    """What one session holds."""

    def __init__(self, budget: CacheBudget) -> None:
        self._budget = budget
        self.held = 0

    async def resize(self, amount: int, *, timeout_s: float) -> None:
        """Hold exactly `amount` token-blocks, waiting up to `timeout_s` for more.

        Raises:
            RemoteError: NO_MEMORY; what was held is still held.
        """
        if amount > self.held:
            await self._budget._take(amount - self.held, timeout_s)
            self.held = amount
        elif amount < self.held:
            difference, self.held = self.held - amount, amount
            self._budget._give(difference)

    def release(self) -> None:
        """Give everything back. Idempotent."""
        amount, self.held = self.held, 0
        if amount:
            self._budget._give(amount)
