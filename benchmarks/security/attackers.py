"""Peers that mean harm, each kind in a process of its own.

Strangers hold no key. They know every call of a node by name, send it what its callers would send, noise and messages
as large as the network carries, hold streams open, put records into p2pd's own Kademlia where it is served, and come
back under a new name when they are thrown out. The hog is a member that opens sessions for as long as it runs. Two
other members never read an answer, or vanish in the middle of a prefill.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hivemind.dht.routing import DHTID
from hivemind.proto import dht_pb2
from hivemind.utils.serializer import MSGPackSerializer
from potluck_control.processes.launch_spec import ServingLimits
from potluck_engine.network.link_speed import BANDWIDTH

from potluck.directory import exchange
from potluck.errors import NetworkError, PotluckError
from potluck.membership.identity import base58_decode
from potluck.membership.joined import JoinedSwarms
from potluck.p2p.control import P2pdClient, nameless_node
from potluck.p2p.encoding import delimited, split_peer
from potluck.p2p.frames import FrameStream
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import MAX_UNARY_BODY_BYTES, HostConfig
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, SessionOpening, StepRequest
from potluck.protocol.swarm import Swarm
from potluck.wire import protocols
from potluck.wire.message import encode
from potluck.wire.protocols import DialBack
from potluck.wire.sessions import encode_step

_PING, _STORE, _FIND = (f"DHTProtocol.rpc_{name}" for name in ("ping", "store", "find"))
_DHT = (_PING, _STORE, _FIND)
_DIRECTORY = tuple(name for name in vars(exchange).values() if isinstance(name, str) and "Directory." in name)
_ENGINE = tuple(name for name in vars(protocols).values() if isinstance(name, str) and name.startswith("Potluck."))
KINDS = {
    "dial_back": (protocols.DIAL_BACK,),
    "dht": _DHT,
    "directory": _DIRECTORY,
    "engine": (*_ENGINE, BANDWIDTH, "Potluck.unknown"),
    "everything": (*_DHT, *_DIRECTORY, *_ENGINE, BANDWIDTH, "Potluck.unknown"),
}
"""The calls of each kind of attack; streams are opened of all of them, too."""

HIDDEN_SIZE = 512  # the hidden size of the model that the hog asks for
_SESSION_TOKENS = 64
_STRANGERS = 3  # strangers at a time
_LIFE_S = 5.0  # life of one name
_CALLERS, _OPENERS = 12, 4  # what each runs at a time
_HELD_STREAMS = 500
_CALL_TIMEOUT_S = 5.0
_DIAL_TIMEOUT_S = 3.0
_HUGE_EVERY = 50  # calls
_MAX_FRAME_BYTES = 1 << 20
_RECORD_BYTES = 15_000
_RECORDS_A_STORE = 8
_KADEMLIA = "/ipfs/kad/1.0.0"
_PROVIDERS_A_STREAM = 1000
_UNREAD_TOKENS = 1024  # tokens of a step whose answer nobody reads: 2 MB
_UNREAD_STEPS = 8
_VANISH_AFTER_S = 0.5


@contextlib.contextmanager
def attack(kind: str, seconds: float, *targets: str, niceness: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """Attack from another process; inside, strangers have called, or the hog has taken all places of a server."""
    program = (sys.executable, "-m", "benchmarks.security.attackers")
    command = ["nice", "-n", str(niceness), *program, kind, str(seconds), *targets]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.terminate()


async def _attack(kind: str, seconds: float, addresses: Sequence[str]) -> None:
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:
        await asyncio.gather(
            *(
                _stranger(Path(folder), f"{number}", addresses[number % len(addresses)], KINDS[kind], end)
                for number in range(_STRANGERS * len(addresses))
            )
        )


def _hog(invite: str, seconds: float) -> None:
    """Open sessions as a member and never close one. Print a line once all places of a server are taken."""
    import torch

    from benchmarks.setup.sessions import random_states
    from potluck.client.config import ClientConfig
    from potluck.client.swarm_client import SwarmClient

    client = SwarmClient(JoinedSwarms().join(invite), ClientConfig(max_wait_s=1.0))
    client.start()
    held = []

    async def open_for_ever() -> None:
        hidden = random_states(1, HIDDEN_SIZE, torch.float32)
        while True:
            session = client.new_session(_SESSION_TOKENS)
            with contextlib.suppress(PotluckError):
                await session.step(hidden, 0)
                held.append(session)
                if len(held) == ServingLimits().max_sessions:
                    print("all places are taken", flush=True)

    async def open_many() -> None:
        await asyncio.gather(*(open_for_ever() for _ in range(_CALLERS)))

    with contextlib.suppress(TimeoutError):
        client.run(asyncio.wait_for(open_many(), seconds))


async def _stranger(folder: Path, name: str, address: str, names: Sequence[str], end: float) -> None:
    peer, way = split_peer(address)
    for life in itertools.count():
        last = min(end, time.monotonic() + _LIFE_S)
        if time.monotonic() >= end:
            return
        with contextlib.suppress(NetworkError, TimeoutError):
            async with nameless_node(folder, f"{name}-{life}") as control:
                stranger = _Stranger(control, peer, way, names)
                async with asyncio.timeout(last - time.monotonic()):
                    await stranger.run()


class _Stranger:
    """One name, from its first dial until it is given up."""

    def __init__(self, control: P2pdClient, peer: PeerId, way: str, names: Sequence[str]) -> None:
        self._control, self._peer, self._way = control, peer, way
        self._calls = itertools.cycle([(name, body) for name in names for body in BODIES.get(name, (_noise,))])
        self._names = itertools.cycle(names)
        self._dialling = asyncio.Lock()
        self._streams: list[FrameStream] = []

    async def run(self) -> None:
        await self._dial()
        print("calling", flush=True)
        async with asyncio.TaskGroup() as group:
            for _ in range(_CALLERS):
                group.create_task(self._call_for_ever())
            for _ in range(_OPENERS):
                group.create_task(self._open_for_ever())
            group.create_task(self._provide_for_ever())

    async def _call_for_ever(self) -> None:
        for count in itertools.count(1):
            name, body = next(self._calls)
            data = bytes(MAX_UNARY_BODY_BYTES) if count % _HUGE_EVERY == 0 else body()
            try:
                await self._control.call(self._peer, name, data, timeout_s=_CALL_TIMEOUT_S)
            except RemoteError as error:
                await self._come_back(error)

    async def _open_for_ever(self) -> None:
        while True:
            try:
                stream = await self._control.open_stream(
                    self._peer, next(self._names), timeout_s=_CALL_TIMEOUT_S, max_frame_bytes=_MAX_FRAME_BYTES
                )
                self._streams.append(stream)
                if len(self._streams) % 4 == 0:
                    await stream.send(_noise(), timeout_s=1.0)
                if len(self._streams) > _HELD_STREAMS:
                    await self._streams.pop(0).close()
            except (RemoteError, TimeoutError) as error:
                await self._come_back(error)

    async def _provide_for_ever(self) -> None:
        """Say in p2pd's own Kademlia, if it is served, that this peer has things that nobody asks for."""
        me, _ = await self._control.identify()
        while True:
            try:
                stream = await self._control.open_stream(
                    self._peer, _KADEMLIA, timeout_s=_CALL_TIMEOUT_S, max_frame_bytes=_MAX_FRAME_BYTES
                )
                for _ in range(_PROVIDERS_A_STREAM):
                    stream.write_raw(_provided(base58_decode(me)))
                    await asyncio.sleep(0)
                await stream.close()
            except (RemoteError, TimeoutError):
                await asyncio.sleep(0.1)

    async def _come_back(self, error: Exception) -> None:
        """Dial again after being thrown out."""
        if isinstance(error, RemoteError) and error.code is not Code.UNREACHABLE:
            return
        if self._dialling.locked():
            await asyncio.sleep(0.01)
            return
        async with self._dialling:
            await self._dial()

    async def _dial(self) -> None:
        with contextlib.suppress(NetworkError):
            await self._control.connect(self._peer, [self._way], timeout_s=_DIAL_TIMEOUT_S)


