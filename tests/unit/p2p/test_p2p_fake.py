"""The fake network keeps the contract of the real one."""

from collections.abc import AsyncIterator, Mapping

import pytest
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.host_contract import HostContract

from potluck.membership.identity import Identity
from potluck.p2p.network import RecordCheck


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


async def _host(network: FakeStarter) -> AsyncIterator[FakeHost]:
    host = await network.start()
    yield host
    await host.close()


near, far = (pytest.fixture(_host, name=name) for name in ("near", "far"))


class TestFakeHost(HostContract):
    pass
