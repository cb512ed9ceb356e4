"""Hostile DHT records against real nodes: what a peer may try by speaking the DHT's own protocol."""

import math
import os
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgpack
import pytest
import pytest_asyncio
from helpers.host_contract import WAIT_S, soon
from helpers.server_records import beat_of, record_of
from hivemind.dht.routing import DHTID
from hivemind.dht.storage import DictionaryDHTValue
from hivemind.proto import dht_pb2
from hivemind.utils.serializer import MSGPackSerializer

from potluck.directory.announcer import Announcer
from potluck.directory.directory import Directory
from potluck.directory.seal import Kind, record_checks, seal
from potluck.membership.identity import Identity
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig
from potluck.protocol.codes import RemoteError
from potluck.protocol.records import ServerState
from potluck.protocol.swarm import new_swarm

pytestmark = pytest.mark.asyncio(loop_scope="module")
SWARM = new_swarm("home", "m", 8)
KEY = Kind.RECORD.key(SWARM)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hosts() -> AsyncIterator[list[Libp2pHost]]:
    """A bootstrap node and a server of the swarm, both keeping its rules, and an attacker who knows none."""
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:  # sockets need a short path
        config = HostConfig(record_checks=record_checks(SWARM, time.time), runtime_dir=Path(folder))
        first = await Libp2pHost.start(config)
        config = replace(config, bootstrap_peers=await first.addresses())
        server = await Libp2pHost.start(config)
        attacker = await Libp2pHost.start(replace(config, record_checks={}, dht_client=True))
        yield [first, server, attacker]
        for host in (attacker, server, first):
            await host.close()


@pytest_asyncio.fixture(loop_scope="module")
async def announcer(hosts: list[Libp2pHost]) -> AsyncIterator[Announcer]:
    _, server, _ = hosts
    directory = Directory(server, SWARM, server.identity)
    announcer = Announcer(directory, record_of(server.peer_id, 0, 4), beat_of(server.peer_id))
    announcer.start()
    await soon(announcer.wait_announced())
    yield announcer
    await announcer.stop()


async def attack(hosts: list[Libp2pHost], key: str, subkey: bytes, value: bytes, end: float) -> list[bool]:
    """Ask every keeper to store raw bytes; whether each said it did."""
    request = dht_pb2.StoreRequest(
        keys=[DHTID.generate(source=key).to_bytes()],
        subkeys=[subkey],
        values=[value],
        expiration_time=[end],
        in_cache=[False],
        peer=dht_pb2.NodeInfo(),
    )
    taken = []
    *keepers, attacker = hosts
    for keeper in keepers:
        try:
            body = await attacker.call(
                keeper.peer_id, "DHTProtocol.rpc_store", request.SerializeToString(), timeout_s=WAIT_S
            )
            taken += list(dht_pb2.StoreResponse.FromString(body).store_ok)
        except RemoteError:
            taken.append(False)
    return taken


async def assert_unharmed(hosts: list[Libp2pHost]) -> None:
    """The one honest server is still what everybody sees."""
    server = hosts[1]
    for host in hosts:
        view = await soon(Directory(host, SWARM).fetch())
        assert [(seen.peer_id, seen.heartbeat.state) for seen in view] == [(server.peer_id, ServerState.ONLINE)]


OF_THE_SERVER, PLAIN = None, MSGPackSerializer.dumps(None)  # foreign keys may hold a plain value
GOOD_VALUE, GOOD_END_S = MSGPackSerializer.dumps(1), 60.0
NO_TEXTS = [5, 2.5, ("a",), [], b"x", True, {}, "x" * 300]
NO_MSGPACK = [b"", b"\xc1", b"\xd9\xff", b"\x91" * 5000, b"\xc7\xff\x50" * 9, bytes(300), bytes(70_000)]


