"""Closing a session ends at once whatever it does: a prefill, a wait for servers, and what understudies are fed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import torch
from helpers.block_server import BlockServer
from helpers.client_world import World, world
from helpers.misdeeds import freeze, refuse

from potluck.client.session import InferenceSession
from potluck.errors import UsageError
from potluck.protocol.codes import Code

LONG = torch.rand(1, 400, 64)


async def tasks_of(work: Awaitable[Any]) -> set[asyncio.Task[Any]]:
    """Return the tasks that were begun meanwhile and still run."""
    before = asyncio.all_tasks()
    await work
    return asyncio.all_tasks() - before


async def settled(there: World) -> None:
    """Wait until servers have noticed that nobody speaks to them any more, and until audits are over."""
    for server in there.servers:
        server.host.thaw()
        if server.steps:
            await server.wait_idle()
    await there.client.calls._closing.wait()
    await there.client.audits._background.wait()


def frozen(there: World) -> None:
    for server in there.servers:
        server.on_step = freeze


def full(there: World) -> None:
    for server in there.servers:
        server.on_step = refuse(Code.NO_MEMORY, 60.0)


@pytest.mark.parametrize(("busy_with", "tokens"), [(frozen, 400), (frozen, 1), (full, 400), (full, 1)])
def test_a_step_ends_with_its_session_and_nothing_is_left(busy_with: Callable[[World], None], tokens: int) -> None:
    """Of the task that ran the step, only the step ends: others may share the task."""

    async def leave(session: InferenceSession) -> None:
        asked = asyncio.Event()
        for server in there.servers:
            misdeed = server.on_step
            server.on_step = lambda server, request, misdeed=misdeed: (asked.set(), misdeed(server, request))

        async def step() -> None:
            with pytest.raises(UsageError, match="closed"):
                await session.step(LONG[:, :tokens], 0)
            await asyncio.sleep(0)

        stepping = asyncio.create_task(step())
        await asked.wait()
        async with asyncio.timeout(5):
            await session.close()
        await stepping
        await settled(there)

    with world("0:2", "2:4") as there:
        busy_with(there)
        session = there.client.new_session(500)
        assert not there.client.run(tasks_of(leave(session)))
        with pytest.raises(UsageError, match="closed"):
            there.client.run(session.step(LONG[:, :1], 0))


def test_an_understudy_ends_with_its_session() -> None:
    async def leave(session: InferenceSession) -> None:
        fed = asyncio.Event()

        def on_step(server: BlockServer, request: Any) -> None:
            if request.is_spare:
                fed.set()
                server.host.freeze()

        for server in there.servers:
            server.on_step = on_step
        await session.step(LONG, 0)
        await session.step(LONG[:, :1], 400)
        await fed.wait()
        async with asyncio.timeout(5):
            await session.close()
        await settled(there)

    with world("0:4", "0:4") as there:
        assert not there.client.run(tasks_of(leave(there.client.new_session(500))))
