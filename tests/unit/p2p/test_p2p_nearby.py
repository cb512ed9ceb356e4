"""What is heard on the local network: hostile bytes, floods, and what outsiders can read."""

import random

import msgspec
import pytest

from potluck.membership.identity import Identity
from potluck.p2p.nearby import (
    _BODY_BYTES,
    _MAGIC,
    DATAGRAM_BYTES,
    Datagram,
    DatagramRate,
    NearbySearch,
    NodesNearby,
    _cipher,
    decode,
    encode,
)
from potluck.protocol.blocks import PeerId

KEY, OTHER_KEY = bytes(range(32)), bytes(32)
DAY_S = 86_400.0
NOW_S = 20_000 * DAY_S + 5.0
PEER = Identity.generate().peer_id
HERE = Datagram(PEER, 31330, asks=False)


def named(number: int) -> PeerId:
    return PeerId(f"peer-{number}")


def sealed(body: bytes) -> bytes:
    nonce = bytes(12)
    return _MAGIC + nonce + _cipher(KEY, int(NOW_S // DAY_S)).encrypt(nonce, body, _MAGIC)


def test_members_read_what_a_node_announces() -> None:
    for said in (HERE, Datagram(PEER, 0, asks=True)):
        assert decode(encode(said, KEY, NOW_S), KEY, NOW_S) == said


@pytest.mark.parametrize("days_off", [-1, 1])
def test_a_clock_may_be_a_day_off_and_no_more(days_off: int) -> None:
    datagram = encode(HERE, KEY, NOW_S + days_off * DAY_S)
    assert decode(datagram, KEY, NOW_S) == HERE
    assert decode(datagram, KEY, NOW_S - days_off * DAY_S) is None


def test_outsiders_cannot_read_or_compare_datagrams() -> None:
    first, second = encode(HERE, KEY, NOW_S), encode(HERE, KEY, NOW_S)
    assert decode(first, OTHER_KEY, NOW_S) is None
    assert len(first) == len(second) == DATAGRAM_BYTES
    assert len(encode(Datagram(PEER, 0, asks=True), KEY, NOW_S)) == DATAGRAM_BYTES
    assert first[4:16] != second[4:16]
    assert first[16:] != second[16:]


@pytest.mark.parametrize(
    ("field", "value"),
    [("peer", ""), ("peer", "../../etc"), ("peer", "1" * 56), ("peer", b"1"), ("port", -1), ("port", 1 << 16)],
)
def test_what_a_member_says_is_checked_and_fields_of_a_newer_version_are_ignored(field: str, value: object) -> None:
    for changed, heard in (({"newer": 1}, HERE), ({field: value}, None)):
        fields = {"peer": PEER, "port": 31330, "asks": False, "filler": b"", **changed}
        fields["filler"] = bytes(_BODY_BYTES - len(msgspec.msgpack.encode(fields)))
        assert decode(sealed(msgspec.msgpack.encode(fields)), KEY, NOW_S) == heard


def test_a_body_that_is_no_message_is_ignored() -> None:
    for body in (b"\xc1", b"\x83\xa1\xff", b"\x81\xa4peer\xa1\xff", b"\x91" * _BODY_BYTES):
        assert decode(sealed(body.ljust(_BODY_BYTES, b"\0")), KEY, NOW_S) is None


def test_hostile_bytes_are_ignored() -> None:
    rng, datagram = random.Random(1), encode(HERE, KEY, NOW_S)
    for _ in range(300):
        changed = bytearray(datagram)
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        assert decode(bytes(changed), KEY, NOW_S) is None
        assert decode(rng.randbytes(rng.randrange(200)), KEY, NOW_S) is None
        assert decode(datagram[: rng.randrange(len(datagram))], KEY, NOW_S) is None
    assert decode(datagram + b"x", KEY, NOW_S) is None


def test_a_node_is_news_once_and_again_when_it_moved_and_never_where_nobody_can_dial_it() -> None:
    found = NodesNearby()
    assert not found.record(Datagram(PEER, 0, asks=True), "10.0.0.2")
    assert not found.record(HERE, "239.255.80.76")
    assert not found.record(HERE, "not an address")
    assert found.addresses == {}
    assert found.record(HERE, "10.0.0.2")
    assert not found.record(HERE, "10.0.0.2")
    assert found.record(HERE, "10.0.0.3")
    assert found.addresses == {PEER: "/ip4/10.0.0.3/tcp/31330"}


def test_a_node_that_fell_silent_is_forgotten_and_news_when_it_is_back() -> None:
    found = NodesNearby()
    found.record(HERE, "10.0.0.2", 5.0)
    assert not found.forget_silent(5.0)
    assert found.places == ("10.0.0.2:31330",)
    assert found.forget_silent(6.0)
    assert found.places == ()
    assert found.record(HERE, "10.0.0.2", 7.0)


def test_one_computer_cannot_crowd_out_the_others_and_all_fill_no_more_than_a_bounded_table() -> None:
    found = NodesNearby()
    found.record(HERE, "10.0.0.2")
    for number in range(1000):
        found.record(Datagram(named(number), 1, asks=False), "10.0.0.66")
    assert PEER in found.addresses
    assert len(found.addresses) == 5
    for number in range(1000):
        found.record(Datagram(named(number), 1, asks=False), f"10.0.{number // 250}.{number % 250}")
    assert len(found.addresses) == 16


def test_a_flood_leaves_room_for_quiet_sources_and_ends_the_reading() -> None:
    rate = DatagramRate()
    loud = [rate.admits("10.0.0.66") for _ in range(100)]
    assert loud == [True] * 16 + [False] * 84
    assert rate.admits("10.0.0.2")
    assert not rate.is_used_up(5.0)
    for _ in range(256):
        rate.admits("10.0.0.66")
    assert rate.is_used_up(5.9)
    assert not rate.is_used_up(6.0)


async def test_a_node_notes_others_of_its_swarm_and_never_itself() -> None:
    told: list[tuple[str, ...]] = []
    nearby = NearbySearch(KEY, PEER, clock=lambda: NOW_S, on_change=told.append)
    other = Datagram(Identity.generate().peer_id, 31331, asks=False)
    nearby.receive(encode(HERE, KEY, NOW_S), "10.0.0.2")
    nearby.receive(encode(other, OTHER_KEY, NOW_S), "10.0.0.2")
    assert not nearby.news.is_set()
    nearby.receive(encode(other, KEY, NOW_S), "10.0.0.2")
    assert nearby.news.is_set()
    assert list(nearby.found.addresses) == [other.peer]
    assert told == [("10.0.0.2:31331",)]


async def test_a_computer_without_multicast_tells_of_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError(19, "No such device")

    monkeypatch.setattr("potluck.p2p.nearby._multicast_socket", refuse)
    told: list[tuple[str, ...]] = []
    nearby = NearbySearch(KEY, PEER, on_change=told.append)
    nearby.start()
    assert told == []
    await nearby.close()


async def test_one_answer_serves_all_who_ask_within_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[bool] = []
    monkeypatch.setattr(NearbySearch, "announce", lambda self, *, asks: said.append(asks))
    nearby = NearbySearch(KEY, PEER, clock=lambda: NOW_S)
    asks = encode(Datagram(Identity.generate().peer_id, 0, asks=True), KEY, NOW_S)
    nearby.receive(asks, "10.0.0.2")
    assert said == []  # nobody can dial this node
    nearby.port = 31330
    for _ in range(20):
        nearby.receive(asks, "10.0.0.2")
    assert said == [False]
