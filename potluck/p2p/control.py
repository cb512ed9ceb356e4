"""A node's own p2pd: the process, and its control protocol.

Unary calls share one lasting connection, and each stream has its own. p2pd answers a question about itself on a
connection of its own, too. `nameless_node` makes a p2pd that lasts for a moment and has no identity: it listens nowhere
and uses no relay, so a peer that it reaches can be reached by everybody who is where we are.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from hivemind.proto import p2pd_pb2 as pb
from hivemind.utils.multiaddr import Multiaddr

from potluck.allowance import stretched
from potluck.errors import NetworkError
from potluck.membership.budgets import Lease
from potluck.membership.gate import OpenGate
from potluck.p2p.daemon_process import DaemonProcess
from potluck.p2p.encoding import delimited, encoded_multiaddr, peer_id, raw_peer
from potluck.p2p.frames import FrameStream
from potluck.p2p.reception import Handler, Origins, Reception, Terms
from potluck.p2p.unary import UnaryConnection, call_failure, checked_response, in_time
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.sentences import sentence
from potluck.tasks import BackgroundTasks, cancel_and_wait
from potluck.wire.errors import encode_refusal

T = TypeVar("T")

MAX_REFUSED = 64  # refused streams at a time that get a reason; further ones just end
_MAX_UNACCEPTED = 4096  # streams that wait while the loop is busy; p2pd resets those that find no room (default: 100)
_NOT_DIALLED = ("failed to dial", "failed to find any peer", "routing: not found")  # p2pd's words
_START_S, _ANSWER_S = 10.0, 5.0  # times of an idle machine, see `stretched`
_LAST_WORDS_S = 1.0  # time for an error frame to reach a caller that does not hang up


class P2pdClient:
    """A running p2pd and the connections to it; made by `start`.

    Calls wait at most `timeout_s`. What p2pd answers by itself takes milliseconds, so those waits have a limit here.
    """

    def __init__(self, process: DaemonProcess, control_path: Path, listen_path: Path, terms: Terms) -> None:
        self.process = process
        self._terms, self._gate, self._budgets = terms, terms.gate, terms.budgets
        self.origins = Origins(self.list_peers)
        self._reception = Reception(terms, self.origins)
        self._connections = self._reception.connections
        self._unary = UnaryConnection(terms, self._reception)
        self._control_path = str(control_path)
        self._listen_path = str(listen_path)
        self._listener: asyncio.AbstractServer | None = None
        self._refusing = 0
        self._open: dict[PeerId, set[FrameStream]] = {}  # streams of both directions
        self._tasks = BackgroundTasks()
        self._gone: set[PeerId] = set()  # peers with streams that were not connected at the last look

    @classmethod
    async def start(cls, folder: Path, arguments: Sequence[str], terms: Terms, *, name: str = "p2pd") -> P2pdClient:
        """Start p2pd with sockets in `folder` whose names begin with `name`. Raises NetworkError."""
        control_path, listen_path = folder / f"{name}.sock", folder / f"{name}.in"
        control_path.unlink(missing_ok=True)  # left by one that was killed
        arguments = [f"-listen=/unix{control_path}", *arguments]
        process = await DaemonProcess.start(arguments, timeout_s=stretched(_START_S))
        self = cls(process, control_path, listen_path, terms)
        try:
            async with asyncio.timeout(stretched(_ANSWER_S)):
                loop = asyncio.get_running_loop()
                self._listener = await loop.create_unix_server(self._accept, self._listen_path, backlog=_MAX_UNACCEPTED)
                await loop.create_unix_connection(lambda: self._unary, self._control_path)
                await loop.create_unix_connection(lambda: self._connections, self._control_path)
                await self._unary.ready
        except BaseException:
            await self.close()
            raise
        return self

    async def close(self) -> None:
        """End everything, p2pd as well. Idempotent."""
        if self._listener is not None:
            self._listener.close()
        self._unary.close()
        self._connections.stop()
        await self._tasks.cancel()
        await cancel_and_wait(*self._unary.handling.values())
        await self.process.stop()

    async def request(self, message: pb.Request, *, timeout_s: float | None = None) -> pb.Response:
        """Send p2pd one request and return its response. Raises NetworkError: its refusal, or silence."""
        stream, response = await self._connect(message, timeout_s or stretched(_ANSWER_S))
        await stream.close()
        return response

    async def identify(self) -> tuple[PeerId, tuple[str, ...]]:
        """Return this node's id and the addresses that it announces."""
        response = await self.request(pb.Request(type=pb.Request.IDENTIFY))
        peer = peer_id(response.identify.id)
        return peer, tuple(f"{Multiaddr(raw)}/p2p/{peer}" for raw in response.identify.addrs)

    async def connect(self, peer: PeerId, addrs: Iterable[str] = (), *, timeout_s: float) -> None:
        """Dial a peer, at `addrs` (without /p2p/) or wherever the network knows it. Raises NetworkError."""
        connect = pb.ConnectRequest(
            peer=raw_peer(peer),
            addrs=[encoded_multiaddr(addr) for addr in addrs],
            timeout=_whole_seconds(timeout_s),
        )
        await self.request(pb.Request(type=pb.Request.CONNECT, connect=connect), timeout_s=timeout_s)

    async def listens_at(self, peer: PeerId) -> list[str]:
        """Return where a peer listens, as p2pd's own DHT knows it. Raises NetworkError, also without that DHT."""
        timeout_s = stretched(_ANSWER_S)
        find = pb.DHTRequest(type=pb.DHTRequest.FIND_PEER, peer=raw_peer(peer), timeout=_whole_seconds(timeout_s))
        response = await self.request(pb.Request(type=pb.Request.DHT, dht=find), timeout_s=timeout_s)
        return [str(Multiaddr(raw)) for raw in response.dht.peer.addrs]

    def keep_connected(self, peer: PeerId) -> None:
        """Close connections to other peers first when there are too many."""
        self._connections.keep(raw_peer(peer))

    def disconnect(self, peer: PeerId) -> None:
        """Close all connections to a peer in a moment."""
        self._connections.close(raw_peer(peer))

    async def list_peers(self) -> dict[PeerId, tuple[str, ...]]:
        """Return the connected peers with the far ends of their connections. Raises NetworkError."""
        response = await self.request(pb.Request(type=pb.Request.LIST_PEERS))
        found: dict[PeerId, tuple[str, ...]] = {}
        for info in response.peers:
            peer = peer_id(info.id)
            found[peer] = (*found.get(peer, ()), *(str(Multiaddr(raw)) for raw in info.addrs))
        return found

    async def call(self, peer: PeerId, protocol: str, body: bytes, *, timeout_s: float) -> bytes:
        """Call a peer, after this node has presented itself. Raises RemoteError: the peer's own, or UNREACHABLE."""
        async with in_time(timeout_s):
            await self._present(peer, protocol)
            try:
                return await self._dialled(peer, lambda: self.call_directly(peer, protocol, body, timeout_s=timeout_s))
            except RemoteError as error:
                if error.code is not Code.NOT_A_MEMBER or not self._gate.is_presented(peer, protocol):
                    raise
            self._gate.forget(peer)  # it started anew, and does not know us
            await self._present(peer, protocol)
            return await self.call_directly(peer, protocol, body, timeout_s=timeout_s)

    async def call_directly(self, peer: PeerId, protocol: str, body: bytes, *, timeout_s: float) -> bytes:
        """Call a peer that may not know this node. Raises RemoteError: the peer's own, or UNREACHABLE."""
        return await self._unary.call(raw_peer(peer), protocol, body, timeout_s)

    async def _present(self, peer: PeerId, protocol: str) -> None:
        if not self._gate.is_presented(peer, protocol):
            await self._dialled(peer, lambda: self._gate.present(peer))

    async def _dialled(self, peer: PeerId, attempt: Callable[[], Awaitable[T]]) -> T:
        """Make an attempt, and once more if p2pd knew no way to the peer and `find` has one."""
        try:
            return await attempt()
        except RemoteError as error:
            if error.code is not Code.UNREACHABLE or not any(words in error.message for words in _NOT_DIALLED):
                raise
        await self._terms.find(peer)
        return await attempt()

    async def serve(self, protocol: str, handler: Handler) -> None:
        """Register the handler of the calls or streams of a protocol. Raises NetworkError or RemoteError."""
        if protocol in self._reception.handlers:
            raise ValueError(f"{protocol} already has a handler")
        self._reception.handlers[protocol] = handler
        if handler.max_frame_bytes is None:
            await self._unary.offer(protocol, stretched(_ANSWER_S))
            return
        addr = Multiaddr(f"/unix{self._listen_path}").to_bytes()
        offer = pb.StreamHandlerRequest(addr=addr, proto=[protocol], balanced=False)
        await self.request(pb.Request(type=pb.Request.STREAM_HANDLER, streamHandler=offer))

    async def open_stream(self, peer: PeerId, protocol: str, *, timeout_s: float, max_frame_bytes: int) -> FrameStream:
        """Open a stream, after this node has presented itself.

        Raises RemoteError: UNREACHABLE, NOT_SERVED if the peer does not know the protocol, or NOT_A_MEMBER.
        """
        async with in_time(timeout_s):
            await self._present(peer, protocol)
            return await self._dialled(peer, lambda: self._open_stream(peer, protocol, timeout_s, max_frame_bytes))

    async def _open_stream(self, peer: PeerId, protocol: str, timeout_s: float, max_frame_bytes: int) -> FrameStream:
        opening = pb.StreamOpenRequest(peer=raw_peer(peer), proto=[protocol], timeout=_whole_seconds(timeout_s))
        message = pb.Request(type=pb.Request.STREAM_OPEN, streamOpen=opening)
        try:
            stream, _ = await self._connect(message, timeout_s, max_frame_bytes)
        except NetworkError as error:
            raise call_failure(f"no stream to the peer: {error.message}") from error
        stream.on_stranger = lambda: self._gate.forget(peer)
        self._keep(stream, peer)
        return stream

    def cut_off(self, peers: Iterable[PeerId]) -> None:
        """End all streams from and to these peers."""
        for peer in peers:
            for stream in tuple(self._open.get(peer, ())):
                stream.abort()

    def cut_off_gone(self, connected: Collection[PeerId]) -> None:
        """End the streams of peers that were not connected twice in a row.

        p2pd does not notice that a caller is gone while it waits for this side to read what the caller sent.
        """
        gone = self._open.keys() - set(connected)
        self.cut_off(gone & self._gone)
        self._gone = gone

    def _keep(self, stream: FrameStream, peer: PeerId) -> None:
        self._open.setdefault(peer, set()).add(stream)
        stream.lost.add_done_callback(lambda _: self._drop(stream, peer))

    def _drop(self, stream: FrameStream, peer: PeerId) -> None:
        self._open[peer].discard(stream)
        if not self._open[peer]:
            del self._open[peer]

    async def _connect(
        self, message: pb.Request, timeout_s: float, max_frame_bytes: int = 0
    ) -> tuple[FrameStream, pb.Response]:
        """Send `message` on a connection of its own; return that and p2pd's answer. Raises NetworkError."""
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        stream = FrameStream(
            lambda _, body: answered.set_result(body), self._terms.uploads, self._terms.downloads, is_caller=True
        )
        stream.max_frame_bytes = max_frame_bytes
        stream.accepts_plain_text = isinstance(self._gate, OpenGate)
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.get_running_loop().create_unix_connection(lambda: stream, self._control_path)
                stream.write_raw(delimited(message.SerializeToString()))
                either: tuple[asyncio.Future[Any], ...] = (answered, stream.lost)
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not answered.done():
                raise NetworkError(sentence("the peer-to-peer process closed the connection"))
            return stream, checked_response(answered.result())
        except BaseException as error:
            stream.close_now()
            if isinstance(error, TimeoutError):
                raise NetworkError(sentence("no answer within {number} s", number=f"{timeout_s:g}")) from error
            if isinstance(error, OSError):
                raise NetworkError(sentence("the peer-to-peer process is gone")) from error
            raise

    def _accept(self) -> FrameStream:
        return FrameStream(self._on_stream, self._terms.uploads, self._terms.downloads, is_caller=False)

    def _on_stream(self, stream: FrameStream, prologue: bytes) -> None:
        info = pb.StreamInfo.FromString(prologue)
        lease = self._reception.admit(info.peer, None)
        if isinstance(lease, Lease):
            caller = peer_id(info.peer)
            handler = self._reception.handler(caller, info.proto)
            stream.max_frame_bytes = handler.max_frame_bytes or 0
            self._keep(stream, caller)
            stream.hold = partial(self._budgets.hold, lease)
            task = self._tasks.start(self._serve(stream, caller, info.proto, handler))
            stream.on_abort = task.cancel
            task.add_done_callback(lambda _: stream.lost.add_done_callback(lambda _: self._budgets.end(lease)))
        elif lease is not None and self._refusing < MAX_REFUSED:
            self._tasks.start(self._send_refusal(stream, encode_refusal(lease)))
        else:
            stream.close_now()

    async def _serve(self, stream: FrameStream, caller: PeerId, protocol: str, handler: Handler) -> None:
        """Run a handler to its end and tell the caller how it ended, if it ended badly."""
        try:
            refusal = await self._reception.outcome(handler.run(stream, caller), caller, protocol)
            if refusal is not None:
                await self._send_refusal(stream, handler.refuse(refusal))
        finally:
            await stream.close()

    async def _send_refusal(self, stream: FrameStream, refusal: bytes) -> None:
        """Send an error frame, let the caller hang up first, and close the stream.

        p2pd resets a stream that this side closes while the caller's may still send, and a reset overtakes what was
        sent.
        """
        self._refusing += 1
        try:
            with contextlib.suppress(RemoteError):
                await stream.send_error(refusal)
                await asyncio.wait({stream.lost}, timeout=_LAST_WORDS_S)
        finally:
            self._refusing -= 1
            await stream.close()


def _whole_seconds(timeout_s: float) -> int:
    return max(1, int(timeout_s))


@contextlib.asynccontextmanager
async def nameless_node(folder: Path, name: str, *, announce: str = "") -> AsyncIterator[P2pdClient]:
    """Run a node that ends with the context. Raises NetworkError if it does not start.

    Args:
        folder: folder of its sockets, whose names begin with `name`.
        announce: the address it comes from, as others see it. With one it also answers p2pd's own question whether a
            dial arrives (AutoNAT), which p2pd only asks peers with public addresses.
    """
    arguments = ["-noListenAddrs=1", "-relay=0", "-idleTimeout=30s"]
    if announce:
        arguments += ["-autonat=1", f"-announceAddrs={announce}"]
    control = await P2pdClient.start(folder, arguments, Terms(), name=name)
    try:
        yield control
    finally:
        await control.close()
