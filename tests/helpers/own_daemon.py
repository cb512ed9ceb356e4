"""A real daemon in the test's own process, asked over its real socket."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from potluck_control.api import schema
from potluck_control.api.client import ControlClient, DaemonAwayError
from potluck_control.api.method import Method
from potluck_control.places import Places
from potluck_daemon.daemon import Daemon

P = TypeVar("P")
R = TypeVar("R")
Ask = Callable[..., Awaitable[Any]]


@asynccontextmanager
async def own_daemon(places: Places, environment: Mapping[str, str]) -> AsyncIterator[Daemon]:
    """It answers when the body begins and has ended after it."""
    daemon = Daemon(places, group=None, environment=environment)
    running = asyncio.create_task(daemon.run())
    try:
        async with asyncio.timeout(60):
            while not await asyncio.to_thread(_answers, places.socket):
                assert not running.done(), running.result()
        yield daemon
    finally:
        daemon.end()
        await running


def asking(daemon: Daemon) -> Ask:
    """Call a method as a client does: `await ask(settings.GET)`."""

    async def ask(method: Method[P, R], params: P | None = None) -> R:
        return await asyncio.to_thread(ControlClient(daemon.places.socket).call, method, params)

    return ask


async def ask_until(ask: Ask, method: Method[Any, R], wanted: Callable[[R], object]) -> R:
    """Ask again until the answer is as wanted; what it waits for happens in the daemon or in a process of its own."""
    async with asyncio.timeout(60):
        while not wanted(answer := await ask(method)):  # noqa: ASYNC110 (what it waits for may be another process)
            await asyncio.sleep(0.01)
    return answer


def _answers(socket: Path) -> bool:
    try:
        ControlClient(socket).call(schema.HELLO)
    except DaemonAwayError:
        return False
    return True
