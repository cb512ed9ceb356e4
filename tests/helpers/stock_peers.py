"""Peers that behave as stock Petals does, made of hivemind's own primitives, in a process of their own.

`stock_peers(address)` runs this file. It asks the node at `address` what a server asks when it starts: whether others
reach it. Then two servers of blocks that change nothing compute for longer than our client is patient: one in a swarm
with the prefix `direct`, and one with the prefix `relayed`, whose DHT is a client's, so that it knows no pings.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import AsyncIterator  # noqa: UP035 (hivemind knows a stream by this one)

from hivemind.dht import DHTNode
from hivemind.p2p import P2PContext, PeerID, ServicerBase
from hivemind.proto import dht_pb2, runtime_pb2

NUM_BLOCKS = 4
SILENCE_S, COMPUTE_S = 0.3, 2.0
"""After how much silence a client here gives a server up, and how long a server computes."""
_ASKED = 3
_NODE = {"startup_timeout": 120.0, "wait_timeout": 30.0}  # on a busy machine
_LISTEN = ["/ip4/127.0.0.1/tcp/0"]


@dataclass
class StockPeers:
    """What the peers were told, and at their end how often each server was called."""

    reached: dict[str, bool | None]
    calls: dict[str, int] = field(default_factory=dict)


@contextmanager
def stock_peers(address: str) -> Iterator[StockPeers]:
    """Run the peers beside the node at `address`; the servers are there until the context ends."""
    command = [sys.executable, __file__, address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        peers = StockPeers(json.loads(process.stdout.readline()))
        try:
            yield peers
        finally:
            process.stdin.close()
            peers.calls |= json.loads(process.stdout.readline())


class ReachabilityProtocol(ServicerBase):
    """What a server serves before anything else. Only the peer itself is asked here."""

    async def rpc_check(self, request: dht_pb2.PingRequest, context: P2PContext) -> dht_pb2.PingResponse:
        return dht_pb2.PingResponse(available=PeerID(request.peer.node_id) == context.local_id)


class TransformerConnectionHandler(ServicerBase):
    def __init__(self) -> None:
        self.calls = 0

    async def rpc_forward(self, request: runtime_pb2.ExpertRequest, context: P2PContext) -> runtime_pb2.ExpertResponse:
        return await self._compute(request)

    async def rpc_inference(
        self, requests: AsyncIterator[runtime_pb2.ExpertRequest], context: P2PContext
    ) -> AsyncIterator[runtime_pb2.ExpertResponse]:
        async for request in requests:
            if not request.tensors:
                return
            yield await self._compute(request)

    async def _compute(self, request: runtime_pb2.ExpertRequest) -> runtime_pb2.ExpertResponse:
        self.calls += 1
        await asyncio.sleep(COMPUTE_S)
        return runtime_pb2.ExpertResponse(tensors=request.tensors[:1])


async def _is_reached(peer: PeerID, checked: PeerID, node: DHTNode) -> bool | None:
    """Ask `peer` as `node` whether it reaches `checked`, up to three times; None if it does not answer."""
    request = dht_pb2.PingRequest(peer=dht_pb2.NodeInfo(node_id=checked.to_bytes()))
    for _ in range(_ASKED):
        with suppress(Exception):  # as stock does
            response = await ReachabilityProtocol.get_stub(node.protocol.p2p, peer).rpc_check(request, timeout=10)
            return bool(response.available)
    return None


async def _ask(address: str) -> dict[str, bool | None]:
    peer, answers = PeerID.from_base58(address.rpartition("/")[2]), {}
    for name, options in {"open": {"host_maddrs": _LISTEN}, "hidden": {"no_listen": True}}.items():
        node = await DHTNode.create(initial_peers=[address], client_mode=True, use_relay=False, **_NODE, **options)
        await ReachabilityProtocol().add_p2p_handlers(node.protocol.p2p)
        answers[name] = await _is_reached(peer, node.peer_id, node)
        answers["asked itself"] = await _is_reached(peer, peer, node)
        await node.shutdown()
    return answers


async def _serve(address: str, prefix: str, handler: TransformerConnectionHandler) -> DHTNode:
    is_relayed = prefix == "relayed"
    node = await DHTNode.create(initial_peers=[address], client_mode=is_relayed, host_maddrs=_LISTEN, **_NODE)
    await handler.add_p2p_handlers(node.protocol.p2p)
    extra = {"start_block": 0, "end_block": NUM_BLOCKS, "torch_dtype": "float32", "quant_type": "none"}
    for block in range(NUM_BLOCKS):
        key, subkey = f"{prefix}.{block}", node.peer_id.to_base58()
        await node.store(key, (2, 100.0, extra), expiration_time=time.time() + 240, subkey=subkey)
    return node


async def _main(address: str) -> None:
    answers = await _ask(address)
    handlers = {prefix: TransformerConnectionHandler() for prefix in ("direct", "relayed")}
    nodes = [await _serve(address, prefix, handler) for prefix, handler in handlers.items()]
    print(json.dumps(answers), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(json.dumps({prefix: handler.calls for prefix, handler in handlers.items()}), flush=True)
    for node in nodes:
        await node.shutdown()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
