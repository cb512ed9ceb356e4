"""What must not happen to stock peers in an open swarm: each function returns where it did, in words."""

import asyncio
import base64
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from helpers.client_world import PATIENT
from helpers.fake_network import FakeNetwork
from helpers.golden import CHECKPOINT, GOLDEN
from helpers.stock_peers import NUM_BLOCKS, SILENCE_S, StockPeers, stock_peers
from hivemind.proto.p2pd_pb2 import RPCError

from potluck.checkpoint.source import open_checkpoint
from potluck.client.config import ClientConfig
from potluck.client.model import attach
from potluck.client.swarm_client import HostFactory, SwarmClient
from potluck.errors import SwarmError
from potluck.membership.membership import Membership
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import Host, HostConfig, Stream
from potluck.petals import names
from potluck.petals.envelopes import Envelope, read_envelope, write_envelope
from potluck.petals.server import PetalsHandlers
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.swarm import Swarm

REACHED = {"open": True, "hidden": False, "asked itself": True}
_CLIENT = ClientConfig(silence_before_ping_s=SILENCE_S, refresh_period_s=1.0)
_HIDDEN = torch.rand(1, 3, 64, generator=torch.Generator().manual_seed(0))


def beside_real_peers() -> StockPeers:
    """Start stock peers beside a node of ours, and let each of their servers compute once in a call and in a step."""

    async def run(folder: Path) -> StockPeers:
        host = await Libp2pHost.start(HostConfig(runtime_dir=folder, patience_s=60.0))
        engine: Any = None  # nobody asks it
        try:
            await host.serve_unary(names.CHECK, PetalsHandlers(host, engine).check_reachability)
            (address,) = await host.addresses()
            return await asyncio.to_thread(_let_both_work, address, folder)
        finally:
            await host.close()

    with tempfile.TemporaryDirectory(prefix="pl-") as folder:
        return asyncio.run(run(Path(folder)))


def _let_both_work(address: str, folder: Path) -> StockPeers:
    async def start(membership: Membership, config: ClientConfig) -> Host:
        joining = HostConfig(bootstrap_peers=(address,), dht_client=True, runtime_dir=folder, patience_s=60.0)
        return await Libp2pHost.start(joining)

    with stock_peers(address) as found:
        for prefix in ("direct", "relayed"):
            with _joined(prefix, start, _CLIENT) as (client, model):
                for protocol in (names.FORWARD, names.INFERENCE):
                    with suppress(SwarmError):  # it gave the server up
                        assert torch.equal(_ask(client, model, protocol), _HIDDEN)
    return found


def tried_again() -> list[str]:
    """Let the only server refuse as stock servers were recorded to; return where its client doesn't act accordingly.

    A refusal that holds for now is repeated until the server computes, and any other is the caller's error at once.
    """
    found = []
    for protocol, refusal, words in _recorded_refusals():
        server, said = _Refusing(refusal, is_for_now="Could not allocate" in words or not words), ""
        with _joined("golden", server.start, PATIENT) as (client, model):
            try:
                _ask(client, model, protocol)
            except SwarmError as error:
                said = error.message
        is_right = not said if server.is_for_now else said.endswith(f": {words.strip()}")
        if not is_right or server.asked != 1 + server.is_for_now:
            found.append(f"{words!r}: asked {server.asked} times, {said!r}")
    return found


def _recorded_refusals() -> Iterator[tuple[str, bytes, str]]:
    """Yield the refusals of calls and steps in the recorded exchanges, as they travelled and in words."""
    for path in sorted((GOLDEN / "exchanges").glob("*/*.jsonl")):
        for line in map(json.loads, path.read_text().splitlines()):
            if line["kind"] == "error" and line["rpc"] == names.FORWARD:
                yield line["rpc"], line["error_text"].encode(), line["error_text"]
            elif line["kind"] == "error" and line["rpc"] == names.INFERENCE:
                frame = base64.b64decode(line["message_base64"])
                yield line["rpc"], frame, RPCError.FromString(frame).message


class _Refusing:
    """A stock server of all blocks, which refuses with recorded bytes: always, or the first time."""

    def __init__(self, refusal: bytes, *, is_for_now: bool) -> None:
        self.refusal, self.is_for_now, self.asked = refusal, is_for_now, 0

    async def start(self, membership: Membership, config: ClientConfig) -> Host:
        network = FakeNetwork()
        host = network.start()
        await host.serve_unary(names.FORWARD, self._call, refuse=self._refuse)
        await host.serve_stream(names.INFERENCE, self._serve, max_frame_bytes=1 << 20, refuse=self._refuse)
        extra = {"start_block": 0, "end_block": NUM_BLOCKS, "torch_dtype": "float32", "quant_type": "none"}
        for block in range(NUM_BLOCKS):
            await host.store(f"golden.{block}", host.peer_id, [2, 100.0, extra], expiration=time.time() + 240)
        return network.start()

    def _refuse(self, error: RemoteError) -> bytes:
        return self.refusal

    async def _call(self, body: bytes, peer: PeerId) -> bytes:
        self.asked += 1
        if self.asked == 1 or not self.is_for_now:
            raise RemoteError(Code.INTERNAL, "")
        return b"".join(write_envelope(Envelope("", read_envelope(body).tensors[:1])))

    async def _serve(self, stream: Stream, peer: PeerId) -> None:
        while body := await stream.receive():
            await stream.send(await self._call(body, peer))


@contextmanager
def _joined(prefix: str, start: HostFactory, config: ClientConfig) -> Iterator[tuple[SwarmClient, Any]]:
    """A client of the open swarm with this prefix, and its model."""
    swarm = Swarm(name=prefix, model="golden", num_blocks=NUM_BLOCKS, prefix=prefix)
    client = SwarmClient(Membership(swarm), config, start)
    client.start()
    try:
        yield client, attach(open_checkpoint(str(CHECKPOINT)), client)
    finally:
        client.close()


def _ask(client: SwarmClient, model: Any, protocol: str) -> torch.Tensor:
    """Let the servers compute once, by a call or by a session's first step."""
    if protocol == names.FORWARD:
        with torch.no_grad():
            return model.blocks(_HIDDEN)
    session = client.new_session(8)
    output = client.run(session.step(_HIDDEN, 0))
    client.run(session.close())
    return output