def _provided(peer: bytes) -> bytes:
    """Build a message ADD_PROVIDER of Kademlia (type 2, key, provider), with its length."""
    address = b"\x04\x7f\x00\x00\x01\x06\x00\x01"
    provider = b"\x0a" + bytes((len(peer),)) + peer + b"\x12" + bytes((len(address),)) + address
    key = b"\x12\x20" + os.urandom(32)
    body = b"\x08\x02\x12" + bytes((len(key),)) + key + b"\x4a" + bytes((len(provider),)) + provider
    return delimited(body)


async def _misuse_sessions(kind: str, invite: str, seconds: float) -> None:
    """Open sessions as a member; never read an answer, or vanish while the first one is computed."""
    import torch

    from benchmarks.setup.sessions import random_states

    hidden = random_states(_UNREAD_TOKENS, HIDDEN_SIZE, torch.float32)
    with contextlib.suppress(TimeoutError), tempfile.TemporaryDirectory(prefix="pl-") as folder:
        joined = JoinedSwarms(Path(folder) / "swarms.json", Path(folder) / "identity.key")
        membership = joined.join(invite, name=kind)
        async with asyncio.timeout(seconds):
            while True:
                config = HostConfig(
                    membership=membership.for_client(),
                    bootstrap_peers=membership.swarm.bootstrap_peers,
                    dht_client=True,
                    runtime_dir=Path(folder),
                )
                host = await Libp2pHost.start(config)
                try:
                    async with asyncio.timeout(_VANISH_AFTER_S if kind == "vanishing" else None):
                        await _open_unread(host, membership.swarm, hidden)
                except TimeoutError:
                    os.kill(host._running().process.pid, signal.SIGKILL)
                finally:
                    await host.close()


