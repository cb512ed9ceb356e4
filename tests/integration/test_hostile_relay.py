"""What strangers may do to a node that relays for others: it stays small, and answers everybody else."""

import asyncio
import random
import socket
from contextlib import ExitStack, suppress

import psutil
import pytest
from helpers.host_contract import PATIENCE_S, WAIT_S

from potluck.p2p.frames import FrameStream
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import RemoteError

HOP = "/libp2p/circuit/relay/0.2.0/hop"  # of the circuit relay protocol: a message is its length and a protobuf
RESERVE, CONNECT = b"\x02\x08\x00", b"\x2c\x08\x01\x12\x28\x0a\x26"
MAX_MB_GROWN = 64


async def test_noise_at_a_relay_costs_nobody_else_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeded: requests of a relay that are changed or cut, and connections that say noise, half a hello, or nothing."""
    rng = random.Random(14)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(HostConfig, "is_alone", False)  # a node within one computer relays nothing
        relay = await Libp2pHost.start(HostConfig())
    address = next(addr for addr in await relay.addresses() if addr.startswith("/ip4/127.0.0.1/tcp/"))
    config = HostConfig(bootstrap_peers=(address,), dht_client=True, patience_s=PATIENCE_S)
    stranger, friend = await Libp2pHost.start(config), await Libp2pHost.start(config)
    try:
        await relay.serve_unary("echo", _echo)
        before = _mb_of(relay)
        num_opened = 0
        for _ in range(150):
            with suppress(RemoteError):  # p2pd may refuse more
                await _ask_to_relay(stranger, relay, rng)
                num_opened += 1
        assert num_opened > 0  # it relays
        with ExitStack() as held:
            for _ in range(150):
                connection = held.enter_context(socket.create_connection(("127.0.0.1", int(address.split("/")[4]))))
                with suppress(OSError):
                    connection.sendall(rng.choice((b"", b"\x13/multistream/1.0.0\n", rng.randbytes(5000))))
            async with asyncio.timeout(WAIT_S):
                assert await friend.call(relay.peer_id, "echo", b"hello", timeout_s=WAIT_S) == b"hello"
            assert _mb_of(relay) - before < MAX_MB_GROWN
    finally:
        for host in (stranger, friend, relay):
            await host.close()


async def _echo(body: bytes, _: PeerId) -> bytes:
    return body


async def _ask_to_relay(stranger: Libp2pHost, relay: Libp2pHost, rng: random.Random) -> None:
    message = bytearray(rng.choice((RESERVE, CONNECT + rng.randbytes(38), rng.randbytes(60))))
    for _ in range(rng.randrange(3)):
        message[rng.randrange(len(message))] = rng.randrange(256)
    stream = await stranger.open_stream(relay.peer_id, HOP, timeout_s=WAIT_S, max_frame_bytes=1 << 16)
    try:
        assert isinstance(stream, FrameStream)
        stream.write_raw(bytes(message[: rng.randrange(1, len(message) + 1)]))
    finally:
        if rng.random() < 0.5:
            await stream.close()


def _mb_of(host: Libp2pHost) -> float:
    return psutil.Process(host._running().process.pid).memory_full_info().uss / 1e6
