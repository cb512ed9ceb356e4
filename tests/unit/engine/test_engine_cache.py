"""The count of KV cache: growing, waiting, giving back."""

from __future__ import annotations

import asyncio

import pytest
from potluck_daemon.engine.cache import CacheBudget

from potluck.protocol.codes import Code, RemoteError


def budget(tokens: int = 10) -> CacheBudget:
    return CacheBudget(cache_tokens=tokens, num_blocks=2)


async def test_lease_grows_and_shrinks_with_the_session():
    total = budget()
    lease = total.lease()
    await lease.resize(12, timeout_s=0)
    assert (total.free, total.free_tokens) == (8, 4)
    await lease.resize(4, timeout_s=0)
    assert total.free == 16
    lease.release()
    lease.release()
    assert total.free == total.capacity == 20


async def test_no_room_and_no_patience_is_refused_at_once():
    total = budget()
    await total.lease().resize(20, timeout_s=0)
    with pytest.raises(RemoteError) as refused:
        await total.lease().resize(1, timeout_s=0)
    assert refused.value.code is Code.NO_MEMORY
    assert total.free == 0


async def test_more_than_there_is_at_all_is_refused_without_waiting():
    with pytest.raises(RemoteError):
        await budget().lease().resize(21, timeout_s=1e6)


async def test_waiter_is_served_when_another_session_ends():
    total = budget()
    holder, waiter = total.lease(), total.lease()
    await holder.resize(15, timeout_s=0)
    task = asyncio.create_task(waiter.resize(10, timeout_s=60))
    await asyncio.sleep(0)
    assert waiter.held == 0
    holder.release()
    await task
    assert waiter.held == 10
    assert total.free == 10


async def test_large_waiter_does_not_block_a_small_request_that_fits():
    total = budget()
    holder = total.lease()
    await holder.resize(15, timeout_s=0)
    large = asyncio.create_task(total.lease().resize(10, timeout_s=60))
    await asyncio.sleep(0)
    await total.lease().resize(3, timeout_s=0)
    large.cancel()
    await asyncio.gather(large, return_exceptions=True)
    assert total.free == 2


async def test_impatient_and_cancelled_waiters_leave_nothing_behind():
    total = budget()
    holder = total.lease()
    await holder.resize(15, timeout_s=0)
    with pytest.raises(RemoteError) as refused:
        await total.lease().resize(10, timeout_s=0.001)
    assert refused.value.code is Code.NO_MEMORY
    waiting = asyncio.create_task(total.lease().resize(10, timeout_s=60))
    await asyncio.sleep(0)
    holder.release()  # grants the waiter in this turn of the loop ...
    waiting.cancel()  # ... and cancels it before it runs
    await asyncio.gather(waiting, return_exceptions=True)
    assert total.free == total.capacity
