"""The fake network keeps the contract of the real one, and does to nodes what tests ask for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.host_contract import HostContract, echo, opened, soon
from in_memory import run

from potluck.membership.identity import Identity
from potluck.p2p.config import RecordCheck
from potluck.protocol.codes import Code, RemoteError


class FakeStarter:
    def __init__(self) -> None:
        self.fake = FakeNetwork()

    async def start(
        self, identity: Identity | None = None, *, record_checks: Mapping[str, RecordCheck] | None = None
    ) -> FakeHost:
        return self.fake.start(identity, record_checks=record_checks)

    async def kill(self, host: FakeHost) -> None:
        host.kill()


@pytest.fixture
def network() -> FakeStarter:
    return FakeStarter()


@pytest.fixture
async def near(network: FakeStarter) -> AsyncIterator[FakeHost]:
    host = await network.start()
    yield host
    await host.close()


@pytest.fixture
async def far(network: FakeStarter) -> AsyncIterator[FakeHost]:
    host = await network.start()
    yield host
    await host.close()


class TestFakeHost(HostContract):
    pass


def test_latency_delays_frames_but_not_their_sender() -> None:
    async def main() -> None:
        network, loop = FakeNetwork(latency_s=0.05), asyncio.get_running_loop()
        near, far = network.start(), network.start()
        stream = await opened(near, far, echo)
        started = loop.time()
        for _ in range(3):
            await stream.send(b"x")
        assert loop.time() == started
        for _ in range(3):
            await stream.receive()
        assert loop.time() == pytest.approx(started + 0.1)
        assert await near.ping(far.peer_id, timeout_s=60) == 0.1

    run(main())


async def test_a_frozen_node_answers_nothing_until_it_thaws(near: FakeHost, far: FakeHost) -> None:
    stream = await opened(near, far, echo)
    far.freeze()
    await stream.send(b"x")
    with pytest.raises(TimeoutError):
        await stream.receive(timeout_s=0.05)
    with pytest.raises(RemoteError) as caught:
        await near.ping(far.peer_id, timeout_s=0.05)
    assert caught.value.code is Code.UNREACHABLE
    far.thaw()
    assert await soon(stream.receive()) == b"x"


async def test_records_end_by_the_networks_clock() -> None:
    now = 1000.0
    network = FakeNetwork(clock=lambda: now)
    host = network.start()
    assert await host.store("key", "a", 1, expiration=1060.0)
    assert (await host.get(["key"]))["key"]["a"].value == 1
    now = 1060.0
    assert not await host.get(["key"])
