"""The emulated internet: what a line does to packets, and that real packets get the delay and rate that were asked."""

import contextlib
import itertools
import random
import socket
import time
from collections.abc import Iterator

import pytest
from helpers.internet import CUT, MOBILE, Internet, Line, Link, internet

NEAR, FAR = Link(0.02), Link(0.06)


def arrivals(link: Link, *, packets: int, apart_s: float, seed: int = 1) -> list[float | None]:
    """Of packets of 1,000 bytes."""
    line = Line(link, random.Random(seed))
    return [line.arrival(1000, number * apart_s) for number in range(packets)]


def test_a_packet_takes_its_bytes_over_the_rate_and_the_delay() -> None:
    assert arrivals(Link(0.1, rate_mbit=8.0), packets=3, apart_s=0.0) == pytest.approx([0.101, 0.102, 0.103])


def test_jitter_delays_packets_and_keeps_their_order() -> None:
    at = [each for each in arrivals(Link(0.1, 0.05), packets=500, apart_s=0.001) if each is not None]
    late_s = [each - number * 0.001 - 0.1 for number, each in enumerate(at)]
    assert at == sorted(at)
    assert max(late_s) > 0.03
    assert max(late_s) <= 0.0501


def test_a_full_queue_drops_what_would_wait_too_long() -> None:
    at = arrivals(Link(0.0, rate_mbit=8.0, queue_s=0.0105), packets=30, apart_s=0.0)
    assert [each is None for each in at] == [False] * 11 + [True] * 19


def test_the_same_packets_are_lost_with_the_same_seed() -> None:
    lost = [at is None for at in arrivals(Link(0.0, loss=0.1), packets=2000, apart_s=0.01)]
    assert 120 < sum(lost) < 280
    assert lost == [at is None for at in arrivals(Link(0.0, loss=0.1), packets=2000, apart_s=0.01)]
    assert lost != [at is None for at in arrivals(Link(0.0, loss=0.1), packets=2000, apart_s=0.01, seed=2)]


@pytest.fixture(scope="module")
def world() -> Iterator[Internet]:
    """All places are near each other, but for a and c."""
    with contextlib.ExitStack() as made:
        yield made.enter_context(internet(("a", "b", "c", "d"), NEAR, {("a", "c"): FAR}))


@contextlib.contextmanager
def sockets(world: Internet, one: str, other: str) -> Iterator[tuple[socket.socket, socket.socket]]:
    with world.udp_socket(one) as first, world.udp_socket(other) as second:
        first.settimeout(30)
        second.settimeout(30)
        first.connect(second.getsockname())
        second.connect(first.getsockname())
        yield first, second


@pytest.mark.namespaces
@pytest.mark.parametrize(("ends", "link"), [(("a", "b"), NEAR), (("a", "c"), FAR)])
def test_no_packet_arrives_before_the_delay_of_its_link(world: Internet, ends: tuple[str, str], link: Link) -> None:
    with sockets(world, *ends) as (first, second):
        began = time.monotonic()
        first.send(b"ping")
        second.send(second.recv(10))
        first.recv(10)
        assert time.monotonic() - began >= 2 * link.delay_s


@pytest.mark.namespaces
def test_real_packets_keep_their_order_under_jitter_and_none_pass_a_cut_link(world: Internet) -> None:
    with sockets(world, "a", "d") as (first, second):
        world.change("a", "d", MOBILE)
        for number in range(100):
            first.send(bytes([number]))
        world.change("a", "d", CUT)
        first.send(b"lost")
        world.change("a", "d", NEAR)
        first.send(b"end")
        seen = list(itertools.takewhile(lambda body: body != b"end", iter(lambda: second.recv(10), b"")))
    numbers = [body[0] for body in seen]
    assert b"lost" not in seen
    assert numbers == sorted(numbers)
    assert len(numbers) > 90
