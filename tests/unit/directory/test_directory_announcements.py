"""What a directory announces, believes and drops; hostile records one by one."""

import math
import random
from dataclasses import replace
from typing import Any

import msgpack
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from helpers.fake_network import FakeHost, FakeNetwork
from helpers.server_records import beat_of, record_of

from potluck.directory import seal as seal_module
from potluck.directory.directory import Directory
from potluck.directory.fields import links_of
from potluck.directory.seal import (
    HEARTBEAT_TTL_S,
    MAX_SKEW_S,
    RECORD_TTL_S,
    BadAnnouncementError,
    Kind,
    Sealed,
    Value,
    record_checks,
    seal,
    unseal,
    unseal_stored,
)
from potluck.errors import NetworkError
from potluck.membership.identity import Identity, peer_id_of
from potluck.petals.records import stock_server_value
from potluck.protocol.blocks import Span
from potluck.protocol.records import Heartbeat, NumberFormat, ServerRecord
from potluck.protocol.swarm import Swarm, new_swarm

PRIVATE = new_swarm("home", "m", 8)
OPEN = new_swarm("all", "m", 8, prefix="m-hf")
ME, OTHER = Identity.generate(), Identity.generate()
SOMEBODY = peer_id_of(bytes(32))


class Clock:
    """Wall time that stands still unless told."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def network(clock: Clock) -> FakeNetwork:
    return FakeNetwork(clock=clock)


def record(identity: Identity = ME, **changes: Any) -> ServerRecord:
    return record_of(identity.peer_id, 0, 4, **changes)


def value_of(kind: Kind) -> Value:
    beat = beat_of(ME.peer_id, pings_s={OTHER.peer_id: 0.5})
    return {Kind.RECORD: record(), Kind.HEARTBEAT: beat, Kind.LINKS: links_of(beat)}[kind]


def sealed(kind: Kind = Kind.RECORD, *, now: float, end: float | None = None) -> Sealed:
    """A valid announcement of ME."""
    return seal(PRIVATE, ME, value_of(kind), sequence=now, expiration=now + kind.ttl_s if end is None else end)


async def announced(network: FakeNetwork, swarm: Swarm = PRIVATE) -> tuple[FakeHost, Directory]:
    host = network.start(ME)
    directory = Directory(host, swarm, ME, network.clock)
    await directory.announce(record())
    await directory.heartbeat(beat_of(ME.peer_id))
    return host, directory


# -- announcing and reading --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("swarm", [PRIVATE, OPEN])
async def test_others_read_what_a_server_announced(network: FakeNetwork, clock: Clock, swarm: Any) -> None:
    host = network.start(ME, record_checks=record_checks(swarm, clock))
    directory = Directory(host, swarm, ME, clock)
    moving: dict[str, Any] = {"target": Span(2, 7), "window": 6, "stored": frozenset({0, 1, 7}), "download_bps": 2e6}
    held: dict[str, Any] = {"weights": "ab" * 32, "private_adapter_bytes": 5, "packing_error": 0.0078125}
    mine = record(public_name="Kitchen PC", adapters=("org/lora",), using_relay=True, **moving, **held)
    load: dict[str, Any] = {"queued_tokens": 7, "step_ms": 2.5, "batch": 3, "queue_ms": 1.5}
    beat = beat_of(ME.peer_id, **load)
    await directory.announce(mine)
    await directory.heartbeat(beat)
    view = await Directory(network.start(), swarm, clock=clock).fetch()
    assert [(server.record, server.heartbeat) for server in view] == [(mine, beat)]


async def test_a_server_that_leaves_disappears_at_once_and_is_seen_again_when_it_comes_back(
    network: FakeNetwork, clock: Clock
) -> None:
    _, directory = await announced(network)
    reader = Directory(network.start(), PRIVATE, clock=clock)
    assert len(await reader.fetch()) == 1
    await directory.leave()
    assert await reader.fetch() == ()
    clock.now += 0.5
    await directory.heartbeat(beat_of(ME.peer_id))
    assert len(await reader.fetch()) == 1


async def test_announcing_that_nobody_takes_is_an_error(network: FakeNetwork, clock: Clock) -> None:
    network.start(record_checks={Kind.RECORD.key(PRIVATE): lambda subkey, value, end, person_of: False})
    directory = Directory(network.start(ME), PRIVATE, ME, clock)
    with pytest.raises(NetworkError):
        await directory.announce(record())


async def test_a_reader_keeps_the_newest_of_what_replicas_say(network: FakeNetwork, clock: Clock) -> None:
    _, directory = await announced(network)
    reader = Directory(network.start(), PRIVATE, clock=clock)
    key = Kind.RECORD.key(PRIVATE)
    old = dict(network.records[key])
    clock.now += 1
    await directory.announce(record(span=Span(4, 8)))
    assert (await reader.fetch())[0].span == Span(4, 8)
    network.records[key] = old  # a replica that missed the change
    view = await reader.fetch()
    assert view[0].span == Span(4, 8)


# -- what is signed ----------------------------------------------------------------------------------------------------

AUTHOR = Identity._of(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
FULL: dict[str, Any] = {
    "public_name": "Kitchen PC", "adapters": ("org/lora",), "using_relay": True, "target": Span(2, 7), "window": 6,
    "stored": frozenset({0, 1, 7}), "download_bps": 2e6, "weights": "ab" * 32, "private_adapter_bytes": 5,
    "packing_error": 0.1, "moves": True, "format": NumberFormat("bfloat16", "int8", "int8"), "inference_tps": 5,
}  # fmt: skip
GOLDEN: dict[str, tuple[Value, str, str]] = {
    "a full record": (
        record(AUTHOR, **FULL),
        "dc001ccf0000018bcfe56ddccf0000018bcfea00c20004c0a862666c6f61743136a4696e7438c420000000000000000000"
        "0000000000000100000000000000020000000000000003cd0400cd0800ca40a00000ca461c4000ca459c4000ca42480000"
        "a5302e312e30aa4b69746368656e20504391a86f72672f6c6f7261c3020706c40183ca49f42400c3a4696e743805c420ab"
        "abababababababababababababababababababababababababababababababca3dcccccd",
        "c737176b4817fdd0ca98117fec8cd7a85e971dea5fc6085b92feccd0243cebe859fcb0a8c166b22948f14f411c202d5d2c"
        "4265aac2a0d1015d342ded7ea17000",
    ),
    "a bare record of another revision": (
        record(AUTHOR, revision="abc"),
        "dc001ccf0000018bcfe56ddccf0000018bcfea00c20004a3616263a7666c6f61743332a46e6f6e65c42000000000000000"
        "00000000000000000100000000000000020000000000000003cd0400cd0800ca42c80000ca461c4000ca459c4000ca4248"
        "0000a5302e312e30c090c2000404c400ca00000000c2a46e6f6e6500c400c0",
        "0839d285d8cb47aea819263811dc7194908a5e16bbee45b7c7b5b125e8a3e8033fe7cd860bdda75be2e23518e91f81285e"
        "b8cffed64cc9d3fcb806c093ab0d0b",
    ),
    "a heartbeat": (
        beat_of(AUTHOR.peer_id, queued_tokens=7, step_ms=2.5, batch=3, queue_ms=1.1),
        "99cf0000018bcfe56ddccf0000018bcfea00c202cd271007ca4020000003ca3f8ccccdcf0000018bcfe5687b",
        "6e22331d67e33e43afa5d96a8d113c7a5334409cce1f898eafe5d57486159a979195f7904881079c48fca91bd1a17da776"
        "35e7edcba27d3d31e746b4106d050e",
    ),
    "links": (
        links_of(beat_of(AUTHOR.peer_id, pings_s={SOMEBODY: 0.5}, links_mbps={SOMEBODY: 80.0})),
        "93cf0000018bcfe56ddccf0000018bcfea00c281c4089fd27edc4ee2b02492ca3f000000ca42a00000",
        "f233d57e4500635631a108a7acc0b1095e01359e85f6fc72a50e0e4515ed1eccbb46ed385f680b291982844324e5c396d7"
        "8c1ed4038cf4c9add5753628c46c0e",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_what_is_signed_stays_the_same(name: str) -> None:
    value, body, signature = GOLDEN[name]
    times = {"sequence": 1700000001.5, "expiration": 1700000301.25, "record": 1700000000.123}
    made = seal(PRIVATE, AUTHOR, value, **times)
    assert (made.body.hex(), made.signature.hex()) == (body, signature)
    read = unseal(PRIVATE, made, now=times["sequence"])
    assert (read.sequence, read.expiration) == (times["sequence"], times["expiration"])
    assert read.record == (times["record"] if isinstance(value, Heartbeat) else 0.0)
    again = seal(PRIVATE, AUTHOR, read.value, **times)
    assert again == made, "nothing is lost but what single floats cannot say"


# -- what is dropped ---------------------------------------------------------------------------------------------------


def verdict(value: object, *, now: float, subkey: object = ME.peer_id, kind: Kind = Kind.RECORD, end: float = 0) -> str:
    """Why an announcement is refused; empty if it is not."""
    value = value.to_bytes() if isinstance(value, Sealed) else value
    try:
        unseal_stored(PRIVATE, kind, subkey, value, end or now + kind.ttl_s, now=now)
    except BadAnnouncementError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "subkey", [None, 5, 1.5, b"x", ("a",), [], math.nan, OTHER.peer_id, "", "x", f"{ME.peer_id} "], ids=range(11)
)
def test_somebody_elses_record_is_dropped(clock: Clock, subkey: object) -> None:
    reason = verdict(sealed(now=clock.now), now=clock.now, subkey=subkey)
    assert reason
    assert "signed" in reason or not isinstance(subkey, str)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_far_future_end_is_dropped_even_if_signed(clock: Clock, kind: Kind) -> None:
    for end in (clock.now + kind.longest_s + MAX_SKEW_S + 1, clock.now + 1e9):
        assert "ahead" in verdict(sealed(kind, now=clock.now, end=end), now=clock.now, kind=kind, end=end)
    for ahead_s, is_taken in ((MAX_SKEW_S, True), (MAX_SKEW_S + 0.1, False)):
        newer = signed_as_is({"sequence": round((clock.now + ahead_s) * 1000)}, kind, now=clock.now)
        assert ("ahead" not in verdict(newer, now=clock.now, kind=kind)) is is_taken
    for end in (math.inf, -math.inf, math.nan):
        assert verdict(sealed(kind, now=clock.now), now=clock.now, kind=kind, end=end)


def test_a_copy_stored_with_a_later_end_is_dropped(clock: Clock) -> None:
    value = sealed(now=clock.now)
    assert "another end" in verdict(value, now=clock.now, end=clock.now + RECORD_TTL_S + 10)


def test_a_heartbeat_does_not_pass_for_a_record_nor_one_swarms_for_anothers(clock: Clock) -> None:
    assert verdict(sealed(Kind.HEARTBEAT, now=clock.now), now=clock.now, end=clock.now + HEARTBEAT_TTL_S)
    other, end = replace(PRIVATE, prefix="_other"), clock.now + 300
    assert verdict(seal(other, ME, record(), sequence=clock.now, expiration=end), now=clock.now)


@pytest.mark.parametrize(
    ("part", "values"), [("ticket", [None, bytes(300), "x"]), ("signature", [None, b"", bytes(64), "x", 5])]
)
def test_a_spoiled_pass_or_signature_is_dropped(clock: Clock, part: str, values: list[object]) -> None:
    for value in values:
        envelope = msgpack.unpackb(sealed(now=clock.now).to_bytes()) | {part: value}
        assert verdict(msgpack.packb(envelope), now=clock.now)


NAMES = {
    Kind.RECORD: (
        "sequence", "expiration", "start", "end", "revision", "dtype", "quantization", "digests", "max_batch_tokens",
        "max_length", "inference_tps", "forward_tps", "network_tps", "throughput_tps", "version", "public_name",
        "adapters", "using_relay", "target_start", "target_end", "window", "stored", "download_bps", "moves", "cache",
        "private_adapter_bytes", "weights", "packing_error",
    ),
    Kind.HEARTBEAT: (
        "sequence", "expiration", "state", "cache_tokens_left", "queued_tokens", "step_ms", "batch", "queue_ms",
        "record",
    ),
    Kind.LINKS: ("sequence", "expiration", "links"),
}  # fmt: skip

BAD_FIELDS: dict[Kind, dict[str, list[Any]]] = {
    Kind.RECORD: {
        "start": [-1, 4, 5, 1, "0", 0.0, True, None],
        "end": [9, 10**12],
        "digests": [b"", bytes(33), bytes(24), "x" * 32, None],
        "inference_tps": [math.inf, math.nan, -1.0, True, 1e300],
        "network_tps": [None],
        "throughput_tps": ["fast"],
        "max_length": [-1, 2**60],
        "max_batch_tokens": [1.5],
        "revision": ["", "a\nb", "x" * 999, 5],
        "dtype": [5, ""],
        "quantization": [None],
        "version": ["\x1b[2J"],
        "public_name": [5, "x" * 101, "a\u202eb"],
        "adapters": ["x", [5], ["x"] * 65],
        "using_relay": [1],
        "sequence": [None],
        "target_end": [9],
        "target_start": [4, None],
        "window": [3, 9, 5.0],
        "stored": [b"\0\0", "", [1], None],
        "download_bps": [-1.0, math.nan],
        "weights": [b"short", "x", ""],
        "packing_error": [-1.0, math.inf],
    },
    Kind.HEARTBEAT: {
        "state": [3, -1, 2.0, None],
        "cache_tokens_left": [-1, 1.5],
        "queued_tokens": ["1"],
        "step_ms": [math.nan, "3"],
        "sequence": [math.inf, 5.5, 2_000_000_000, -1],
        "expiration": [None],
        "batch": [-1],
        "queue_ms": [math.inf],
        "record": [-1, 1.5, 1 << 60],
    },
    Kind.LINKS: {
        "links": [
            *(None, [], {5: [1.0, 1.0]}, {b"short": [1.0, 1.0]}, {"AAAAAAAAAAA=": [1.0, 1.0]}),
            *({b"12345678": bad} for bad in (1.0, [1.0], [math.nan, None], [None, -1.0], [b"", None])),
            {number.to_bytes(8, "big"): [1.0, 1.0] for number in range(33)},
        ],
    },
}


@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind, fields in BAD_FIELDS.items() for field in fields])
def test_an_impossible_field_drops_an_announcement(clock: Clock, kind: Kind, field: str) -> None:
    for bad in BAD_FIELDS[kind][field]:
        assert verdict(signed_as_is({field: bad}, kind, now=clock.now), now=clock.now, kind=kind), bad


def signed_as_is(change: dict[str, Any], kind: Kind = Kind.RECORD, *, now: float, newer: tuple[Any, ...] = ()) -> bytes:
    """An announcement whose signature and membership are right, whatever the fields."""
    values = msgpack.unpackb(sealed(kind, now=now).body)
    for name, value in change.items():
        values[NAMES[kind].index(name)] = value
    return signed_body(msgpack.packb([*values, *newer]), kind)


def signed_body(body: bytes, kind: Kind = Kind.RECORD) -> bytes:
    signed = seal_module._signed(PRIVATE, kind, body)
    return Sealed(ME.public_key, kind, body, ME.sign(signed)).to_bytes()


def shortened(kind: Kind, value: Value, last: str, *, now: float) -> Value:
    """What is read of an announcement that ends with the field `last`."""
    values = msgpack.unpackb(seal(PRIVATE, ME, value, sequence=now, expiration=now + kind.ttl_s).body)
    body = signed_body(msgpack.packb(values[: NAMES[kind].index(last) + 1]), kind)
    return unseal_stored(PRIVATE, kind, ME.peer_id, body, now + kind.ttl_s, now=now).value


def test_what_older_servers_do_not_tell_has_a_default(clock: Clock) -> None:
    told = record(window=6, download_bps=2e6, packing_error=0.5)
    assert shortened(Kind.RECORD, told, "using_relay", now=clock.now) == record()
    beat = beat_of(ME.peer_id, batch=4, queue_ms=1.0)
    assert shortened(Kind.HEARTBEAT, beat, "step_ms", now=clock.now) == beat_of(ME.peer_id)
    with pytest.raises(BadAnnouncementError):
        shortened(Kind.RECORD, told, "adapters", now=clock.now)


def test_what_newer_servers_tell_besides_is_ignored(clock: Clock) -> None:
    for kind in Kind:
        value = signed_as_is({}, kind, now=clock.now, newer=("eat together", {"a": 1}))
        assert verdict(value, now=clock.now, kind=kind) == ""


@pytest.mark.parametrize("kind", list(Kind))
def test_a_padded_announcement_is_dropped(clock: Clock, kind: Kind) -> None:
    for padding in (bytes(300), ["x" * 300], {"x": bytes(15_000)}):
        assert verdict(signed_as_is({}, kind, now=clock.now, newer=(padding,)), now=clock.now, kind=kind)


def test_the_longest_record_that_a_server_can_have_is_taken_and_a_longer_one_is_not(clock: Clock) -> None:
    most = {"adapters": ["a" * 120] * 64, "public_name": "n" * 100, "stored": b"\xff"}
    assert verdict(signed_as_is(most, now=clock.now), now=clock.now) == ""
    assert verdict(signed_as_is(most | {"adapters": ["a" * 130] * 64}, now=clock.now), now=clock.now) == "too long"


def test_any_change_of_a_byte_drops_an_announcement(clock: Clock) -> None:
    good, rng = sealed(now=clock.now).to_bytes(), random.Random(8)
    for index in range(len(good)):
        bad = bytearray(good)
        bad[index] ^= 1 << rng.randrange(8)
        refused = verdict(bytes(bad), now=clock.now)
        assert refused or msgpack.unpackb(bytes(bad)).get("body") == msgpack.unpackb(good)["body"]


def test_any_bytes_are_an_announcement_or_refused(clock: Clock) -> None:
    for value in (None, 5, "text", [], {}, b"", b"\xc1", msgpack.packb(5), msgpack.packb({}), bytes(20_000)):
        assert verdict(value, now=clock.now)
    rng = random.Random(9)
    for _ in range(300):
        assert verdict(rng.randbytes(rng.randrange(200)), now=clock.now)
        assert verdict(signed_body(rng.randbytes(rng.randrange(1, 60))), now=clock.now)


# -- nodes that keep records -------------------------------------------------------------------------------------------


async def test_nobody_overwrites_anothers_record(network: FakeNetwork, clock: Clock) -> None:
    host = network.start(record_checks=record_checks(PRIVATE, clock))
    await announced(network)
    key, end = Kind.RECORD.key(PRIVATE), clock.now + RECORD_TTL_S + 1
    forged = seal(PRIVATE, OTHER, record(OTHER), sequence=clock.now, expiration=end)
    assert not await network.start(OTHER).store(key, ME.peer_id, forged.to_bytes(), expiration=end)
    assert not await host.store(key, ME.peer_id, b"garbage", expiration=end)
    assert len(await Directory(host, PRIVATE, clock=clock).fetch()) == 1


# -- open swarms and stock peers ---------------------------------------------------------------------------------------


async def test_an_open_swarm_gets_the_block_keys_of_stock_peers(network: FakeNetwork, clock: Clock) -> None:
    _, directory = await announced(network, swarm=OPEN)
    expected = msgpack.unpackb(msgpack.packb(stock_server_value(record(), beat_of(ME.peer_id))))
    found = await network.start().get([f"m-hf.{block}" for block in range(8)])
    assert {key: values[ME.peer_id].value for key, values in found.items()} == {f"m-hf.{n}": expected for n in range(4)}
    clock.now += 1
    await directory.leave()
    found = await network.start().get(["m-hf.0"])
    assert found["m-hf.0"][ME.peer_id].value[0] == 0  # type: ignore[index]


async def store_stock(
    network: FakeNetwork, clock: Clock, peer: str, blocks: range, value: object, ttl_s: float = 240.0
) -> None:
    host = network.start()
    for block in blocks:
        await host.store(f"m-hf.{block}", peer, value, expiration=clock.now + ttl_s)


STOCK_EXTRA = {"start_block": 2, "end_block": 5, "inference_rps": 50.0, "torch_dtype": "bfloat16"}


async def test_stock_servers_are_seen_in_an_open_swarm(network: FakeNetwork, clock: Clock) -> None:
    await store_stock(network, clock, "Qmstock", range(2, 5), (2, 10.0, STOCK_EXTRA))
    await store_stock(network, clock, "Qmbare", range(6, 8), (2, 10.0))
    view = await Directory(network.start(), OPEN, clock=clock).fetch()
    assert [(server.peer_id, server.span) for server in view] == [
        ("Qmbare", Span(6, 8)),
        ("Qmstock", Span(2, 5)),
    ]
    assert view[1].record.inference_tps == 50.0


@pytest.mark.parametrize(
    ("value", "ttl_s"),
    [
        ((0, 10.0, STOCK_EXTRA), 240.0), ((7, 10.0, STOCK_EXTRA), 240.0), ((2, math.inf, STOCK_EXTRA), 240.0),
        ((2, 10, STOCK_EXTRA), 240.0), ("junk", 240.0), ((2, 10.0, {**STOCK_EXTRA, "end_block": 99}), 240.0),
        ((2, 10.0, {**STOCK_EXTRA, "start_block": 4, "end_block": 3}), 240.0), ((2, 10.0, STOCK_EXTRA), 3000.0),
    ],
)  # fmt: skip
async def test_bad_stock_records_are_dropped(network: FakeNetwork, clock: Clock, value: object, ttl_s: float) -> None:
    await store_stock(network, clock, "Qmstock", range(2, 3), value, ttl_s)
    assert await Directory(network.start(), OPEN, clock=clock).fetch() == ()


async def test_forged_block_keys_do_not_revive_a_server_that_left(network: FakeNetwork, clock: Clock) -> None:
    _, directory = await announced(network, swarm=OPEN)
    await directory.leave()
    await store_stock(network, clock, ME.peer_id, range(4), stock_server_value(record(), beat_of(ME.peer_id)), 400.0)
    assert await Directory(network.start(), OPEN, clock=clock).fetch() == ()
