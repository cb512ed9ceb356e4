"""What a hostile node may answer to those who search the DHT."""

import math
import time
from collections.abc import Callable, Mapping

import msgpack
from hivemind.dht.routing import DHTID
from hivemind.proto import dht_pb2

from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.reception import Handler
from potluck.protocol.blocks import PeerId

_DICTIONARY = 0x50  # hivemind's msgpack extension of a value with subkeys
_NOBODY = bytes(msgpack.packb(msgpack.ExtType(_DICTIONARY, msgpack.packb([math.inf, math.inf, []]))))


def _found(kind: int, value: bytes, expiration: float) -> dht_pb2.FindResult:
    return dht_pb2.FindResult(type=kind, value=value, expiration_time=expiration)


def _neighbours() -> dht_pb2.FindResult:
    result = dht_pb2.FindResult(type=dht_pb2.NOT_FOUND)
    for index in range(2000):
        result.nearest_node_ids.append(index.to_bytes(DHTID.HASH_NBYTES, "big"))
        result.nearest_peer_ids.append(b"\x00\x24\x08\x01\x12\x20" + index.to_bytes(32, "big"))
    return result


DHT_LIES: Mapping[str, Callable[[], dht_pb2.FindResult]] = {
    "nobody, for ever": lambda: _found(dht_pb2.FOUND_DICTIONARY, _NOBODY, math.inf),
    "one value": lambda: _found(dht_pb2.FOUND_REGULAR, msgpack.packb(7), time.time() + 3000),
    "garbage": lambda: _found(dht_pb2.FOUND_DICTIONARY, b"\xc1", math.nan),
    "thousands of neighbours": _neighbours,
}


def answer_finds(host: Libp2pHost, lie: Callable[[], dht_pb2.FindResult]) -> list[PeerId]:
    """Let the node of `host`, which others ask already, answer every search with `lie`; return who asks."""
    asked: list[PeerId] = []

    async def answer(body: bytes, caller: PeerId) -> bytes:
        asked.append(caller)
        request = dht_pb2.FindRequest.FromString(body)
        return bytes(dht_pb2.FindResponse(results=[lie() for _ in request.keys]).SerializeToString())

    host._running()._reception.handlers["DHTProtocol.rpc_find"] = Handler(answer)
    return asked
