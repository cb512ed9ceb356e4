import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from helpers.engine_peers import Server, load, serve
from helpers.fake_network import FakeHost, FakeNetwork

from potluck.blocks.span.block_span import BlockSpan
from potluck.protocol.blocks import Span


@pytest.fixture(scope="package", autouse=True)
def quick_collections() -> Iterator[None]:
    """Leave what was imported out of the collections that an engine makes, as its own process does (`pipe.py`)."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module")
def blocks() -> BlockSpan:
    return load(Span(0, 2))


@pytest.fixture
def network() -> FakeNetwork:
    return FakeNetwork()


@pytest.fixture
async def host(network: FakeNetwork) -> FakeHost:
    """A client of `server`."""
    return network.start()


@pytest.fixture
async def server(network: FakeNetwork, blocks: BlockSpan) -> AsyncIterator[Server]:
    async with serve(network, blocks=blocks) as made:
        yield made


@pytest.fixture
def held() -> Callable[[Server], AbstractAsyncContextManager[None]]:
    """The compute thread of a server waits until the block is left."""

    @asynccontextmanager
    async def held(server: Server) -> AsyncIterator[None]:
        entered, released = threading.Event(), threading.Event()

        def wait() -> None:
            entered.set()
            assert released.wait(120)

        task = asyncio.create_task(server.serving.compute.run(wait))
        await asyncio.to_thread(entered.wait)
        yield
        released.set()
        await task

    return held
