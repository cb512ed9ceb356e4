"""What is measured with peers, what it may cost, and what counts without a measurement."""

import random

import pytest
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.server_records import server_of
from potluck_engine.network.link_speed import (
    DAY_BYTES,
    DEFAULT_MBPS,
    EXCHANGE_BYTES,
    RELAYED_SHARE,
    NetworkSpeed,
    choose_peers,
    estimate_own_link,
)

from potluck.protocol.blocks import PeerId, Span


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Pair:
    """Two servers of one swarm that know each other."""

    def __init__(self) -> None:
        self.network, self.clock = FakeNetwork(), Clock()
        self.host, self.peer = self.network.start(), self.network.start()
        self.one, self.other = self.speed(self.host), self.speed(self.peer)
        self.other.set_known([self.host.peer_id])

    def speed(self, host: FakeHost) -> NetworkSpeed:
        return NetworkSpeed(host, clock=self.clock)

    async def look(self) -> None:
        await self.one.measure_round([self.peer.peer_id])


@pytest.fixture
async def pair() -> Pair:
    made = Pair()
    await made.other.serve()
    return made


async def test_a_link_is_pinged_and_measured_with_its_other_end_and_measured_again_after_hours_only(pair: Pair) -> None:
    await pair.look()
    await pair.look()
    assert pair.peer.calls["Potluck.bandwidth"] == 1
    assert set(pair.one.pings_s) == set(pair.one.links_mbps) == {pair.peer.peer_id}
    assert pair.one.links_mbps[pair.peer.peer_id] > 0
    assert pair.one.link_mbps == pytest.approx(pair.one.links_mbps[pair.peer.peer_id], abs=0.01)
    pair.clock.now += 7 * 3600
    await pair.look()
    assert pair.peer.calls["Potluck.bandwidth"] == 2


@pytest.mark.parametrize("end", ["one", "other"])
async def test_nothing_but_pings_is_exchanged_while_either_end_may_not(pair: Pair, end: str) -> None:
    getattr(pair, end).may_exchange = False
    await pair.look()
    assert set(pair.one.pings_s) == {pair.peer.peer_id}
    assert pair.one.links_mbps == {}
    assert pair.peer.calls["Potluck.bandwidth"] == int(end == "other"), "who may not doesn't ask"


async def test_strangers_are_refused(pair: Pair) -> None:
    pair.other.set_known([])
    await pair.look()
    assert pair.one.links_mbps == {}


async def test_a_days_bytes_are_bounded(pair: Pair) -> None:
    for _ in range(2 * DAY_BYTES // EXCHANGE_BYTES):
        pair.other._answered_at.clear()
        pair.one._due_at.clear()
        await pair.look()
    assert pair.peer.calls["Potluck.bandwidth"] == DAY_BYTES // EXCHANGE_BYTES
    pair.clock.now += 86_400
    await pair.look()
    assert pair.peer.calls["Potluck.bandwidth"] == DAY_BYTES // EXCHANGE_BYTES + 1


async def test_a_peer_that_is_gone_is_forgotten(pair: Pair) -> None:
    await pair.look()
    pair.peer.kill()
    await pair.one.measure_round([])
    assert pair.one.pings_s == {}
    assert pair.one.links_mbps == {}


async def test_without_a_measurement_counts_what_the_user_says_or_a_default_and_less_through_a_relay() -> None:
    host = FakeNetwork().start()
    assert NetworkSpeed(host).link_mbps == DEFAULT_MBPS
    assert NetworkSpeed(host, given_mbps=30).link_mbps == 30
    assert NetworkSpeed(host, given_mbps=30, is_relayed=True).link_mbps == pytest.approx(30 * RELAYED_SHARE)


async def test_a_link_is_never_worth_more_than_the_users_cap(pair: Pair) -> None:
    await pair.look()
    pair.one.cap_mbps = 0.5
    assert pair.one.link_mbps == 0.5


def test_one_peer_that_boasts_does_not_count_and_neither_do_slow_ones() -> None:
    assert estimate_own_link([]) == 0
    assert estimate_own_link([20]) == 20
    assert estimate_own_link([3, 20, 20, 20, 20, 1e9]) == 20


def test_those_before_and_after_come_first_and_no_more_than_sixteen() -> None:
    servers = [server_of(f"p{index}", 0, 4) for index in range(20)]
    after = server_of("after", 8, 12)
    chosen = choose_peers([*servers, after, server_of("me", 4, 8)], PeerId("me"), Span(4, 8), random.Random(1))
    assert len(chosen) == 16
    assert "after" in chosen
    assert "me" not in chosen
