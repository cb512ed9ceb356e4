"""What a DHT node holds for others stays bounded, and a flood displaces itself only."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from hivemind.dht.routing import DHTID
from hivemind.dht.storage import DHTLocalStorage, DictionaryDHTValue

from potluck.p2p.dht_node import _Filter
from potluck.p2p.dht_storage import (
    MAX_KEY_BYTES,
    MAX_STRANGERS_BYTES,
    MAX_SUBKEYS,
    MAX_SUBKEYS_OF_A_PERSON,
    BoundedStorage,
    sender,
)
from potluck.protocol.blocks import PersonId

OWN = DHTID.generate(source="own swarm")
OTHER = DHTID.generate(source="another swarm")
END = 4e9  # of records that live longer than the tests


@contextmanager
def from_peer(name: str) -> Iterator[None]:
    token = sender.set(name)
    yield
    sender.reset(token)


def store(storage: BoundedStorage, peer: str, key: DHTID, subkey: str, value: bytes = b"x") -> bool:
    with from_peer(peer):
        return bool(storage.store_subkey(key, subkey, value, END))


def records_of(storage: BoundedStorage, key: DHTID) -> dict[str, tuple[bytes, float]]:
    found = storage.get(key)
    assert found is not None
    return dict(found.value.data)


def held(storage: BoundedStorage | DHTLocalStorage) -> int:
    return sum(len(value) for _, item in storage.items() for _, (value, _) in item.value.items())


def flood(storage: BoundedStorage | DHTLocalStorage, *, keys: int, subkeys: int, size: int) -> None:
    value = os.urandom(size)
    for number in range(keys):
        key = DHTID.generate(source=f"flood {number}")
        for subkey in range(subkeys):
            storage.store_subkey(key, f"{subkey}", value, END)


@pytest.mark.parametrize(
    ("keys", "subkeys", "size"),
    [(1500, 1, 4_000), (1, 1100, 4_000), (1, 1100, 10), (5000, 1, 10), (3, 40, 65_536)],
    ids=["many keys", "many subkeys", "many small subkeys", "small records", "large records"],
)
def test_a_flood_stays_below_the_bound(keys: int, subkeys: int, size: int) -> None:
    storage = BoundedStorage(max_bytes=4 << 20)
    with from_peer("stranger"):
        flood(storage, keys=keys, subkeys=subkeys, size=size)
    assert held(storage) <= storage.bytes_held <= 4 << 20
    found = records_of(storage, DHTID.generate(source="flood 0"))
    assert 0 < len(found) <= MAX_SUBKEYS
    assert sum(len(value) for value, _ in found.values()) <= MAX_KEY_BYTES


def test_one_more_peer_still_gets_in_and_keeps_its_record_when_a_stranger_has_filled_the_rest() -> None:
    storage = BoundedStorage(max_bytes=1 << 20)
    with from_peer("stranger"):
        flood(storage, keys=400, subkeys=1, size=4_000)
    assert store(storage, "honest", OTHER, "honest", b"record")
    with from_peer("stranger"):
        flood(storage, keys=400, subkeys=2, size=4_000)
    assert records_of(storage, OTHER) == {"honest": (b"record", END)}


def test_a_peer_gets_into_a_key_that_a_stranger_has_filled() -> None:
    storage = BoundedStorage()
    for number in range(2 * MAX_SUBKEYS):
        store(storage, "stranger", OTHER, f"{number}")
    assert store(storage, "honest", OTHER, "honest", b"record")


def test_checked_keys_have_room_of_their_own() -> None:
    storage = BoundedStorage([OWN], max_bytes=20_000)
    for number in range(100):
        store(storage, f"stranger {number}", DHTID.generate(source=f"{number}"), "s")
    assert store(storage, "honest", OWN, "honest", bytes(10_000))


def test_a_persons_records_under_a_checked_key_are_few_whoever_brings_them() -> None:
    storage = BoundedStorage(
        [OWN], person_of=lambda peer, ticket=b"": PersonId("mallory" if peer.startswith("ghost") else peer)
    )
    for number in range(2 * MAX_SUBKEYS_OF_A_PERSON):
        is_kept = store(storage, f"honest {number}", OWN, f"ghost {number}")  # as nodes that come and go do for others
        assert is_kept is (number < MAX_SUBKEYS_OF_A_PERSON)
    assert store(storage, "ghost 0", OWN, "honest", b"record")
    with from_peer("ghost 0"):
        assert storage.store_subkey(OWN, "ghost 1", b"newer", END + 1)


def test_a_reader_checks_few_records_of_a_person_whatever_a_node_answers() -> None:
    checked = []
    validator = SimpleNamespace(validate=lambda record: checked.append(record) or True)
    person_of = {f"ghost {number}": PersonId("mallory") for number in range(100)}
    keep = _Filter(SimpleNamespace(record_validator=validator), {OWN}, lambda peer: person_of.get(peer, PersonId(peer)))
    for key, most in ((OWN, MAX_SUBKEYS_OF_A_PERSON), (OTHER, 100)):
        checked.clear()
        answer = DictionaryDHTValue()
        for number in range(100):
            answer.store(f"ghost {number}", b"x", END)
        answer.store("honest", b"record", END)
        assert keep(key.to_bytes(), answer)
        assert len(checked) == most + 1
        assert answer.get("honest") == (b"record", END)
        assert len(answer.data) == most + 1


def test_a_persons_peers_share_the_room() -> None:
    storage = BoundedStorage(max_bytes=20_000, person_of=lambda peer, ticket=b"": PersonId(peer.split()[0]))
    for number in range(100):
        store(storage, f"mallory {number}", DHTID.generate(source=f"{number}"), "s")
    assert store(storage, "honest 1", OTHER, "honest", bytes(8_000))


def test_only_a_later_end_replaces_a_record_and_an_earlier_one_does_not_shorten_it() -> None:
    now = 1000.0
    storage = BoundedStorage(clock=lambda: now)
    assert storage.store_subkey(OTHER, "a", b"first", 1300.0)
    assert not storage.store_subkey(OTHER, "a", b"earlier", 1010.0)
    now = 1100.0
    assert records_of(storage, OTHER) == {"a": (b"first", 1300.0)}
    assert storage.store_subkey(OTHER, "a", b"second", 1301.0)
    assert storage.bytes_held < 2 * 1100


def test_a_refused_replacement_leaves_the_record_that_is_there() -> None:
    storage = BoundedStorage(max_bytes=2_500)
    assert storage.store_subkey(OTHER, "a", b"small", END)
    assert not storage.store_subkey(OTHER, "a", bytes(2_000), END + 1)
    assert records_of(storage, OTHER) == {"a": (b"small", END)}


def test_records_that_ended_are_neither_found_nor_held() -> None:
    now = 1000.0
    storage = BoundedStorage(clock=lambda: now)
    storage.store_subkey(OTHER, "a", b"x", 1010.0)
    storage.store_subkey(OTHER, "b", b"x", 1300.0)
    now = 1020.0
    assert records_of(storage, OTHER) == {"b": (b"x", 1300.0)}
    storage.store_subkey(OWN, "c", b"x", 1300.0)
    assert storage.bytes_held < 2 * 1100
    assert not storage.store_subkey(OWN, "d", b"x", 1019.0)


def test_it_answers_like_hiveminds_own_storage() -> None:
    ours, theirs = BoundedStorage(), DHTLocalStorage()
    for storage in (ours, theirs):
        storage.store(OTHER, b"a", END, subkey="x")
        storage.store(OTHER, b"b", END + 1, subkey="y")
    mine, stock = ours.get(OTHER), theirs.get(OTHER)
    assert mine is not None
    assert isinstance(mine.value, DictionaryDHTValue)
    assert (mine.value.packb(), mine.expiration_time) == (stock.value.packb(), stock.expiration_time)


def test_strangers_share_a_little_room_and_their_newest_records_stay() -> None:
    storage = BoundedStorage(person_of=lambda peer, ticket=b"": PersonId(peer) if peer == "ana" else None)
    for number in range(30):
        assert store(storage, f"stranger {number}", DHTID.generate(source=f"{number}"), "s", bytes(50_000))
    assert storage.bytes_held <= MAX_STRANGERS_BYTES
    assert DHTID.generate(source="29") in storage
    with from_peer("ana"):
        flood(storage, keys=30, subkeys=1, size=50_000)
    assert storage.bytes_held > 2 * MAX_STRANGERS_BYTES