@pytest.mark.parametrize(
    ("subkey", "value", "end_s"),
    [
        (PLAIN, GOOD_VALUE, GOOD_END_S),
        *((MSGPackSerializer.dumps(subkey), GOOD_VALUE, GOOD_END_S) for subkey in NO_TEXTS),
        *((OF_THE_SERVER, GOOD_VALUE, end_s) for end_s in (math.inf, math.nan, 1e300)),
        *((OF_THE_SERVER, value, GOOD_END_S) for value in NO_MSGPACK),
        *((subkey, b"\xc1", GOOD_END_S) for subkey in (b"", b"\xc1")),
    ],
    ids=lambda value: repr(value)[:20],
)
async def test_a_record_that_no_server_would_write_is_not_kept(
    hosts: list[Libp2pHost], announcer: Announcer, subkey: bytes | None, value: bytes, end_s: float
) -> None:
    raw = MSGPackSerializer.dumps(hosts[1].peer_id) if subkey is OF_THE_SERVER else subkey
    assert not any(await attack(hosts, KEY, raw, value, time.time() + end_s))
    if subkey != PLAIN:
        is_kept = any(await attack(hosts, "another.key", raw, value, time.time() + end_s))
        assert not is_kept or value in NO_MSGPACK  # nobody looks into it before it is read
        assert not (await soon(hosts[1].get(["another.key"]))).get("another.key")
    await assert_unharmed(hosts)


async def test_a_dictionary_with_one_bad_entry_is_kept_without_it(
    hosts: list[Libp2pHost], announcer: Announcer
) -> None:
    guest, now = Identity.generate(), time.time()
    end = round(now + 300, 3)
    record = record_of(guest.peer_id, 4, 8)
    good = seal(SWARM, guest, record, sequence=now, expiration=end).to_bytes()
    dictionary = DictionaryDHTValue()
    dictionary.store(guest.peer_id, MSGPackSerializer.dumps(good), end)
    dictionary.store(7, b"junk", end - 1)
    dictionary.store(hosts[1].peer_id, MSGPackSerializer.dumps(good), end + 50)
    assert all(await attack(hosts, KEY, b"", MSGPackSerializer.dumps(dictionary), end))
    assert guest.peer_id in (await soon(hosts[0].get([KEY])))[KEY]
    await assert_unharmed(hosts)


async def test_a_dictionary_that_is_malformed_is_refused(hosts: list[Libp2pHost], announcer: Announcer) -> None:
    for payload in (
        b"",
        b"\x93\x01\x02\x03",
        msgpack.packb([math.inf, 1.0, [[[], b"", 1.0]]]),
        msgpack.packb([1, 2, [[1]]]),
    ):
        value = msgpack.packb(msgpack.ExtType(0x50, payload))
        assert not any(await attack(hosts, KEY, b"", value, time.time() + 60))
    await assert_unharmed(hosts)


@pytest.mark.parametrize(("is_one_key", "in_cache"), [(False, True), (True, False)])
async def test_a_flood_does_not_grow_a_keeper_without_bound_nor_shut_others_out(
    hosts: list[Libp2pHost], announcer: Announcer, monkeypatch: pytest.MonkeyPatch, is_one_key: bool, in_cache: bool
) -> None:
    keeper, server, attacker = hosts
    protocol = keeper._dht._node.protocol  # type: ignore[union-attr]
    storage = protocol.cache if in_cache else protocol.storage
    monkeypatch.setattr(storage, "_max_bytes", 200_000)
    request = dht_pb2.StoreRequest(peer=dht_pb2.NodeInfo())
    for number in range(600):
        request.keys.append(DHTID.generate(source="flood" if is_one_key else f"flood {number}").to_bytes())
        request.subkeys.append(MSGPackSerializer.dumps(f"{number}"))
        request.values.append(os.urandom(1000))
        request.expiration_time.append(time.time() + 60)
        request.in_cache.append(in_cache)
    await attacker.call(keeper.peer_id, "DHTProtocol.rpc_store", request.SerializeToString(), timeout_s=WAIT_S)
    assert 100_000 < storage.bytes_held <= 400_000  # two groups of keys
    assert await server.store(f"another.swarm.{is_one_key}.{in_cache}", "s", 1, expiration=time.time() + 60)
    await assert_unharmed(hosts)