async def _open_unread(host: Libp2pHost, swarm: Swarm, hidden: Any) -> None:
    server = await _server_of(host, swarm)
    print("opening", flush=True)
    opening = SessionOpening(swarm.prefix, Span(0, swarm.num_blocks), 8192, None, 60.0, Caller())
    frames = [
        encode_step(StepRequest(hidden, opening)),
        *itertools.repeat(encode_step(StepRequest(hidden, start_from_position=0)), _UNREAD_STEPS - 1),
    ]

    async def keep_opening() -> None:
        while True:
            with contextlib.suppress(RemoteError, TimeoutError):
                stream = await host.open_stream(
                    server, protocols.SESSION, timeout_s=_CALL_TIMEOUT_S, max_frame_bytes=_MAX_FRAME_BYTES
                )
                assert isinstance(stream, FrameStream)
                stream._pause_reading()
                for frame in frames:
                    await stream.send(*frame, timeout_s=_CALL_TIMEOUT_S)
            await asyncio.sleep(0.05)

    await asyncio.gather(*(keep_opening() for _ in range(_CALLERS)))


_COMPARE = exchange.encode(exchange.Compare(bytes(4)))


async def _server_of(host: Libp2pHost, swarm: Swarm) -> PeerId:
    """Return the first connected peer that answers as an engine does."""
    while True:
        for peer in await host.neighbours():
            with contextlib.suppress(RemoteError):
                await host.call(peer, exchange.COMPARE, _COMPARE, timeout_s=_CALL_TIMEOUT_S)
                return peer
        await asyncio.sleep(0.1)


def _noise() -> bytes:
    return b"\x01" + random.randbytes(300)


def _store() -> bytes:
    """Build a request to keep records under keys that nobody asks for."""
    soon = time.time() + 800.0
    request = dht_pb2.StoreRequest(peer=_node())
    for _ in range(_RECORDS_A_STORE):
        request.keys.append(os.urandom(20))
        request.subkeys.append(MSGPackSerializer.dumps(os.urandom(8).hex()))
        request.values.append(MSGPackSerializer.dumps(os.urandom(_RECORD_BYTES)))
        request.expiration_time.append(soon)
        request.in_cache.append(bool(random.getrandbits(1)))
    return bytes(request.SerializeToString())


def _find() -> bytes:
    request = dht_pb2.FindRequest(keys=[os.urandom(20) for _ in range(100)], peer=_node())
    return bytes(request.SerializeToString())


def _node() -> dht_pb2.NodeInfo:
    return dht_pb2.NodeInfo(node_id=DHTID.generate().to_bytes())


BODIES: dict[str, tuple[Callable[[], bytes], ...]] = {
    _PING: (lambda: bytes(dht_pb2.PingRequest(peer=_node(), validate=True).SerializeToString()), _noise),
    _STORE: (_store, _store, _noise),
    _FIND: (_find, _noise),
    exchange.COMPARE: (lambda: exchange.encode(exchange.Compare(os.urandom(4) * 64)), _noise),
    exchange.FETCH: (lambda: exchange.encode(exchange.Fetch(64, exchange.pack_numbers(range(64)))), _noise),
    exchange.PUSH: (lambda: exchange.encode(exchange.Push([])), _noise),
    exchange.REPORT: (lambda: exchange.encode(exchange.FailureReport(bytes(32))), _noise),
    protocols.DIAL_BACK: (lambda: encode(DialBack(("/ip4/127.0.0.1/tcp/1",))), _noise),
}


def _main(kind: str, seconds: float, *targets: str) -> None:
    if kind == "hog":
        _hog(targets[0], seconds)
    elif kind in ("unread", "vanishing"):
        asyncio.run(_misuse_sessions(kind, targets[0], seconds))
    else:
        asyncio.run(_attack(kind, seconds, targets))


if __name__ == "__main__":
    _main(sys.argv[1], float(sys.argv[2]), *sys.argv[3:])
